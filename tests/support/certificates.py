# SPDX-License-Identifier: Apache-2.0
"""A certificate authority of a test's own, and certificates that it signs."""

import pathlib
import subprocess

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]


def _openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Authority:
    """Keeps its files in `folder`, which must exist."""

    def __init__(self, folder, name):
        self.folder = pathlib.Path(folder)
        self.certificate = self.folder / f"{name}.pem"
        self._key = self.folder / f"{name}.key"
        _openssl("req", "-x509", *KEY, "-subj", f"/CN={name}", "-keyout", self._key, "-out", self.certificate)

    def sign(self, name, alternatives="DNS:localhost,IP:127.0.0.1"):
        """Paths of a server's certificate and key."""
        certificate, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        request, extensions = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={alternatives}\n")
        _openssl("req", "-new", *KEY[:-2], "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        _openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self._key,
                 "-CAcreateserial", "-days", "2", "-extfile", extensions, "-out", certificate)
        return certificate, key
