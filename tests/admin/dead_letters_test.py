#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dead letters of the real binary: from the last failed attempt to the redriven task,
through kill -9, by the command line and the admin API.

    tests/admin/dead_letters_test.py --server build/sluice
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

import grpc
from google.cloud import tasks_v2
from google.cloud.tasks_v2.services.cloud_tasks.transports import CloudTasksGrpcTransport

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from server import Server, Target, wait_until  # noqa: E402

BINARY = None
QUEUE = "projects/p/locations/l/queues/q"
CONFIG = f"""
queues:
  - name: {QUEUE}
    retry_config:
      max_attempts: 2
      min_backoff: 10ms
      max_backoff: 10ms
"""


class DeadLetters(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self.scratch.name)
        (folder / "config.yaml").write_text(CONFIG)
        self.server = Server(BINARY, folder / "data", "--config", str(folder / "config.yaml")).start()
        self.status = 503
        self.target = Target(lambda request: self.status)

    def tearDown(self):
        self.target.close()
        if self.server.process.poll() is None:
            self.server.stop()
        self.scratch.cleanup()

    def client(self):
        channel = grpc.insecure_channel(self.server.address)
        return tasks_v2.CloudTasksClient(transport=CloudTasksGrpcTransport(channel=channel))

    def create(self, task_id=None):
        task = {"http_request": {"url": self.target.url + "/work", "body": b"payload",
                                 "headers": {"X-Order": "17"}}}
        if task_id:
            task["name"] = f"{QUEUE}/tasks/{task_id}"
        return self.client().create_task(parent=QUEUE, task=task).name

    def sluice(self, *arguments, code=0):
        run = subprocess.run([str(BINARY), "tasks", "dead-letters", *arguments, "--server",
                              self.server.address], capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        return run.stdout + run.stderr

    def letters(self, *filters):
        return [json.loads(line) for line in self.sluice("list", QUEUE, "--json", *filters).splitlines()]

    def call(self, verb, body):
        request = urllib.request.Request(
            f"http://{self.server.address}/admin/v1/dead-letters:{verb}", json.dumps(body).encode(),
            {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def kill_tasks(self, *names):
        for name in names:
            self.create(name)
        wait_until(lambda: len(self.letters()) >= len(names), 30, lambda: str(self.letters()))

    def test_a_task_that_gave_up_is_shown_and_sent_again_after_a_crash(self):
        name = self.create("order-17")
        wait_until(self.letters, 30, lambda: "no dead letter")
        with self.assertRaises(Exception) as gone:
            self.client().get_task(name=name)
        self.assertEqual(gone.exception.code, 404)
        self.server.kill()
        self.server.start()
        (letter,) = self.letters()
        self.assertEqual(letter["name"], name)
        self.assertEqual([a["http_status"] for a in letter["attempts"]], [503, 503])
        text = self.sluice("show", QUEUE, letter["id"])
        for part in ("order-17", "HTTP 503", "cGF5bG9hZA==", "X-Order: 17", "2 attempts sent"):
            self.assertIn(part, text)
        self.status = 200
        arrived = len(self.target.requests)
        self.assertIn("1 sent again", self.sluice("redrive", QUEUE, "--all"))
        wait_until(lambda: len(self.target.requests) > arrived, 30, lambda: "nothing arrived")
        again = self.target.requests[-1]
        self.assertEqual(again.body, b"payload")
        self.assertEqual(again.header("X-CloudTasks-TaskName"), "order-17")
        self.assertEqual(again.header("X-CloudTasks-TaskRetryCount"), "0")
        self.assertEqual(self.letters(), [])

    def test_what_redrive_and_delete_answered_outlives_the_process(self):
        self.kill_tasks("again", "gone")
        ids = {letter["name"].rsplit("/", 1)[1]: letter["id"] for letter in self.letters()}
        self.client().pause_queue(name=QUEUE)
        self.assertEqual(self.call("redrive", {"queue": QUEUE, "ids": [ids["again"]]})[1]["redriven"], 1)
        self.server.kill()
        self.server.start()
        self.assertEqual([letter["id"] for letter in self.letters()], [ids["gone"]])
        self.assertEqual(self.client().get_task(name=f"{QUEUE}/tasks/again").dispatch_count, 0)
        self.assertEqual(self.call("delete", {"queue": QUEUE, "all": True})[1]["deleted"], 1)
        self.server.kill()
        self.server.start()
        self.assertEqual(self.letters(), [])

    def test_selections(self):
        self.kill_tasks("a", "b")
        self.status = 418
        self.create("c")
        wait_until(lambda: len(self.letters()) == 3, 30, lambda: str(self.letters()))
        ids = {letter["name"].rsplit("/", 1)[1]: letter["id"] for letter in self.letters()}
        self.assertEqual([l["name"][-1] for l in self.letters("--last-status", "418")], ["c"])
        c_end = self.letters("--last-status", "418")[0]["end_time"]
        self.assertEqual([l["name"][-1] for l in self.letters("--ended-from", c_end)], ["c"])
        self.assertIn("1 deleted", self.sluice("delete", QUEUE, "--last-status", "418"))
        self.assertIn("1 deleted", self.sluice("delete", QUEUE, "--id", ids["a"]))
        self.assertIn("has no dead letter", self.sluice("delete", QUEUE, "--id", ids["a"], code=1))
        self.assertEqual([l["name"][-1] for l in self.letters()], ["b"])

    def test_a_name_in_use_stays_in_the_letters(self):
        self.kill_tasks("a")
        (letter,) = self.letters()
        self.client().pause_queue(name=QUEUE)
        self.sluice("redrive", QUEUE, "--id", letter["id"])
        status, answer = self.call("redrive", {"queue": QUEUE, "ids": [letter["id"]]})
        self.assertEqual((status, answer["redriven"], answer["not_found"]), (200, 0, [letter["id"]]))
        self.assertTrue(self.client().get_task(name=letter["name"]))

    def test_pages(self):
        self.kill_tasks(*"abcde")
        seen, token = [], None
        while True:
            body = {"queue": QUEUE, "page_size": 2, **({"page_token": token} if token else {})}
            status, page = self.call("list", body)
            self.assertEqual(status, 200)
            self.assertLessEqual(len(page["dead_letters"]), 2)
            seen += [letter["name"][-1] for letter in page["dead_letters"]]
            token = page.get("next_page_token")
            if token is None:
                break
        self.assertEqual(sorted(seen), list("abcde"))

    def test_bad_requests_say_what_is_wrong(self):
        for verb, body, code, part in [
                ("list", {}, 400, "queue"),
                ("list", {"queue": "q"}, 400, "q"),
                ("list", {"queue": QUEUE + "x"}, 404, "qx"),
                ("list", {"queue": QUEUE, "page_size": 0}, 400, "page_size"),
                ("list", {"queue": QUEUE, "page_size": 1001}, 400, "1000"),
                ("list", {"queue": QUEUE, "page_token": "x"}, 400, "page_token"),
                ("list", {"queue": QUEUE, "view": "half"}, 400, "half"),
                ("list", {"queue": QUEUE, "all": True}, 400, "all"),
                ("list", {"queue": QUEUE, "ids": ["1"], "page_size": 2}, 400, "pages"),
                ("list", {"queue": QUEUE, "last_status": "503"}, 400, "last_status"),
                ("list", {"queue": QUEUE, "ended_from": "yesterday"}, 400, "yesterday"),
                ("redrive", {"queue": QUEUE}, 400, "all"),
                ("redrive", {"queue": QUEUE, "all": False}, 400, "all"),
                ("redrive", {"queue": QUEUE, "all": True, "last_status": 1}, 400, "one of them"),
                ("redrive", {"queue": QUEUE, "ids": []}, 400, "ids"),
                ("redrive", {"queue": QUEUE, "ids": [1]}, 400, "ids"),
                ("redrive", {"queue": QUEUE, "ids": ["1", "1"]}, 400, "twice"),
                ("delete", {"queue": QUEUE, "ids": ["1"], "last_status": 1}, 400, "ids"),
                ("explode", {"queue": QUEUE}, 404, "explode")]:
            with self.subTest(verb=verb, body=body):
                status, answer = self.call(verb, body)
                self.assertEqual(status, code, answer)
                self.assertIn(part, answer["error"]["message"])
        self.assertIn("sluice:", self.sluice("redrive", QUEUE, code=2))
        self.assertIn("has no dead letter 7", self.sluice("show", QUEUE, "7", code=1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True, type=pathlib.Path)
    options, rest = parser.parse_known_args()
    BINARY = options.server.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
