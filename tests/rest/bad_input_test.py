# SPDX-License-Identifier: Apache-2.0
"""Bad input over REST, byte by byte from raw sockets, against the real binary.

Each case says what status it must get. What the server itself refuses carries
Google's error body; what its HTTP parser cannot read at all is answered by the
parser, and the connection ends (`by_parser`). After every case the server is asked
for a queue and must answer.

Run: bad_input_test.py --server BINARY
"""

import argparse
import json
import pathlib
import socket
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from server import Server, scratch, wait_until  # noqa: E402

BINARY = None
PATIENCE = 30
QUEUES = "/v2/projects/p/locations/l/queues"
QUEUE = QUEUES + "/q"
TASKS = QUEUE + "/tasks"
JSON_TYPE = "Content-Type: application/json\r\n"
GET = f"GET {QUEUE} HTTP/1.1\r\nHost: h\r\n\r\n"
CHUNKED = "2\r\n{}\r\n0\r\n\r\n"
CODES = {400: "INVALID_ARGUMENT", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 413: "INVALID_ARGUMENT",
         431: "INVALID_ARGUMENT", 501: "UNIMPLEMENTED"}


def to_bytes(text):
    return text if isinstance(text, bytes) else text.encode("latin-1")


def request(method, path, body=b"", headers=JSON_TYPE, version="HTTP/1.1"):
    body = body.encode() if isinstance(body, str) else body
    return to_bytes(f"{method} {path} {version}\r\nHost: h\r\n{headers}"
                    f"Content-Length: {len(body)}\r\n\r\n") + body


def framed(headers, rest=CHUNKED):
    """A POST whose end is said by `headers`, with another request behind it."""
    return f"POST {QUEUES} HTTP/1.1\r\nHost: h\r\n{JSON_TYPE}{headers}\r\n\r\n{rest}{GET}"


def create_task(**fields):
    return request("POST", TASKS, json.dumps({"task": {"httpRequest": {"url": "http://h/"}, **fields}}))


class Answer:
    def __init__(self, head, body):
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split(" ")[1])
        self.headers = {name.strip().lower(): value.strip()
                        for name, value in (line.split(":", 1) for line in lines[1:] if line)}
        self.body = body

    @property
    def error(self):
        return json.loads(self.body)["error"]


