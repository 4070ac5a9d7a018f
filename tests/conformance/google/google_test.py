# SPDX-License-Identifier: Apache-2.0
"""What the task service's specification could not verify, asked of the real service.

Each test asserts what Sluice does. Against Google a failure is a difference between
the two, for docs/reference/conformance-tasks.md; against Sluice (--server) all pass,
which every test run shows, so that the suite itself cannot rot.

    google_test.py                     a project of yours; exits 77 (skipped) without
    google_test.py --server BINARY     Sluice, with the settings Google is said to have

For Google: SLUICE_GOOGLE_PROJECT, SLUICE_GOOGLE_LOCATION, and application default
credentials. SLUICE_GOOGLE_APP_ENGINE=1 says that the project has an App Engine
application; SLUICE_GOOGLE_HOURS=N lets the search for the deduplication window take so
long. Queues are named sluice-check-* and deleted at the end; tasks are an hour ahead, or
go to SLUICE_GOOGLE_TARGET (an address that answers 200; the search needs one).
"""

import argparse
import datetime
import os
import pathlib
import sys
import time
import unittest
import uuid

import grpc
from google.api_core import exceptions
from google.cloud import tasks_v2
from google.cloud.tasks_v2.services.cloud_tasks.transports import CloudTasksGrpcTransport
from google.iam.v1 import iam_policy_pb2, policy_pb2
from google.protobuf import duration_pb2, field_mask_pb2, timestamp_pb2

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from server import Server, scratch  # noqa: E402

SKIPPED = 77
CLIENT = None
PARENT = None
IS_GOOGLE = True
STORED_BYTES_MAX = 1_048_569
# Google is said to keep the name of a deleted queue for days; Sluice's default is not to.
SETTINGS = "limits:\n  queue_name_reservation: 72h\n"
HOST = "http://sluice-check.invalid/"


def seconds_ahead(seconds):
    at = timestamp_pb2.Timestamp()
    at.FromDatetime(datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds))
    return at


