# SPDX-License-Identifier: Apache-2.0
"""The official Python client, unmodified, over gRPC or REST against the real binary.

Each test names the acceptance line of the task service that it shows.
Run: conformance_test.py --server BINARY [--transport grpc|rest]
"""

import argparse
import datetime
import pathlib
import sys
import unittest
from concurrent import futures

import grpc
from google.api_core import exceptions
from google.cloud import tasks_v2
from google.auth.credentials import AnonymousCredentials
from google.cloud.tasks_v2.services.cloud_tasks.transports import (
    CloudTasksGrpcTransport, CloudTasksRestTransport)
from google.protobuf import duration_pb2, field_mask_pb2, timestamp_pb2

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from server import Server, Target, scratch, wait_until  # noqa: E402

BINARY = None
TRANSPORT = "grpc"


class Codes:
    """What the client raises for a code; over REST it sees the HTTP status alone."""
    InvalidArgument = exceptions.InvalidArgument
    AlreadyExists = exceptions.AlreadyExists
    FailedPrecondition = exceptions.FailedPrecondition

    @classmethod
    def use_http_statuses(cls):
        # A name that fits no route is refused by the client itself.
        cls.InvalidArgument = (exceptions.BadRequest, ValueError)
        cls.FailedPrecondition = exceptions.BadRequest
        cls.AlreadyExists = exceptions.Conflict


PARENT = "projects/p/locations/l"
SOON = 20  # seconds within which something that should happen must have happened


def client_of(server):
    if TRANSPORT == "rest":
        return tasks_v2.CloudTasksClient(transport=CloudTasksRestTransport(
            host=server.address, credentials=AnonymousCredentials(), url_scheme="http"))
    channel = grpc.insecure_channel(server.address)
    return tasks_v2.CloudTasksClient(transport=CloudTasksGrpcTransport(channel=channel))


def timestamp_in(seconds):
    at = timestamp_pb2.Timestamp()
    at.FromDatetime(datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds))
    return at