class Client:
    """One raw connection."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        try:
            self.socket.sendall(to_bytes(data))
        except OSError:
            pass  # the server had heard enough; its answer is still to be read

    def _fill(self):
        try:
            data = self.socket.recv(65536)
        except ConnectionError:
            data = b""
        self.buffer += data
        return data != b""

    def answer(self, has_body=True):
        """The next answer; None when the connection ended instead."""
        while b"\r\n\r\n" not in self.buffer:
            if not self._fill():
                return None
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        answer = Answer(head, b"")
        length = int(answer.headers.get("content-length", 0)) if has_body else 0
        while len(self.buffer) < length and self._fill():
            pass
        answer.body, self.buffer = self.buffer[:length], self.buffer[length:]
        return answer

    def is_ended(self):
        """Waits for the end; what still arrives is dropped."""
        while self._fill():
            pass
        return True


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = scratch()
        cls.server = Server(BINARY, cls.scratch.__enter__()).start()
        assert cls.ask(request("POST", QUEUES, json.dumps({"name": QUEUE[len("/v2/"):]}))).status == 200

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.scratch.__exit__(None, None, None)

    @classmethod
    def ask(cls, data, **how):
        with Client(cls.server.port) as client:
            client.send(data)
            return client.answer(**how)

    def tearDown(self):
        self.assertEqual(self.ask(GET).status, 200, "the server is not healthy afterwards")

    def refused(self, name, data, status, text="", has_ended=False):
        with self.subTest(name), Client(self.server.port) as client:
            client.send(data)
            answer = client.answer()
            self.assertIsNotNone(answer, "no answer")
            self.assertEqual(answer.status, status, answer.body)
            self.assertEqual(answer.headers["content-type"], "application/json; charset=utf-8")
            error = answer.error
            self.assertEqual((error["code"], error["status"]), (status, CODES[status]))
            self.assertIn(text, error["message"])
            if has_ended:
                self.assertTrue(client.is_ended())

    def by_parser(self, name, data, *statuses):
        with self.subTest(name), Client(self.server.port) as client:
            client.send(data)
            self.assertIn(client.answer().status, statuses)
            self.assertTrue(client.is_ended())

    def test_json_that_is_none(self):
        for body in ("", '{"name":', "hello", "[]", "null", "1", '"x"', "{}{}", "{", '{"name" "x"}',
                     "[" * 100_000, '{"task":' * 5000 + "}" * 5000,
                     b'{"name":"\xff\xfe"}', b"\xef\xbb\xbf{}", b'{"name":"a\x00b"}',
                     '{"name":"a\\u0000b"}', '{"name":"\\ud800"}'):
            self.refused(body[:40], request("POST", QUEUES, body), 400)

    def test_fields_that_do_not_exist_are_named(self):
        self.refused("queue", request("POST", QUEUES, '{"nome":"x"}'), 400, "nome")
        self.refused("task", create_task(uri="x"), 400, "uri")
        self.refused("wrapper", request("POST", TASKS, '{"httpRequest":{"url":"http://h/"}}'), 400, "httpRequest")
        self.refused("parameter", f"GET {QUEUE}?nope=1 HTTP/1.1\r\nHost: h\r\n\r\n", 400, "nope")

    def test_values_that_do_not_fit_are_named(self):
        def rate(value):
            return request("PATCH", QUEUE, '{"rateLimits":{"maxDispatchesPerSecond":%s}}' % value)
        for value in ('"NaN"', '"Infinity"', "1e999", '"fast"', "[]", "{}", "true"):
            self.refused(value, rate(value), 400)
        for value in ("99999999999", "1.5", '"many"'):
            self.refused(value, request("PATCH", QUEUE, '{"retryConfig":{"maxAttempts":%s}}' % value), 400)
        self.refused("enum", create_task(httpRequest={"url": "http://h/", "httpMethod": "BREW"}), 400, "BREW")
        self.refused("base64", create_task(httpRequest={"url": "http://h/", "body": "!!!"}), 400, "!!!")
        self.refused("header", create_task(httpRequest={"url": "http://h/", "headers": {"X": "a\r\nY: b"}}), 400, "X")
        self.refused("oneof", create_task(appEngineHttpRequest={}), 400)
        for deadline in ("15", "s", "999999999999s", 15):
            self.refused(f"duration {deadline}", create_task(dispatchDeadline=deadline), 400)
        for when in ("tomorrow", "2026-13-01T00:00:00Z", "2026-01-01", 5):
            self.refused(f"time {when}", create_task(scheduleTime=when), 400)

    def test_content_types(self):
        body = json.dumps({"task": {"httpRequest": {"url": "http://h/"}}})
        for headers in ("", "Content-Type: text/plain\r\n", "Content-Type: application/x-www-form-urlencoded\r\n",
                        "Content-Type: multipart/form-data; boundary=x\r\n", "Content-Type: \r\n",
                        JSON_TYPE + "Content-Encoding: gzip\r\n", JSON_TYPE + "Content-Type: text/plain\r\n"):
            self.refused(headers, request("POST", TASKS, body, headers), 400)
        self.refused("from a page", request("POST", QUEUE + ":pause", b"", "Origin: http://evil\r\n"), 403)
        charset = "Content-Type: Application/JSON; charset=UTF-8\r\n"
        self.assertEqual(self.ask(request("POST", TASKS, body, charset)).status, 200)

    def test_body_where_none_belongs(self):
        self.refused("GET", request("GET", QUEUE, "{}"), 400)
        self.refused("DELETE", request("DELETE", QUEUE, "{}"), 400)
        self.assertEqual(self.ask(GET).status, 200)  # and nothing was deleted

    def test_paths(self):
        get = "GET {} HTTP/1.1\r\nHost: h\r\n\r\n"
        for path in (QUEUES + "/../queues/q", QUEUES + "/%2e%2e/queues/q", QUEUES + "//q", "/" + QUEUE, QUEUE + "/",
                     QUEUES + "%2fq", QUEUES + "/q%2Ftasks", QUEUE + "%", QUEUES + "/%zz", QUEUES + "/%FF", QUEUES + "/\xff",
                     "/v2/", "/v2x/projects", "/V2" + QUEUE[3:], "/v2/%70rojects%2fp/locations/l/queues/q", "*"):
            self.refused(path, get.format(path), 404)
        for path in (QUEUE + "%00", QUEUE + "%3Apause", QUEUES + "/\xc3\xa4", QUEUES + "/q%0d%0aX:y", QUEUE + "#x"):
            self.refused(path, get.format(path), 400)
        for verb in ("PUT", "BREW", "OPTIONS", "TRACE"):
            self.refused(verb, f"{verb} {QUEUE} HTTP/1.1\r\nHost: h\r\n\r\n", 404, verb)
        self.refused("unknown verb", request("POST", QUEUE + ":explode"), 404, "explode")
        self.assertEqual(self.ask(f"HEAD {QUEUE} HTTP/1.1\r\nHost: h\r\n\r\n", has_body=False).status, 404)

    def test_encoded_and_absolute_paths_mean_the_same(self):
        for path in (QUEUES + "/%71", "/v2/%70rojects/p/locations/l/queues/q", "http://h" + QUEUE):
            with self.subTest(path):
                answer = self.ask(f"GET {path} HTTP/1.1\r\nHost: h\r\n\r\n")
                self.assertEqual((answer.status, json.loads(answer.body)["name"]), (200, QUEUE[len("/v2/"):]))

    def test_parameters(self):
        for query in ("pageSize=abc", "pageSize=%zz", "pageSize=99999999999", "filter=a%00b", "filter=%ff%fe",
                      "pageToken=%00", "pageToken=AAAA", "a=1&" * 3000, "&" * 5000 + "x"):
            self.refused(query[:30], f"GET {QUEUES}?{query} HTTP/1.1\r\nHost: h\r\n\r\n", 400)
        self.refused("mask", request("PATCH", QUEUE + "?updateMask=rateLimits..x", "{}"), 400, "rate_limits..x")
        self.refused("in the body", request("POST", TASKS + "?responseView=FULL", "{}"), 400, "responseView")
        # The path has the last word.
        answer = self.ask(f"GET {QUEUE}?name=projects/p/locations/l/queues/other HTTP/1.1\r\nHost: h\r\n\r\n")
        self.assertEqual(json.loads(answer.body)["name"], QUEUE[len("/v2/"):])

    def test_sizes(self):
        self.refused("URI of 20 kB", f"GET {QUEUES}/{'q' * 20_000} HTTP/1.1\r\nHost: h\r\n\r\n", 431, has_ended=True)
        self.refused("header of 20 kB", GET[:-2] + f"X: {'x' * 20_000}\r\n\r\n", 431, "16384", has_ended=True)
        self.by_parser("URI of 200 kB", f"GET {QUEUES}/{'q' * 200_000} HTTP/1.1\r\nHost: h\r\n\r\n", 414, 431)
        self.by_parser("header of 200 kB", GET[:-2] + f"X: {'x' * 200_000}\r\n\r\n", 431)
        self.by_parser("5,000 headers", GET[:-2] + "X: y\r\n" * 5000 + "\r\n", 431)
        self.refused("body of 5 MB", request("POST", QUEUES, b"x" * (5 << 20)), 413, "4194304")
        self.refused("body of 20 MB", request("POST", QUEUES, b"x" * (20 << 20)), 413, "4194304", has_ended=True)
        asking = f"POST {TASKS} HTTP/1.1\r\nHost: h\r\n{JSON_TYPE}Expect: 100-continue\r\n"
        self.refused("asked first", asking + "Content-Length: 99999999\r\n\r\n", 413, has_ended=True)

    def test_two_ends_of_one_request(self):
        for headers in ("Content-Length: 2\r\nContent-Length: 40", "Content-Length: 2\r\nContent-Length: 2",
                        "Content-Length : 2", "Content-Length: 4\r\nTransfer-Encoding: chunked",
                        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "Transfer-Encoding : chunked"):
            self.refused(headers, framed(headers), 400, has_ended=True)
        for coding in ("gzip, chunked", "xchunked", "identity", "chunked, identity"):
            self.refused(coding, framed(f"Transfer-Encoding: {coding}"), 501, coding, has_ended=True)
        old = f"POST {QUEUES} HTTP/1.0\r\n{JSON_TYPE}Transfer-Encoding: chunked\r\n\r\n{CHUNKED}"
        self.refused("HTTP/1.0", old, 400, has_ended=True)
        for length in ("-1", "+2", "0x2", "", "2, 2", "two", "99999999999999999999999"):
            self.by_parser(f"length {length}", framed(f"Content-Length: {length}", "{}"), 400, 413)

    def test_chunks(self):
        for chunks in ("zz\r\n{}\r\n0\r\n\r\n", "-2\r\n{}\r\n0\r\n\r\n", "0x2\r\n{}\r\n0\r\n\r\n",
                       "2\r\n{}XX\r\n0\r\n\r\n", "fffffffffffffffff2\r\n{}\r\n0\r\n\r\n", ";\r\n{}\r\n0\r\n\r\n"):
            self.by_parser(chunks, framed("Transfer-Encoding: chunked", chunks), 400, 413)
        pause = f"POST {QUEUE}:resume HTTP/1.1\r\nHost: h\r\n{JSON_TYPE}Transfer-Encoding: chunked\r\n\r\n"
        for chunks in (CHUNKED, "2;a=b\r\n{}\r\n0\r\n\r\n", "1\r\n{\r\n1\r\n}\r\n0\r\nX-Trailer: 1\r\n\r\n"):
            self.assertEqual(self.ask(pause + chunks).status, 200, chunks)

    def test_headers(self):
        for header in ("Host: other", "X Y: z", "X\x01: y", "X: a\x01b"):
            self.refused(header, f"GET {QUEUE} HTTP/1.1\r\nHost: h\r\n{header}\r\n\r\n", 400, has_ended=True)
        self.by_parser("no host", f"GET {QUEUE} HTTP/1.1\r\n\r\n", 400)
        self.by_parser("no colon", f"GET {QUEUE} HTTP/1.1\r\nHost: h\r\nfoo\r\n\r\n", 400)

    def test_versions(self):
        answer = self.ask(f"GET {QUEUE} HTTP/1.0\r\n\r\n")
        self.assertEqual((answer.status, answer.headers.get("connection")), (200, "close"))
        kept = self.ask(f"GET {QUEUE} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        self.assertEqual((kept.status, kept.headers.get("connection", "").lower()), (200, "keep-alive"))
        self.by_parser("0.9", f"GET {QUEUE}\r\n\r\n", 400)
        self.by_parser("9.9", f"GET {QUEUE} HTTP/9.9\r\nHost: h\r\n\r\n", 505)
        self.by_parser("junk", f"GET {QUEUE} HTTX\r\nHost: h\r\n\r\n", 400)

    def test_what_is_no_http_is_closed_unanswered(self):
        for data in (b"\x00\x01\x02\x03\r\n\r\n", b"\x16\x03\x01\x00\x05hello", b"PRI * HTTP/2.0\r\n\r\nXX",
                     b"\r\n\r\n" + GET.encode(), b"get / HTTP/1.1\r\n\r\n"):
            with self.subTest(data):
                self.assertIsNone(self.ask(data))

    def test_pipelined_requests_are_answered_in_order(self):
        with Client(self.server.port) as client:
            client.send(GET.encode() + request("POST", QUEUES, "{") + GET.encode() + request("POST", "/v2/none") +
                        GET.encode())
            self.assertEqual([client.answer().status for _ in range(5)], [200, 400, 200, 404, 200])

    def test_expect_100_continue(self):
        body = json.dumps({"task": {"httpRequest": {"url": "http://h/"}}})
        with Client(self.server.port) as client:
            client.send(f"POST {TASKS} HTTP/1.1\r\nHost: h\r\n{JSON_TYPE}Expect: 100-continue\r\n"
                        f"Content-Length: {len(body)}\r\n\r\n")
            self.assertEqual(client.answer().status, 100)
            client.send(body)
            self.assertEqual(client.answer().status, 200)

    def test_clients_that_leave_in_the_middle(self):
        for part in (f"POST {QUEUES} HTTP/1.1\r\nHost: h\r\n{JSON_TYPE}Content-Length: 10\r\n\r\n{{}}",
                     f"POST {QUEUES} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{{",
                     GET[:20], GET):
            with Client(self.server.port) as client:
                client.send(part)

    def test_slow_clients_are_closed_and_delay_nobody(self):
        begun = time.monotonic()
        slow = [Client(self.server.port) for _ in range(200)]
        for client in slow:
            client.send("GET / HTTP/1.1\r\nHost: h\r\nX-Slow: ")
            client.socket.setblocking(False)
        open_now = set(slow)

        def drip():
            for client in list(open_now):
                try:
                    client.socket.send(b"a")
                    if client.socket.recv(1) == b"":
                        open_now.discard(client)
                except BlockingIOError:
                    pass
                except OSError:
                    open_now.discard(client)
            asked = time.monotonic()
            self.assertEqual(self.ask(GET).status, 200)
            self.assertLess(time.monotonic() - asked, 5)
            return not open_now
        # Ten seconds for a header, however busily it trickles.
        wait_until(drip, PATIENCE, lambda: f"{len(open_now)} of {len(slow)} slow clients are still connected")
        self.assertGreater(time.monotonic() - begun, 5)
        for client in slow:
            client.socket.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    known, rest = parser.parse_known_args()
    BINARY = known.server
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
