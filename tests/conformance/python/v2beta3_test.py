# SPDX-License-Identifier: Apache-2.0
"""The official Python client of v2beta3, beside that of v2, against the real binary.

Each test names the acceptance line of the task service that it shows.
Run: v2beta3_test.py --server BINARY [--transport grpc|rest]
"""

import argparse
import sys
import unittest

import grpc
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import tasks_v2beta3
from google.cloud.tasks_v2beta3.services.cloud_tasks.transports import (
    CloudTasksGrpcTransport, CloudTasksRestTransport)
from google.iam.v1 import policy_pb2
from google.protobuf import duration_pb2, field_mask_pb2

import conformance_test as v2
from conformance_test import Codes, PARENT, SOON, timestamp_in
from server import Server, Target, scratch, wait_until

DAY = 86400


def client_of(server):
    if v2.TRANSPORT == "rest":
        return tasks_v2beta3.CloudTasksClient(transport=CloudTasksRestTransport(
            host=server.address, credentials=AnonymousCredentials(), url_scheme="http"))
    return tasks_v2beta3.CloudTasksClient(
        transport=CloudTasksGrpcTransport(channel=grpc.insecure_channel(server.address)))


def seconds(count):
    return duration_pb2.Duration(seconds=count)


def mask(*paths):
    return field_mask_pb2.FieldMask(paths=paths)