class Conformance(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = scratch()
        cls.server = Server(BINARY, cls.scratch.__enter__()).start()
        cls.client = client_of(cls.server)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.scratch.__exit__(None, None, None)

    def setUp(self):
        self.queue_id = self._testMethodName.replace("_", "-")[:90]
        self.queue = f"{PARENT}/queues/{self.queue_id}"
        self.target = Target()
        self.addCleanup(self.target.close)

    def create_queue(self, **fields):
        return self.client.create_queue(parent=PARENT, queue={"name": self.queue, **fields})

    def create(self, name=None, path="/", **fields):
        request = {"url": self.target.url + path, **fields.pop("http_request", {})}
        task = {"http_request": request, **fields}
        if name:
            task["name"] = f"{self.queue}/tasks/{name}"
        return self.client.create_task(parent=self.queue, task=task)

    def wait_for(self, count, what="requests"):
        wait_until(lambda: self.target.count() >= count, SOON,
                   lambda: f"{self.target.count()} of {count} {what} arrived")

    def wait_gone(self, name):
        def is_gone():
            try:
                self.client.get_task(name=name)
                return False
            except exceptions.NotFound:
                return True
        wait_until(is_gone, SOON, lambda: f"{name} is still there")

    def test_line_1_queue_defaults(self):
        queue = self.create_queue()
        self.assertEqual(queue.rate_limits.max_dispatches_per_second, 500)
        self.assertEqual(queue.rate_limits.max_burst_size, 100)
        self.assertEqual(queue.rate_limits.max_concurrent_dispatches, 1000)
        self.assertEqual(queue.retry_config.max_attempts, 100)
        self.assertEqual(queue.retry_config.min_backoff.total_seconds(), 0.1)
        self.assertEqual(queue.retry_config.max_backoff.total_seconds(), 3600)
        self.assertEqual(queue.retry_config.max_doublings, 16)
        self.assertEqual(queue.state, tasks_v2.Queue.State.RUNNING)
        self.assertFalse(queue.purge_time)

    def test_line_2_and_20_create_delete_recreate(self):
        self.create_queue()
        with self.assertRaises(Codes.AlreadyExists):
            self.create_queue()
        self.client.delete_queue(name=self.queue)
        with self.assertRaises(exceptions.NotFound):
            self.client.get_queue(name=self.queue)
        with self.assertRaises(exceptions.NotFound):
            self.client.delete_queue(name=self.queue)
        self.create_queue()

    def test_line_3_to_5_names(self):
        for bad in ("under_score", "", "q" * 101):
            with self.assertRaises(Codes.InvalidArgument):
                self.client.create_queue(parent=PARENT, queue={"name": f"{PARENT}/queues/{bad}"})
        with self.assertRaises(Codes.InvalidArgument):
            self.client.create_queue(parent="projects/p/locations/other", queue={"name": self.queue})
        with self.assertRaises(Codes.InvalidArgument):
            self.client.get_queue(name="x" + self.queue)

    def test_line_7_to_10_bounds(self):
        for rate, burst in ((0.25, 10), (5, 10), (500, 100)):
            queue = self.client.update_queue(
                queue={"name": self.queue, "rate_limits": {"max_dispatches_per_second": rate}})
            self.assertEqual(queue.rate_limits.max_dispatches_per_second, rate)
            self.assertEqual(queue.rate_limits.max_burst_size, burst)
        for fields in ({"rate_limits": {"max_dispatches_per_second": -1}},
                       {"rate_limits": {"max_dispatches_per_second": 500.1}},
                       {"rate_limits": {"max_concurrent_dispatches": 5001}},
                       {"retry_config": {"max_attempts": -2}},
                       {"retry_config": {"min_backoff": duration_pb2.Duration(seconds=10),
                                         "max_backoff": duration_pb2.Duration(seconds=5)}}):
            with self.assertRaises(Codes.InvalidArgument):
                self.client.update_queue(queue={"name": self.queue, **fields})

    def test_line_24_and_25_list_queues_in_order_and_pages(self):
        parent = "projects/p/locations/pages"
        for id in ("z", "a", "m"):
            self.client.create_queue(parent=parent, queue={"name": f"{parent}/queues/{id}"})
        listed = [q.name.rsplit("/", 1)[1] for q in self.client.list_queues(parent=parent)]
        self.assertEqual(listed, ["a", "m", "z"])
        pages = list(self.client.list_queues(request={"parent": parent, "page_size": 2}).pages)
        self.assertEqual([len(page.queues) for page in pages], [2, 1])

    def test_line_33_update_with_mask_changes_the_leaf_only(self):
        self.create_queue(retry_config={"max_attempts": 7})
        queue = self.client.update_queue(
            queue={"name": self.queue, "rate_limits": {"max_dispatches_per_second": 10}},
            update_mask=field_mask_pb2.FieldMask(paths=["rate_limits.max_dispatches_per_second"]))
        self.assertEqual(queue.rate_limits.max_dispatches_per_second, 10)
        self.assertEqual(queue.retry_config.max_attempts, 7)

    def test_line_43_paused_queue_holds_and_resumes(self):
        self.create_queue()
        self.assertEqual(self.client.pause_queue(name=self.queue).state, tasks_v2.Queue.State.PAUSED)
        self.create(name="held")
        other = f"{PARENT}/queues/{self.queue_id}-other"
        self.client.create_queue(parent=PARENT, queue={"name": other})
        # Later work of another queue passes while this one is paused.
        self.client.create_task(
            parent=other, task={"http_request": {"url": self.target.url + "/other"}})
        self.wait_for(1)
        self.assertEqual([r.path for r in self.target.requests], ["/other"])
        self.client.resume_queue(name=self.queue)
        self.wait_for(2)

    def test_line_47_purge_spares_what_comes_after(self):
        self.create_queue()
        for i in range(10):
            self.create(name=f"t{i}", schedule_time=timestamp_in(3600))
        queue = self.client.purge_queue(name=self.queue)
        self.assertTrue(queue.purge_time)
        self.create(name="after", schedule_time=timestamp_in(3600))
        names = [t.name.rsplit("/", 1)[1] for t in self.client.list_tasks(parent=self.queue)]
        self.assertEqual(names, ["after"])

    def test_line_49_task_defaults(self):
        self.create_queue()
        self.client.pause_queue(name=self.queue)
        task = self.create()
        self.assertEqual(task.http_request.http_method, tasks_v2.HttpMethod.POST)
        self.assertEqual(task.http_request.headers["User-Agent"], "Google-Cloud-Tasks")
        self.assertEqual(task.dispatch_deadline.total_seconds(), 600)
        self.assertEqual(task.create_time.microsecond, 0)
        self.assertEqual(task.dispatch_count, 0)
        self.assertEqual(task.view, tasks_v2.Task.View.BASIC)

    def test_line_51_to_55_names_and_duplicates(self):
        self.create_queue()
        for bad in ("a b", "", "t" * 501):
            with self.assertRaises(Codes.InvalidArgument):
                self.client.create_task(parent=self.queue, task={
                    "name": f"{self.queue}/tasks/{bad}", "http_request": {"url": self.target.url}})
        self.create(name="x" * 500)
        self.create(name="once")
        with self.assertRaises(Codes.AlreadyExists):
            self.create(name="once")
        self.wait_gone(f"{self.queue}/tasks/once")
        with self.assertRaises(Codes.AlreadyExists):
            self.create(name="once")

    def test_line_54_one_of_fifty_concurrent_creates_wins(self):
        self.create_queue()

        def attempt(_):
            try:
                self.create(name="race", schedule_time=timestamp_in(600))
                return 1
            except Codes.AlreadyExists:
                return 0
        with futures.ThreadPoolExecutor(50) as pool:
            self.assertEqual(sum(pool.map(attempt, range(50))), 1)

    def test_line_56_to_62_bad_tasks(self):
        with self.assertRaises(exceptions.NotFound):
            self.create()
        self.create_queue()
        self.client.pause_queue(name=self.queue)
        bad = [{}, {"http_request": {"url": ""}}, {"http_request": {"url": "example.com"}},
               {"http_request": {"url": "ftp://x"}},
               {"http_request": {"url": "http://x/", "http_method": "GET", "body": b"b"}},
               {"http_request": {"url": "http://x/"}, "dispatch_deadline": duration_pb2.Duration(seconds=14)},
               {"http_request": {"url": "http://x/"}, "dispatch_deadline": duration_pb2.Duration(seconds=1801)},
               {"http_request": {"url": "http://x/"}, "schedule_time": timestamp_in(31 * 86400)},
               {"http_request": {"url": "http://x/" + "y" * 2075}},
               {"http_request": {"url": "http://x/", "body": b"x" * (1 << 20)}}]
        for task in bad:
            with self.assertRaises(Codes.InvalidArgument, msg=str(task)[:80]):
                self.client.create_task(parent=self.queue, task=task)
        good = [{"http_request": {"url": "http://example.com/%zz"}},
                {"http_request": {"url": "http://x/", "http_method": "PATCH", "body": b"b"}},
                {"http_request": {"url": "http://x/"}, "dispatch_deadline": duration_pb2.Duration(seconds=15)},
                {"http_request": {"url": "http://x/"}, "schedule_time": timestamp_in(29 * 86400)},
                {"http_request": {"url": "http://x/"}, "schedule_time": timestamp_in(-3600)}]
        for task in good:
            self.client.create_task(parent=self.queue, task=task)

    def test_line_63_stored_size_at_its_edge(self):
        self.create_queue()
        self.client.pause_queue(name=self.queue)
        when = timestamp_in(3600)

        def create(body_bytes):
            return self.client.create_task(parent=self.queue, task={
                "name": f"{self.queue}/tasks/size{body_bytes}", "schedule_time": when,
                "http_request": {"url": "http://x/", "body": b"x" * body_bytes}})
        low, high = 1_000_000, 1_048_576  # fits, does not
        while high - low > 1:
            middle = (low + high) // 2
            try:
                create(middle)
                low = middle
            except Codes.InvalidArgument:
                high = middle
        stored = self.client.get_task(request={
            "name": f"{self.queue}/tasks/size{low}", "response_view": tasks_v2.Task.View.FULL})
        stored.view = 0
        self.assertEqual(tasks_v2.Task.pb(stored).ByteSize(), 1_048_569)

    def test_line_68_views(self):
        self.create_queue()
        self.client.pause_queue(name=self.queue)
        task = self.create(name="v", http_request={"body": b"secret", "headers": {"X-A": "1"}})
        self.assertEqual(task.http_request.body, b"")
        full = self.client.get_task(
            request={"name": task.name, "response_view": tasks_v2.Task.View.FULL})
        self.assertEqual(full.http_request.body, b"secret")
        self.assertEqual(full.view, tasks_v2.Task.View.FULL)
        basic = self.client.get_task(name=task.name)
        self.assertEqual(basic.http_request.body, b"")
        self.assertEqual(basic.http_request.headers["X-A"], "1")

    def test_line_71_deleted_task_is_never_sent(self):
        self.create_queue()
        task = self.create(name="d", schedule_time=timestamp_in(1))
        self.client.delete_task(name=task.name)
        self.create(name="later", path="/later", schedule_time=timestamp_in(1.5))
        self.wait_for(1)
        self.assertEqual([r.path for r in self.target.requests], ["/later"])

    def test_line_73_none_of_a_thousand_leaves_after_its_delete(self):
        self.create_queue()
        late = []

        def one(i):
            task = self.create(path=f"/{i}", schedule_time=timestamp_in(0.05))
            try:
                self.client.delete_task(name=task.name)
            except exceptions.NotFound:
                return  # it was sent before
            sent = {r.path for r in list(self.target.requests)}
            late.append((f"/{i}", f"/{i}" in sent))
        with futures.ThreadPoolExecutor(16) as pool:
            list(pool.map(one, range(1000)))
        self.create(path="/end")
        wait_until(lambda: any(r.path == "/end" for r in self.target.requests), SOON, lambda: "no end")
        sent = [r.path for r in self.target.requests]
        # An attempt that had left when the delete was answered may arrive a moment later.
        for path, was_sent in late:
            self.assertLessEqual(sent.count(path), 1)
        self.assertEqual(len(set(sent)), len(sent))

    def test_line_75_run_sends_now_and_once(self):
        self.create_queue()
        task = self.create(name="r", schedule_time=timestamp_in(86400))
        running = self.client.run_task(name=task.name)
        self.assertEqual(running.dispatch_count, 1)
        self.assertTrue(running.last_attempt.dispatch_time)
        self.assertFalse(running.last_attempt.response_time)
        self.wait_gone(task.name)
        self.assertEqual(self.target.count(), 1)

    def test_line_77_run_ignores_pause(self):
        self.create_queue()
        self.client.pause_queue(name=self.queue)
        task = self.create(name="p")
        self.client.run_task(name=task.name)
        self.wait_for(1)
        self.assertEqual(self.client.get_queue(name=self.queue).state, tasks_v2.Queue.State.PAUSED)

    def test_line_79_to_81_headers_over_retries(self):
        answers = iter([503, 404, 429, 500, 302, 200])
        self.target.answer = lambda request: next(answers)
        self.create_queue(retry_config={"min_backoff": duration_pb2.Duration(nanos=1_000_000),
                                        "max_backoff": duration_pb2.Duration(nanos=5_000_000)})
        self.create(name="h")
        self.wait_for(6)
        got = self.target.requests
        h = "X-CloudTasks-"
        self.assertEqual([r.header(h + "TaskRetryCount") for r in got], list("012345"))
        self.assertEqual([r.header(h + "TaskExecutionCount") for r in got], list("001223"))
        self.assertEqual([r.header(h + "TaskPreviousResponse") for r in got],
                         [None, "503", "404", "429", "500", "302"])
        self.assertEqual([r.header(h + "TaskRetryReason") for r in got], [None] + [""] * 5)
        self.assertEqual({r.header(h + "QueueName") for r in got}, {self.queue_id})
        self.assertEqual({r.header(h + "TaskName") for r in got}, {"h"})
        for request in got:
            self.assertRegex(request.header(h + "TaskETA"), r"^\d+\.\d{6}$")

    def test_line_85_to_88_who_owns_which_header(self):
        self.create_queue()
        task = self.create(name="o", http_request={
            "body": b"b", "headers": {"x-cloudtasks-taskname": "forged", "Host": "forged",
                                      "Content-Length": "999", "X-Google-A": "1", "X-AppEngine-B": "1",
                                      "User-Agent": "forged", "X-My-Header": "kept"}})
        self.wait_for(1)
        request = self.target.requests[0]
        names = [name.lower() for name, _ in request.headers]
        self.assertEqual(request.header("X-CloudTasks-TaskName"), "o")
        self.assertEqual(names.count("x-cloudtasks-taskname"), 1)
        self.assertEqual(request.header("X-My-Header"), "kept")
        self.assertEqual(request.header("User-Agent"), "Google-Cloud-Tasks")
        self.assertEqual(request.header("Content-Length"), "1")
        self.assertNotIn("x-google-a", names)
        self.assertNotIn("x-appengine-b", names)
        self.assertNotIn("content-type", names)
        self.assertEqual(task.name, f"{self.queue}/tasks/o")

    def test_line_94_attempt_bookkeeping(self):
        self.target.answer = lambda request: 503
        self.create_queue()
        task = self.create(name="b")
        self.wait_for(1)

        def get():
            return self.client.get_task(name=task.name)
        wait_until(lambda: get().last_attempt.response_time, SOON, lambda: "no outcome recorded")
        now = get()
        self.assertTrue(now.first_attempt.dispatch_time)
        self.assertFalse(now.first_attempt.response_time)
        self.assertTrue(now.last_attempt.schedule_time)
        self.assertNotEqual(now.last_attempt.response_status.code, 0)

    def test_line_98_exhausted_task_is_gone_and_its_name_reserved(self):
        self.target.answer = lambda request: 500
        self.create_queue(retry_config={"max_attempts": 3,
                                        "min_backoff": duration_pb2.Duration(nanos=1_000_000)})
        task = self.create(name="e")
        self.wait_gone(task.name)
        self.assertEqual(self.target.count(), 3)
        with self.assertRaises(Codes.AlreadyExists):
            self.create(name="e")

    def test_line_101_task_retry_config(self):
        self.target.answer = lambda request: 500
        self.create_queue()
        task = self.create(name="own", retry_config={
            "max_attempts": 2, "min_backoff": duration_pb2.Duration(nanos=1_000_000)})
        self.wait_gone(task.name)
        self.assertEqual(self.target.count(), 2)

    def test_line_103_rate_and_burst(self):
        self.create_queue(rate_limits={"max_dispatches_per_second": 5})
        for i in range(15):
            self.create(path=f"/{i}")
        self.wait_for(15)
        # Ten leave at once, the other five one each 200 ms.
        self.assertGreaterEqual(self.target.requests[14].at - self.target.requests[9].at, 0.8)

    def test_line_105_concurrency(self):
        self.target.answer = lambda request: wait_for_others(self.target)
        self.create_queue(rate_limits={"max_concurrent_dispatches": 1})
        for _ in range(5):
            self.create()
        self.wait_for(5)
        self.assertEqual(self.target.open_max, 1)

    def test_ordering_of_due_tasks_is_by_schedule_time(self):
        self.create_queue(rate_limits={"max_concurrent_dispatches": 1})
        self.client.pause_queue(name=self.queue)
        for i in (3, 1, 2):
            self.create(path=f"/{i}", schedule_time=timestamp_in(-10 + i / 100))
        self.client.resume_queue(name=self.queue)
        self.wait_for(3)
        # Past times all became "now": creation order decides.
        self.assertEqual([r.path for r in self.target.requests], ["/3", "/1", "/2"])


def wait_for_others(target):
    """Answers 200 after giving any second request time to show itself."""
    try:
        wait_until(lambda: target.open_now > 1, 0.05, lambda: "")
    except AssertionError:
        pass
    return 200


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--transport", choices=("grpc", "rest"), default="grpc")
    known, rest = parser.parse_known_args()
    BINARY = known.server
    TRANSPORT = known.transport
    if TRANSPORT == "rest":
        Codes.use_http_statuses()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