class Google(unittest.TestCase):
    def setUp(self):
        self.queue = self.new_queue()

    def new_queue(self, **fields):
        name = f"{PARENT}/queues/sluice-check-{uuid.uuid4().hex[:12]}"
        CLIENT.create_queue(parent=PARENT, queue={"name": name, **fields})
        self.addCleanup(self.drop, name)
        return name

    @staticmethod
    def drop(name):
        try:
            CLIENT.delete_queue(name=name)
        except exceptions.NotFound:
            pass

    def create(self, request=None, **fields):
        fields.setdefault("schedule_time", seconds_ahead(3600))
        return CLIENT.create_task(parent=self.queue, task={"http_request": {"url": HOST, **(request or {})}, **fields})

    def refused(self, call, *arguments, **named):
        with self.assertRaises(exceptions.InvalidArgument):
            call(*arguments, **named)

    def app_engine(self, **request):
        if IS_GOOGLE and not os.environ.get("SLUICE_GOOGLE_APP_ENGINE"):
            self.skipTest("SLUICE_GOOGLE_APP_ENGINE is not set")
        try:
            return CLIENT.create_task(parent=self.queue, task={
                "app_engine_http_request": request, "schedule_time": seconds_ahead(3600)})
        except exceptions.MethodNotImplemented as error:
            self.skipTest(str(error))

    def test_line_11_max_backoff_below_the_default_minimum(self):
        self.refused(CLIENT.update_queue, queue={
            "name": self.queue, "retry_config": {"max_backoff": duration_pb2.Duration(nanos=50_000_000)}})

    def test_line_15_sampling_ratio_above_one(self):
        self.refused(CLIENT.update_queue, queue={
            "name": self.queue, "stackdriver_logging_config": {"sampling_ratio": 1.5}})

    def test_line_21_name_of_a_deleted_queue(self):
        CLIENT.delete_queue(name=self.queue)
        with self.assertRaises(exceptions.FailedPrecondition):
            CLIENT.create_queue(parent=PARENT, queue={"name": self.queue})

    def test_line_26_page_sizes(self):
        CLIENT.list_queues(request={"parent": PARENT, "page_size": 20_000})
        self.refused(CLIENT.list_queues, request={"parent": PARENT, "page_size": -1})

    def test_line_27_malformed_filter(self):
        self.refused(CLIENT.list_queues, request={"parent": PARENT, "filter": "state = "})

    def test_line_28_garbled_page_token(self):
        self.refused(CLIENT.list_queues, request={"parent": PARENT, "page_token": "garbled"})

    def test_line_31_tasks_of_a_missing_queue(self):
        with self.assertRaises(exceptions.NotFound):
            CLIENT.list_tasks(parent=f"{PARENT}/queues/sluice-check-none")

    def test_line_36_mask_of_an_unknown_path(self):
        self.refused(CLIENT.update_queue, queue={"name": self.queue},
                     update_mask=field_mask_pb2.FieldMask(paths=["nonsense"]))

    def test_line_48_purge_of_a_paused_queue_and_its_names(self):
        CLIENT.pause_queue(name=self.queue)
        name = f"{self.queue}/tasks/purged"
        self.create(name=name)
        CLIENT.purge_queue(name=self.queue)
        with self.assertRaises(exceptions.AlreadyExists):
            self.create(name=name)

    def test_line_59_bodies_and_methods(self):
        self.refused(self.create, {"http_method": "GET", "body": b"b"})
        self.create({"http_method": "PATCH", "body": b"b"})

    def test_line_60_deadlines(self):
        for seconds in (14, 1801):
            self.refused(self.create, dispatch_deadline=duration_pb2.Duration(seconds=seconds))

    def test_line_63_stored_size(self):
        def create(body_bytes):
            return self.create({"body": b"x" * body_bytes})
        low, high = 1_000_000, STORED_BYTES_MAX + 1  # fits, does not
        # The largest that was taken, and not one like it: names and times vary in length.
        largest = create(low)
        while high - low > 1:
            middle = (low + high) // 2
            try:
                largest = create(middle)
                low = middle
            except exceptions.InvalidArgument:
                high = middle
        stored = CLIENT.get_task(request={"name": largest.name, "response_view": tasks_v2.Task.View.FULL})
        stored.view = 0
        self.assertAlmostEqual(tasks_v2.Task.pb(stored).ByteSize(), STORED_BYTES_MAX, delta=16)

    def test_line_64_url_and_headers(self):
        def url(length):
            return {"url": HOST + "y" * (length - len(HOST))}
        self.create(url(2083))
        self.refused(self.create, url(2084))
        self.refused(self.create, {"headers": {"X-Big": "x" * (81 << 10)}})

    def test_line_65_app_engine_headers(self):
        task = self.app_engine(body=b"b")
        self.assertEqual(task.app_engine_http_request.headers["Content-Type"], "application/octet-stream")
        self.assertEqual(task.app_engine_http_request.headers["Content-Length"], "1")

    def test_line_66_app_engine_uri(self):
        self.assertEqual(self.app_engine().app_engine_http_request.relative_uri, "/")
        self.refused(self.app_engine, relative_uri="foo")

    def test_line_67_app_engine_routing(self):
        task = self.app_engine(app_engine_routing={"service": "worker", "version": "v1", "host": "ignored"})
        routing = task.app_engine_http_request.app_engine_routing
        self.assertEqual((routing.service, routing.version), ("worker", "v1"))
        self.assertIn("worker", routing.host)
        self.assertNotIn("ignored", routing.host)

    def test_line_68_views(self):
        created = self.create({"body": b"body"})
        self.assertEqual((created.view, created.http_request.body), (tasks_v2.Task.View.BASIC, b""))
        full = CLIENT.get_task(request={"name": created.name, "response_view": tasks_v2.Task.View.FULL})
        self.assertEqual((full.view, full.http_request.body), (tasks_v2.Task.View.FULL, b"body"))
        listed = CLIENT.list_tasks(request={"parent": self.queue, "response_view": tasks_v2.Task.View.FULL})
        self.assertEqual([task.http_request.body for task in listed], [b"body"])

    def test_line_124_stale_etag_of_a_policy(self):
        def policy(role, etag=b""):
            return CLIENT.set_iam_policy(request=iam_policy_pb2.SetIamPolicyRequest(
                resource=self.queue, policy=policy_pb2.Policy(
                    etag=etag, bindings=[{"role": role, "members": ["allAuthenticatedUsers"]}])))
        try:
            first = policy("roles/cloudtasks.viewer")
        except exceptions.MethodNotImplemented as error:
            self.skipTest(str(error))
        policy("roles/cloudtasks.enqueuer", first.etag)
        with self.assertRaises(exceptions.Aborted):
            policy("roles/cloudtasks.viewer", first.etag)

    def test_line_55_name_of_a_deleted_task(self):
        name = f"{self.queue}/tasks/once"
        self.create(name=name)
        CLIENT.delete_task(name=name)
        with self.assertRaises(exceptions.AlreadyExists):
            self.create(name=name)

    def test_line_55_how_long_a_name_stays_taken(self):
        hours, target = os.environ.get("SLUICE_GOOGLE_HOURS"), os.environ.get("SLUICE_GOOGLE_TARGET")
        if not (IS_GOOGLE and hours and target):
            self.skipTest("SLUICE_GOOGLE_HOURS and SLUICE_GOOGLE_TARGET are not set")
        name = f"{self.queue}/tasks/window"
        self.create({"url": target}, name=name, schedule_time=seconds_ahead(0))
        begun = time.monotonic()
        while time.monotonic() - begun < float(hours) * 3600:
            try:
                self.create(name=name)
                print(f"the name was free after {(time.monotonic() - begun) / 60:.0f} minutes", file=sys.stderr)
                return
            except exceptions.AlreadyExists:
                time.sleep(60)
        self.fail(f"the name was still taken after {hours} hours")


def main():
    global CLIENT, PARENT, IS_GOOGLE
    parser = argparse.ArgumentParser()
    parser.add_argument("--server")
    known, rest = parser.parse_known_args()
    arguments = [sys.argv[0], *rest]
    if known.server:
        IS_GOOGLE = False
        PARENT = "projects/p/locations/us-central1"
        with scratch() as data:
            config = pathlib.Path(data + ".yaml")
            config.write_text(SETTINGS)
            server = Server(known.server, data, "--config", str(config)).start()
            CLIENT = tasks_v2.CloudTasksClient(
                transport=CloudTasksGrpcTransport(channel=grpc.insecure_channel(server.address)))
            program = unittest.main(argv=arguments, verbosity=2, exit=False)
            server.stop()
            return 0 if program.result.wasSuccessful() else 1
    project, location = (os.environ.get(f"SLUICE_GOOGLE_{what}") for what in ("PROJECT", "LOCATION"))
    if not project or not location:
        print("skipped: SLUICE_GOOGLE_PROJECT and SLUICE_GOOGLE_LOCATION are not set", file=sys.stderr)
        return SKIPPED
    PARENT = f"projects/{project}/locations/{location}"
    CLIENT = tasks_v2.CloudTasksClient()
    unittest.main(argv=arguments, verbosity=2)


if __name__ == "__main__":
    sys.exit(main())
