# SPDX-License-Identifier: Apache-2.0
"""Targets, tokens and throttling as a handler sees them: the official Python client,
unmodified, and a real HTTP target.

Each test names the acceptance line of the task service that it shows.
Run: dispatch_test.py --server BINARY
"""

import argparse
import base64
import hashlib
import json
import os
import pathlib
import stat
import sys
import unittest
import urllib.request

import grpc
from google.cloud import tasks_v2, tasks_v2beta3
from google.cloud.tasks_v2.services.cloud_tasks.transports import CloudTasksGrpcTransport
from google.cloud.tasks_v2beta3.services.cloud_tasks.transports import (
    CloudTasksGrpcTransport as BetaGrpcTransport)
from google.protobuf import duration_pb2, field_mask_pb2

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from server import Server, Target, scratch, wait_until  # noqa: E402

BINARY = None
PARENT = "projects/p/locations/l"
SOON = 20  # seconds within which something that should happen must have happened
QUICK = {"min_backoff": duration_pb2.Duration(nanos=1_000_000),
         "max_backoff": duration_pb2.Duration(nanos=5_000_000)}
ACCOUNT = "me@p.iam.gserviceaccount.com"
# DER of "the digest that follows is SHA-256" (RFC 8017, 9.2).
SHA256_PREFIX = bytes.fromhex("3031300d060960864801650304020105000420")


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def fetch(url):
    with urllib.request.urlopen(url, timeout=SOON) as reply:
        return json.load(reply)


def claims_of(token, issuer):
    """The claims of a JWT whose signature the issuer's published keys verify."""
    head, body, signature = token.split(".")
    header = json.loads(decoded(head))
    assert header["alg"] == "RS256", header
    keys = fetch(fetch(issuer + "/.well-known/openid-configuration")["jwks_uri"])["keys"]
    key = next(each for each in keys if each["kid"] == header["kid"])
    modulus, exponent = (int.from_bytes(decoded(key[part]), "big") for part in "ne")
    size = (modulus.bit_length() + 7) // 8
    digest = SHA256_PREFIX + hashlib.sha256(f"{head}.{body}".encode()).digest()
    expected = b"\x00\x01" + b"\xff" * (size - len(digest) - 3) + b"\x00" + digest
    opened = pow(int.from_bytes(decoded(signature), "big"), exponent, modulus).to_bytes(size, "big")
    assert opened == expected, "the signature does not fit"
    return json.loads(decoded(body))


