# SPDX-License-Identifier: Apache-2.0
"""Starts the real binary on an ephemeral port, and a real HTTP target beside it.

Everything waits on conditions; nothing sleeps to be safe.
"""

import atexit
import contextlib
import http.server
import os
import pathlib
import signal
import socketserver
import subprocess
import tempfile
import threading
import time

READY_SECONDS = 60  # a loaded machine may be slow; a healthy one needs milliseconds


class Server:
    """One life of `sluice serve` on a data directory that outlives it."""

    def __init__(self, binary, data_dir, *arguments):
        self.binary = str(binary)
        self.data_dir = str(data_dir)
        self.arguments = list(arguments)
        self.process = None
        self.port = None
        self._output = None

    def start(self):
        port_file = pathlib.Path(self.data_dir + ".port")
        port_file.unlink(missing_ok=True)
        self._output = open(self.data_dir + ".out", "ab")
        self.process = subprocess.Popen(
            [self.binary, "serve", "--listen", "127.0.0.1:0", "--data-dir", self.data_dir,
             "--port-file", str(port_file), *self.arguments],
            stdout=self._output, stderr=subprocess.STDOUT)
        end_with_the_test(self.process)
        wait_until(lambda: self._is_started(port_file), READY_SECONDS,
                   lambda: "the server did not get ready:\n" + self.output())
        self.port = int(port_file.read_text())
        return self

    def _is_started(self, port_file):
        if self.process.poll() is not None:
            raise AssertionError(f"the server ended with {self.process.returncode}:\n" + self.output())
        return port_file.exists() and port_file.read_text().strip() != ""

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def output(self):
        return pathlib.Path(self.data_dir + ".out").read_text(errors="replace")[-4000:]

    def kill(self):
        """SIGKILL, by the id of the process we started."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self._output.close()

    def stop(self):
        """Graceful; the exit code must be 0."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=60)
        self._output.close()
        if code != 0:
            raise AssertionError(f"the server stopped with {code}:\n" + self.output())


def end_with_the_test(process):
    """A test that fails half way leaves no process behind: whoever waits for the test's
    output would wait for it, too."""

    def end():
        if process.poll() is None:
            process.kill()
            process.wait()

    atexit.register(end)


def wait_until(condition, seconds, describe):
    """Polls `condition` until it is true; fails with `describe()` after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(describe())
        time.sleep(0.005)


class Request:
    def __init__(self, method, path, headers, body):
        self.method = method
        self.path = path
        self.headers = headers  # list of (name, value), case as received
        self.body = body
        self.at = time.monotonic()
        self.wall = time.time()

    def header(self, name):
        """The value of a header by its exact case; None when absent."""
        found = [value for key, value in self.headers if key == name]
        assert len(found) <= 1, f"{name} was sent {len(found)} times"
        return found[0] if found else None


class Target:
    """An HTTP server that records what arrives. `answer(request)` gives the status,
    or (status, headers)."""

    def __init__(self, answer=lambda request: 200):
        self.answer = answer
        self.requests = []
        self.open_now = 0
        self.open_max = 0
        self._lock = threading.Lock()
        target = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                request = Request(self.command, self.path, self.headers.items(), body)
                with target._lock:
                    target.requests.append(request)
                    target.open_now += 1
                    target.open_max = max(target.open_max, target.open_now)
                try:
                    status = target.answer(request)
                finally:
                    with target._lock:
                        target.open_now -= 1
                status, headers = status if isinstance(status, tuple) else (status, {})
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_HEAD = handle_any

            def log_message(self, *_):
                pass

        class Threads(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True
            request_queue_size = 512

            def handle_error(self, *_):
                pass  # a killed server leaves broken connections behind

        self._server = Threads(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_port}"

    def bodies(self):
        with self._lock:
            return [request.body for request in self.requests]

    def count(self):
        with self._lock:
            return len(self.requests)

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@contextlib.contextmanager
def scratch():
    """A data directory that goes with the test."""
    with tempfile.TemporaryDirectory(prefix="sluice-test-") as folder:
        yield os.path.join(folder, "data")
