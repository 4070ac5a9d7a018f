# SPDX-License-Identifier: Apache-2.0
"""`sluice sink` against a real server: what becomes of records, and of bad input.

Run: sink_test.py --server BINARY [unittest arguments]
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import sink  # noqa: E402
from certificates import Authority  # noqa: E402
from server import Server, Target, scratch, wait_until  # noqa: E402

BINARY = None


class SinkTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = scratch()
        cls.server = Server(BINARY, cls.scratch.__enter__(), "--enable-fault-injection").start()
        cls.api = sink.client(cls.server)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.scratch.__exit__(None, None, None)

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="sluice-sink-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.addCleanup(sink.clear_faults, self.server)
        self.queue = sink.paused_queue(self.api, self.id().rsplit(".", 1)[1].replace("_", "-")[:90])
        self.input = f"{self.folder}/orders.ndjson"

    def run_sink(self, *more, mode=None, source=None, stdin_text=None, url="http://127.0.0.1:9/"):
        call = ["--from", source or self.input, "--endpoint", self.server.address, "--queue", self.queue,
                "--http.url", url, "--sink.recovery.initial-backoff", "5ms"]
        if mode:
            call += ["--checkpoint-dir", f"{self.folder}/checkpoints", "--checkpoint-interval", "1s",
                     "--sink.delivery-guarantee", mode]
        return sink.run_sink(BINARY, *call, *more, stdin_text=stdin_text)

    def assert_each_once(self, lines):
        counts = sink.bodies(self.api, self.queue)
        self.assertEqual(set(counts), set(lines))
        self.assertEqual(set(counts.values()), {1})

    def test_exactly_once_and_nothing_again(self):
        lines = sink.write_records(self.input, 500)
        for _ in range(2):
            code, output = self.run_sink(mode="exactly-once")
            self.assertEqual(code, 0, output)
            self.assert_each_once(lines)

    def test_exactly_once_input_larger_than_a_batch(self):
        lines = sink.write_records(self.input, 1000)
        code, output = self.run_sink("--sink.staged.max-tasks", "50", mode="exactly-once")
        self.assertEqual(code, 0, output)
        self.assert_each_once(lines)

    def test_exactly_once_with_lost_replies(self):
        sink.add_fault(self.server, method="CreateTask", when="after_commit", action="drop_reply",
                       duration="10s", count=20)
        lines = sink.write_records(self.input, 200)
        code, output = self.run_sink("--sink.staged.request-timeout", "500ms", mode="exactly-once")
        self.assertEqual(code, 0, output)
        self.assert_each_once(lines)

    def test_at_least_once_and_nothing_again(self):
        lines = sink.write_records(self.input, 300)
        for _ in range(2):
            code, output = self.run_sink(mode="at-least-once")
            self.assertEqual(code, 0, output)
            self.assert_each_once(lines)

    def test_at_least_once_through_a_burst_of_unavailable(self):
        sink.add_fault(self.server, method="CreateTask", when="before_commit", action="fail", count=40)
        lines = sink.write_records(self.input, 100)
        code, output = self.run_sink()
        self.assertEqual(code, 0, output)
        self.assert_each_once(lines)

    def refuse_creates(self, count):
        sink.add_fault(self.server, method="CreateTask", when="before_commit", action="fail",
                       code="INVALID_ARGUMENT", message="not this one", count=count)

    def test_invalid_argument_ends_a_run_by_default(self):
        sink.write_records(self.input, 20)
        for mode in ("at-least-once", "exactly-once"):
            self.refuse_creates(count=1)
            code, output = self.run_sink(mode=mode)
            self.assertEqual(code, 1, output)
            self.assertIn("INVALID_ARGUMENT", output)
            shutil.rmtree(f"{self.folder}/checkpoints")

    def test_invalid_argument_goes_where_the_policy_says(self):
        lines = sink.write_records(self.input, 20)
        letters = pathlib.Path(self.folder, "dead")
        for count, policy in ((3, ("dead-letter-file", "--dead-letter-file", str(letters))), (2, ("drop",))):
            self.refuse_creates(count)
            code, output = self.run_sink("--on-failure", *policy)
            self.assertEqual(code, 0, output)
        dead = [json.loads(line) for line in letters.read_text().splitlines()]
        self.assertEqual(len(dead), 3)
        self.assertEqual({letter["queue"] for letter in dead}, {self.queue})
        self.assertTrue(all("not this one" in letter["cause"] and "httpRequest" in letter["task"] for letter in dead))
        self.assertEqual(sum(sink.bodies(self.api, self.queue).values()), 2 * len(lines) - 5)
        self.assertEqual(output.count("a record was dropped"), 2, output)

    def test_a_directory_has_one_run_at_a_time(self):
        lines = sink.write_records(self.input, 1)
        call = ["--from", "-", "--endpoint", self.server.address, "--queue", self.queue, "--http.url", "http://h/",
                "--checkpoint-dir", f"{self.folder}/checkpoints"]
        first = sink.start_sink(BINARY, *call, stdin=subprocess.PIPE)
        try:
            first.stdin.write(lines[0] + "\n")
            first.stdin.flush()
            wait_until(lambda: sink.bodies(self.api, self.queue), 30, lambda: "the first run created nothing")
            code, output = sink.run_sink(BINARY, *call, stdin_text="")
            self.assertEqual(code, 3, output)
            self.assertIn(f"{self.folder}/checkpoints is in use by another run", output)
        finally:
            output, _ = first.communicate(timeout=60)
        self.assertEqual(first.returncode, 0, output)
        code, output = sink.run_sink(BINARY, *call, stdin_text=lines[0] + "\n")
        self.assertEqual(code, 0, output)
        self.assert_each_once(lines)

    def test_a_run_tells_what_it_counted(self):
        pathlib.Path(self.input).write_text('{"a":1}\n\n{"a":2}\n\n')
        for mode in ("at-least-once", "exactly-once"):
            code, output = self.run_sink("--sink.metrics.per-destination", "true", mode=mode)
            self.assertEqual(code, 0, output)
            self.assertIn("2 records, 2 blank lines, 2 tasks created", output)
            self.assertIn(f"{self.queue}: 2 tasks sent, 0 failed for good", output)
            shutil.rmtree(f"{self.folder}/checkpoints")

    def dispatched(self, records, *more, url, count):
        """What a target received of `records` from a queue that runs."""
        self.api.resume_queue(name=self.queue)
        target = Target()
        self.addCleanup(target.close)
        pathlib.Path(self.input).write_text("".join(record + "\n" for record in records))
        code, output = self.run_sink(*more, url=target.url + url)
        self.assertEqual(code, 0, output)
        wait_until(lambda: target.count() == count, 30, lambda: f"only {target.count()} requests came")
        return target.requests

    def test_a_request_arrives_with_method_headers_and_body(self):
        request, = self.dispatched(['{"id":"o1"}'], "--http.headers.X-One", "1", "--http.headers.X-Id=${id}",
                                   url="/p", count=1)
        self.assertEqual((request.method, request.path, request.body), ("POST", "/p", b'{"id":"o1"}'))
        self.assertEqual((request.header("X-One"), request.header("X-Id")), ("1", "o1"))
        self.assertEqual(request.header("X-CloudTasks-QueueName"), self.queue.rsplit("/", 1)[1])

    def test_headers_in_one_text(self):
        request, = self.dispatched(['{"id":"o1"}'], "--http.headers", "X-One:1, X-Id:'${id}, twice'",
                                   url="/p", count=1)
        self.assertEqual((request.header("X-One"), request.header("X-Id")), ("1", "o1, twice"))

    def test_put_has_a_body(self):
        request, = self.dispatched(['{"a":1}'], "--http.method", "PUT", url="/", count=1)
        self.assertEqual((request.method, request.body), ("PUT", b'{"a":1}'))

    def test_get_has_none(self):
        request, = self.dispatched(['{"a":1}'], "--http.method", "GET", url="/", count=1)
        self.assertEqual((request.method, request.body), ("GET", b""))

    def test_each_record_has_its_own_path(self):
        requests = self.dispatched(['{"id":"a"}', '{"id":"b"}'], url="/o/${id}", count=2)
        self.assertEqual({(request.path, request.body) for request in requests},
                         {("/o/a", b'{"id":"a"}'), ("/o/b", b'{"id":"b"}')})

    def test_the_same_unnamed_record_twice_is_two_tasks(self):
        pathlib.Path(self.input).write_text('{"a":1}\n{"a":1}\n')
        self.assertEqual(self.run_sink()[0], 0)
        self.assertEqual(sink.bodies(self.api, self.queue), {'{"a":1}': 2})

    def test_a_named_record_of_two_runs_is_one_task(self):
        pathlib.Path(self.input).write_text('{"id":"order-1"}\n')
        for _ in range(2):
            code, output = self.run_sink("--task-id", "${id}")
            self.assertEqual(code, 0, output)
        task, = self.api.list_tasks(parent=self.queue)
        self.assertEqual(task.name.rsplit("/", 1)[1],
                         "0bafe22156d2698c143b86040446d366ead863ba600d5c924f3d15c786ef4057")

    def test_one_key_in_two_queues_is_two_tasks(self):
        pathlib.Path(self.input).write_text('{"id":"order-1"}\n')
        names = []
        for suffix in ("a", "b"):
            self.queue = sink.paused_queue(self.api, f"one-key-{suffix}")
            code, output = self.run_sink("--task-id", "${id}")
            self.assertEqual(code, 0, output)
            task, = self.api.list_tasks(parent=self.queue)
            names.append(task.name)
        self.assertEqual(len({name.rsplit("/", 1)[1] for name in names}), 1)
        self.assertEqual(len(set(names)), 2)

    def test_a_run_from_a_file_of_options(self):
        lines = sink.write_records(self.input, 3)
        config = pathlib.Path(self.folder, "run.yaml")
        config.write_text(f"from: {self.input}\nqueue: {self.queue}\nendpoint: {self.server.address}\n"
                          "http:\n  url: http://127.0.0.1:9/\n")
        code, output = sink.run_sink(BINARY, "--config", str(config))
        self.assertEqual(code, 0, output)
        self.assert_each_once(lines)

    def test_standard_input_goes_on_where_it_stood(self):
        lines = ['{"a":1}', '{"a":2}', '{"a":3}']
        for taken in (2, 3):
            text = "".join(line + "\n" for line in lines[:taken])
            code, output = self.run_sink(mode="exactly-once", source="-", stdin_text=text)
            self.assertEqual(code, 0, output)
            self.assert_each_once(lines[:taken])

    def test_missing_queue(self):
        sink.write_records(self.input, 1)
        self.queue += "-none"
        code, output = self.run_sink("--sink.recovery.not-found.max-attempts", "2",
                                     "--sink.recovery.not-found.initial-backoff", "5ms")
        self.assertEqual(code, 1, output)
        self.assertIn("NOT_FOUND after 2 attempt(s)", output)

    def test_a_record_that_is_not_json(self):
        pathlib.Path(self.input).write_text('{"a":1}\nsecret stuff\n{"a":2}\n')
        for mode in ("at-least-once", "exactly-once"):
            code, output = self.run_sink(mode=mode)
            self.assertEqual(code, 1, output)
            self.assertIn("orders.ndjson:2", output)
            self.assertIn("not JSON", output)
            self.assertNotIn("secret", output)
            shutil.rmtree(f"{self.folder}/checkpoints")

    def test_a_bad_record_goes_to_the_dead_letter_file(self):
        pathlib.Path(self.input).write_text('{"a":1}\nbroken\n{"a":2}\n')
        letters = pathlib.Path(self.folder, "dead")
        code, output = self.run_sink("--on-failure", "dead-letter-file", "--dead-letter-file", str(letters))
        self.assertEqual(code, 0, output)
        self.assert_each_once(['{"a":1}', '{"a":2}'])
        self.assertEqual(len(letters.read_text().splitlines()), 1)
        self.assertIn('"record":"broken"', letters.read_text())

    def test_a_missing_field_is_named(self):
        sink.write_records(self.input, 1)
        code, output = self.run_sink(url="http://127.0.0.1:9/${order.number}")
        self.assertEqual(code, 1, output)
        self.assertIn("order.number", output)

    def test_a_damaged_checkpoint_stops_the_start(self):
        sink.write_records(self.input, 3)
        self.assertEqual(self.run_sink(mode="exactly-once")[0], 0)
        newest = sorted(pathlib.Path(self.folder, "checkpoints").glob("checkpoint-*"))[-1]
        newest.write_bytes(newest.read_bytes()[:-5])
        code, output = self.run_sink(mode="exactly-once")
        self.assertEqual(code, 4, output)
        self.assertIn(newest.name, output)

    def test_usage_errors(self):
        sink.write_records(self.input, 1)
        key = pathlib.Path(self.folder, "key-of-mine.json")
        key.write_text("{}")
        cases = {
            ("--http.uri", "x"): "no such option",
            ("--sink.staged.max-tasks", "5"): "exactly-once",
        }
        for more, message in cases.items():
            code, output = self.run_sink(*more)
            self.assertEqual(code, 2, output)
            self.assertIn(message, output)
        code, output = sink.run_sink(BINARY, "--from", self.input, "--queue", self.queue, "--http.url",
                                     "http://h/", "--service-account-key-file", str(key))
        self.assertEqual(code, 2, output)
        self.assertIn("key file could not be loaded", output)
        self.assertNotIn("key-of-mine", output)


class TlsTest(unittest.TestCase):
    """The endpoint behind TLS, with certificates of a test's own authority."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = scratch()
        data_dir = cls.scratch.__enter__()
        cls.folder = tempfile.mkdtemp(prefix="sluice-sink-")
        cls.authority = Authority(cls.folder, "test-authority")
        certificate, key = cls.authority.sign("server")
        cls.server = Server(BINARY, data_dir, "--tls-cert", str(certificate), "--tls-key", str(key)).start()
        cls.api = sink.client(cls.server, cls.authority.certificate.read_bytes())

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.scratch.__exit__(None, None, None)
        shutil.rmtree(cls.folder)

    def run_sink(self, queue, *more):
        source = f"{self.folder}/orders.ndjson"
        self.lines = sink.write_records(source, 20)
        return sink.run_sink(
            BINARY, "--from", source, "--endpoint", self.server.address, "--queue", queue, "--http.url",
            "http://127.0.0.1:9/", "--sink.recovery.max-attempts", "2", "--sink.recovery.initial-backoff", "5ms", *more)

    def test_both_guarantees_through_a_certificate_that_is_trusted(self):
        # Exactly once reads the queue's retention over the same channel first.
        for mode in ("at-least-once", "exactly-once"):
            queue = sink.paused_queue(self.api, mode)
            code, output = self.run_sink(
                queue, "--tls", "--tls-root-file", str(self.authority.certificate), "--sink.channel-pool-size", "2",
                "--checkpoint-dir", f"{self.folder}/{mode}", "--sink.delivery-guarantee", mode)
            self.assertEqual(code, 0, output)
            self.assertEqual(sink.bodies(self.api, queue), {line: 1 for line in self.lines})

    def test_a_certificate_of_another_authority_is_not_trusted(self):
        queue = sink.paused_queue(self.api, "strangers")
        stranger = Authority(self.folder, "stranger")
        for more in (("--tls", "--tls-root-file", str(stranger.certificate)), ("--tls",)):
            code, output = self.run_sink(queue, *more)
            self.assertEqual(code, 1, output)
            self.assertIn("UNAVAILABLE", output)
        self.assertEqual(sum(sink.bodies(self.api, queue).values()), 0)


if __name__ == "__main__":
    at = sys.argv.index("--server")
    BINARY = sys.argv[at + 1]
    del sys.argv[at:at + 2]
    unittest.main()