class Dispatch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = scratch()
        cls.app = Target()
        cls.worker = Target()
        cls.server = Server(BINARY, cls.scratch.__enter__(),
                            "--app-engine-targets", f"default={cls.app.url}/base",
                            "--app-engine-targets", f"worker/v2={cls.worker.url}").start()
        cls.connect()

    @classmethod
    def connect(cls):
        channel = grpc.insecure_channel(cls.server.address)
        cls.client = tasks_v2.CloudTasksClient(transport=CloudTasksGrpcTransport(channel=channel))
        cls.beta = tasks_v2beta3.CloudTasksClient(transport=BetaGrpcTransport(channel=channel))
        cls.issuer = f"http://{cls.server.address}"

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.app.close()
        cls.worker.close()
        cls.scratch.__exit__(None, None, None)

    def setUp(self):
        self.queue_id = self._testMethodName.replace("_", "-")[:90]
        self.queue = f"{PARENT}/queues/{self.queue_id}"
        self.target = Target()
        self.addCleanup(self.target.close)
        for target in (self.app, self.worker):
            target.requests.clear()
            target.answer = lambda request: 200

    def create_queue(self, **fields):
        return self.client.create_queue(parent=PARENT, queue={"name": self.queue, **fields})

    def update_queue(self, *paths, **fields):
        return self.client.update_queue(queue={"name": self.queue, **fields},
                                        update_mask=field_mask_pb2.FieldMask(paths=paths))

    def create(self, url=None, **http_request):
        return self.client.create_task(parent=self.queue, task={
            "http_request": {"url": url or self.target.url + "/", **http_request}})

    def create_app_engine(self, **request):
        return self.client.create_task(parent=self.queue, task={"app_engine_http_request": request})

    def wait_for(self, target, count):
        wait_until(lambda: target.count() >= count, SOON,
                   lambda: f"{target.count()} of {count} requests arrived")
        return target.requests

    def effective_rate(self):
        queue = self.beta.get_queue(request={
            "name": self.queue, "read_mask": field_mask_pb2.FieldMask(paths=["stats"])})
        return queue.stats.effective_execution_rate

    def test_line_82_app_engine_headers_over_retries(self):
        answers = iter([503, 404, 429, 500, 302, 200])
        self.app.answer = lambda request: next(answers)
        self.create_queue(retry_config=QUICK)
        task = self.create_app_engine(relative_uri="/work?a=b", body=b"text")
        self.assertEqual(task.app_engine_http_request.app_engine_routing.host, "p.l.r.appspot.com")
        got = self.wait_for(self.app, 6)
        h = "X-AppEngine-"
        self.assertEqual({r.path for r in got}, {"/base/work?a=b"})
        self.assertEqual([r.header(h + "TaskRetryCount") for r in got], list("012345"))
        self.assertEqual([r.header(h + "TaskExecutionCount") for r in got], list("012345"))
        self.assertEqual([r.header(h + "TaskPreviousResponse") for r in got],
                         [None, "503", "404", "429", "500", "302"])
        self.assertEqual([r.header(h + "TaskRetryReason") for r in got], [None] + ["App Error"] * 5)
        self.assertEqual({r.header(h + "QueueName") for r in got}, {self.queue_id})
        self.assertEqual({r.header("User-Agent") for r in got},
                         {"AppEngine-Google; (+http://code.google.com/appengine)"})
        self.assertEqual({r.header("Content-Type") for r in got}, {"application/octet-stream"})
        self.assertNotIn("X-CloudTasks-QueueName", [name for name, _ in got[0].headers])

    def test_line_112_queue_routing_wins(self):
        self.create_queue(app_engine_routing_override={"service": "worker", "version": "v2"})
        self.client.pause_queue(name=self.queue)
        task = self.create_app_engine(app_engine_routing={"service": "elsewhere"})
        self.client.resume_queue(name=self.queue)
        self.wait_for(self.worker, 1)
        self.assertEqual(self.app.count(), 0)
        self.assertEqual(task.app_engine_http_request.app_engine_routing.service, "elsewhere")

    def test_line_106_429_with_retry_after(self):
        arrivals = []

        def answer(request):
            arrivals.append(len(arrivals))
            return 200 if len(arrivals) > 1 else (429, {"Retry-After": "2"})
        self.target.answer = answer
        created = self.create_queue(retry_config=QUICK)
        self.create()
        first, second = self.wait_for(self.target, 2)[:2]
        delay = (float(second.header("X-CloudTasks-TaskETA"))
                 - float(first.header("X-CloudTasks-TaskETA")))
        self.assertGreaterEqual(delay, 2)
        self.assertEqual(second.header("X-CloudTasks-TaskPreviousResponse"), "429")
        self.assertEqual(self.client.get_queue(name=self.queue).rate_limits, created.rate_limits)

    def test_line_107_only_503_slows_app_engine_queues(self):
        self.create_queue(rate_limits={"max_dispatches_per_second": 100}, retry_config={
            "max_attempts": 1})
        self.app.answer = lambda request: 429
        task = self.create_app_engine()
        wait_until(lambda: self.is_gone(task.name), SOON, lambda: "the task is still there")
        self.assertEqual(self.effective_rate(), 100)
        self.app.answer = lambda request: 503
        self.create_app_engine()
        wait_until(lambda: self.effective_rate() == 50, SOON,
                   lambda: f"the rate is {self.effective_rate()}")

    def is_gone(self, name):
        return name not in [task.name for task in self.client.list_tasks(parent=self.queue)]

    def test_lines_108_to_110_http_target(self):
        self.create_queue()
        self.client.pause_queue(name=self.queue)
        self.create("https://no.such.host.invalid/x?k=1", body=b"dropped",
                    headers={"X-Kept": "1", "X-Replaced": "2"})
        port = int(self.target.url.rsplit(":", 1)[1])
        self.update_queue("http_target", http_target={
            "uri_override": {"scheme": "HTTP", "host": "127.0.0.1", "port": port},
            "http_method": "GET",
            "header_overrides": [{"header": {"key": "x-replaced", "value": "3"}},
                                 {"header": {"key": "X-Added", "value": "4"}}]})
        self.client.resume_queue(name=self.queue)
        request = self.wait_for(self.target, 1)[0]
        self.assertEqual((request.method, request.path, request.body), ("GET", "/x?k=1", b""))
        self.assertEqual([request.header(name) for name in ("X-Kept", "X-Replaced", "X-Added")],
                         ["1", "3", "4"])
        self.update_queue("http_target.uri_override.path_override",
                          http_target={"uri_override": {"path_override": {"path": "/y"}}})
        self.create("https://no.such.host.invalid/x?k=1")
        self.assertEqual(self.wait_for(self.target, 2)[1].path, "/y?k=1")
        self.update_queue("http_target")
        self.create(self.target.url + "/own")
        self.assertEqual(self.wait_for(self.target, 3)[2].path, "/own")

    def test_lines_111_113_114_identity_tokens(self):
        self.create_queue()
        self.create(self.target.url + "/x?k=1", headers={"Authorization": "the user's"},
                    oidc_token={"service_account_email": ACCOUNT})
        request = self.wait_for(self.target, 1)[0]
        self.assertEqual([name.lower() for name, _ in request.headers].count("authorization"), 1)
        kind, token = request.header("Authorization").split(" ")
        self.assertEqual(kind, "Bearer")
        claims = claims_of(token, self.issuer)
        self.assertEqual(claims["iss"], self.issuer)
        self.assertEqual(claims["aud"], self.target.url + "/x?k=1")
        self.assertEqual((claims["email"], claims["email_verified"]), (ACCOUNT, True))
        self.assertGreater(claims["exp"], claims["iat"])
        self.update_queue("http_target", http_target={
            "oidc_token": {"service_account_email": "queue@p", "audience": "the-queue"}})
        self.create(oidc_token={"service_account_email": ACCOUNT, "audience": "the-task"})
        claims = claims_of(self.wait_for(self.target, 2)[1].header("Authorization")[7:], self.issuer)
        self.assertEqual((claims["email"], claims["aud"]), ("queue@p", "the-queue"))

    def test_line_114_without_a_token_the_users_header_passes(self):
        self.create_queue()
        self.create(headers={"Authorization": "the user's"})
        self.assertEqual(self.wait_for(self.target, 1)[0].header("Authorization"), "the user's")

    def test_line_115_access_tokens_and_keys_that_last(self):
        self.create_queue()
        self.create(oauth_token={"service_account_email": ACCOUNT})
        token = self.wait_for(self.target, 1)[0].header("Authorization")[7:]
        self.assertEqual(claims_of(token, self.issuer)["scope"],
                         "https://www.googleapis.com/auth/cloud-platform")
        keys = fetch(self.issuer + "/jwks")
        path = pathlib.Path(self.server.data_dir) / "signing-keys.json"
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.server.kill()
        self.server.start()
        type(self).connect()
        self.assertEqual(fetch(self.issuer + "/jwks"), keys)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    known, rest = parser.parse_known_args()
    BINARY = known.server
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