class V2Beta3(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = scratch()
        cls.server = Server(v2.BINARY, cls.scratch.__enter__()).start()
        cls.client = client_of(cls.server)
        cls.client_v2 = v2.client_of(cls.server)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.scratch.__exit__(None, None, None)

    def setUp(self):
        self.queue = f"{PARENT}/queues/{self._testMethodName.replace('_', '-')[:90]}"
        self.target = Target()
        self.addCleanup(self.target.close)

    def create_queue(self, **fields):
        return self.client.create_queue(parent=PARENT, queue={"name": self.queue, **fields})

    def update_queue(self, *paths, **fields):
        return self.client.update_queue(queue={"name": self.queue, **fields},
                                        update_mask=mask(*paths))

    def get(self, *paths):
        return self.client.get_queue(request={"name": self.queue, "read_mask": mask(*paths)}
                                     if paths else {"name": self.queue})

    def create(self, name=None, **fields):
        task = {"http_request": {"url": self.target.url, **fields.pop("http_request", {})}, **fields}
        if name:
            task["name"] = f"{self.queue}/tasks/{name}"
        return self.client.create_task(parent=self.queue, task=task)

    def test_line_13_and_41_a_burst_of_the_clients_choice(self):
        self.assertEqual(self.create_queue(rate_limits={"max_burst_size": 7}).rate_limits.max_burst_size, 7)
        with self.assertRaises(Codes.InvalidArgument):
            self.update_queue("rate_limits.max_burst_size", rate_limits={"max_burst_size": 501})
        burst, rate = "rate_limits.max_burst_size", "rate_limits.max_dispatches_per_second"
        for paths, limits, expected in (
                ((burst,), {"max_burst_size": 77}, 77),
                ((rate,), {"max_dispatches_per_second": 100}, 20),
                ((rate, burst), {"max_dispatches_per_second": 50, "max_burst_size": 33}, 33)):
            queue = self.update_queue(*paths, rate_limits=limits)
            self.assertEqual(queue.rate_limits.max_burst_size, expected)

    def test_line_16_and_17_life_times(self):
        queue = self.create_queue()
        self.assertEqual(queue.task_ttl.total_seconds(), 2678400)
        self.assertEqual(queue.tombstone_ttl.total_seconds(), 3600)
        for field, bad in (("task_ttl", 9 * DAY), ("tombstone_ttl", 59 * 60), ("tombstone_ttl", 10 * DAY)):
            with self.assertRaises(Codes.InvalidArgument):
                self.update_queue(field, **{field: seconds(bad)})
        self.assertEqual(self.update_queue("task_ttl", task_ttl=seconds(10 * DAY)).task_ttl.days, 10)

    def test_line_27_filter_on_state_and_name(self):
        parent = "projects/p/locations/filtered"
        for id in ("a", "b", "c"):
            self.client.create_queue(parent=parent, queue={"name": f"{parent}/queues/{id}"})
        self.client.pause_queue(name=f"{parent}/queues/b")

        def listed(text):
            found = self.client.list_queues(request={"parent": parent, "filter": text})
            return [queue.name.rsplit("/", 1)[1] for queue in found]
        self.assertEqual(listed("state=PAUSED"), ["b"])
        self.assertEqual(listed('state=RUNNING AND name:"queues/c"'), ["c"])
        with self.assertRaises(Codes.InvalidArgument):
            listed("state=")

    def test_line_32_update_creates(self):
        queue = self.client.update_queue(queue={"name": self.queue, "tombstone_ttl": seconds(7200)})
        self.assertEqual(queue.tombstone_ttl.total_seconds(), 7200)
        self.assertEqual(queue.rate_limits.max_burst_size, 100)
        self.assertEqual(queue.state, tasks_v2beta3.Queue.State.RUNNING)

    def test_line_35_and_36_masks(self):
        self.create_queue(retry_config={"max_attempts": 7, "max_doublings": 3})
        queue = self.update_queue("retry_config.max_attempts", "state", "purge_time", "stats")
        self.assertEqual(queue.retry_config.max_attempts, 100)
        self.assertEqual(queue.retry_config.max_doublings, 3)
        self.assertEqual(queue.state, tasks_v2beta3.Queue.State.RUNNING)
        if v2.TRANSPORT == "grpc":  # the REST client cannot write such a mask
            with self.assertRaises(Codes.InvalidArgument):
                self.update_queue("nonsense")

    def test_line_40_v2_updates_leave_the_life_times(self):
        self.create_queue(task_ttl=seconds(20 * DAY), tombstone_ttl=seconds(7200))
        self.client_v2.update_queue(queue={"name": self.queue})
        queue = self.get()
        self.assertEqual((queue.task_ttl.days, queue.tombstone_ttl.total_seconds()), (20, 7200))

    def test_line_42_a_queue_of_v2_read_in_v2beta3(self):
        self.client_v2.create_queue(parent=PARENT, queue={"name": self.queue})
        queue = self.get()
        self.assertEqual(queue.type_, tasks_v2beta3.Queue.Type.PUSH)
        self.assertEqual(queue.task_ttl.days, 31)
        self.assertNotIn("stats", queue)
        self.create(schedule_time=timestamp_in(3600))
        shown = self.get("name", "stats")
        self.assertEqual(shown.stats.tasks_count, 1)
        self.assertEqual(shown.stats.effective_execution_rate, 500)
        self.assertNotIn("rate_limits", shown)

    def test_line_47_purge_time(self):
        self.create_queue()
        self.create(schedule_time=timestamp_in(3600))
        purged = self.client.purge_queue(name=self.queue)
        self.assertTrue(purged.purge_time)
        self.assertEqual(self.get().purge_time, purged.purge_time)
        self.assertEqual(list(self.client.list_tasks(parent=self.queue)), [])

    def test_line_68_and_69_each_version_reads_the_others_tasks(self):
        self.create_queue()
        self.client.pause_queue(name=self.queue)
        mine = self.create("beta", http_request={"body": b"b", "headers": {"X-A": "1"}},
                           retry_config={"max_attempts": 2})
        self.client_v2.create_task(parent=self.queue, task={
            "name": f"{self.queue}/tasks/v2", "http_request": {
                "url": self.target.url, "body": b"b", "headers": {"X-A": "1"}},
            "retry_config": {"max_attempts": 2}})
        self.assertEqual(mine.http_request.body, b"")
        for id in ("beta", "v2"):
            name = f"{self.queue}/tasks/{id}"
            one = self.client.get_task(request={"name": name, "response_view": "FULL"})
            other = self.client_v2.get_task(request={"name": name, "response_view": "FULL"})
            self.assertEqual(type(one).to_dict(one), type(other).to_dict(other))
            self.assertEqual(one.http_request.body, b"b")
            self.assertEqual(one.retry_config.max_attempts, 2)

    def test_line_75_run_sends_now(self):
        self.create_queue()
        task = self.create("r", schedule_time=timestamp_in(DAY))
        self.assertEqual(self.client.run_task(name=task.name).dispatch_count, 1)
        wait_until(lambda: self.target.count() == 1, SOON, lambda: "it was not sent")

    def test_line_101_task_retry_config(self):
        self.target.answer = lambda request: 500
        self.create_queue()
        self.create("own", retry_config={
            "max_attempts": 2, "min_backoff": duration_pb2.Duration(nanos=1_000_000)})
        wait_until(lambda: not list(self.client.list_tasks(parent=self.queue)), SOON,
                   lambda: "the task is still there")
        self.assertEqual(self.target.count(), 2)

    def test_line_124_policies(self):
        missing = self.client.test_iam_permissions(
            request={"resource": self.queue, "permissions": ["cloudtasks.queues.get"]})
        self.assertEqual(list(missing.permissions), [])
        self.create_queue()
        policy = self.client.get_iam_policy(request={"resource": self.queue})
        self.assertEqual(list(policy.bindings), [])
        policy.bindings.append(policy_pb2.Binding(role="roles/viewer", members=["user:a@b.c"]))
        changed = self.client.set_iam_policy(request={"resource": self.queue, "policy": policy})
        with self.assertRaises((exceptions.Aborted, exceptions.Conflict)):
            self.client.set_iam_policy(request={"resource": self.queue, "policy": policy})
        self.assertEqual(self.client_v2.get_iam_policy(request={"resource": self.queue}), changed)
        held = self.client.test_iam_permissions(
            request={"resource": self.queue, "permissions": ["cloudtasks.queues.get"]})
        self.assertEqual(list(held.permissions), ["cloudtasks.queues.get"])

    def test_line_125_locations_and_cmek(self):
        self.create_queue()
        for client in (self.client, self.client_v2):
            listed = client.list_locations(request={"name": "projects/p"})
            self.assertTrue({"l", "local"} <= {each.location_id for each in listed.locations})
            self.assertEqual(client.get_location(request={"name": PARENT}).name, PARENT)
            with self.assertRaises(exceptions.NotFound):
                client.get_location(request={"name": "projects/p/locations/nowhere"})
            config = client.get_cmek_config(name=f"{PARENT}/cmekConfig")
            self.assertEqual(config.kms_key, "")
            with self.assertRaises(exceptions.MethodNotImplemented):
                config.kms_key = "projects/p/locations/l/keyRings/r/cryptoKeys/k"
                client.update_cmek_config(cmek_config=config)

    def test_what_is_not_built_is_refused_by_name(self):
        with self.assertRaises(exceptions.MethodNotImplemented) as refused:
            self.create_queue(type_=tasks_v2beta3.Queue.Type.PULL)
        self.assertIn("queue.type", str(refused.exception))


class Restart(unittest.TestCase):
    def test_line_128_what_v2beta3_sets_survives_a_kill(self):
        name = f"{PARENT}/queues/q"
        with scratch() as data:
            server = Server(v2.BINARY, data).start()
            client = client_of(server)
            client.create_queue(parent=PARENT, queue={
                "name": name, "rate_limits": {"max_burst_size": 7},
                "task_ttl": seconds(20 * DAY), "tombstone_ttl": seconds(7200)})
            policy = client.set_iam_policy(request={"resource": name, "policy": policy_pb2.Policy(
                bindings=[policy_pb2.Binding(role="roles/viewer", members=["user:a@b.c"])])})
            before = client.get_queue(name=name)
            server.kill()
            server = Server(v2.BINARY, data).start()
            client = client_of(server)
            try:
                self.assertEqual(client.get_queue(name=name), before)
                self.assertEqual(client.get_iam_policy(request={"resource": name}), policy)
            finally:
                server.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--transport", choices=("grpc", "rest"), default="grpc")
    known, rest = parser.parse_known_args()
    v2.BINARY = known.server
    v2.TRANSPORT = known.transport
    if v2.TRANSPORT == "rest":
        Codes.use_http_statuses()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
