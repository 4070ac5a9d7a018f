# SPDX-License-Identifier: Apache-2.0
"""gcloud, unmodified, over REST against the real binary (line 126).

Run: gcloud_test.py --server BINARY. Exits 77, which ctest shows as skipped, where
no gcloud is on the PATH. Its configuration goes into a scratch folder; the person's
own is neither read nor written.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from server import Server, Target, scratch, wait_until  # noqa: E402

BINARY = None
SKIPPED = 77
SOON = 20
LOCATION = "us-central1"
PARENT = f"projects/p/locations/{LOCATION}"


class Gcloud(unittest.TestCase):
    release = []  # the words between `gcloud` and `tasks`

    @classmethod
    def setUpClass(cls):
        cls.scratch = scratch()
        cls.server = Server(BINARY, cls.scratch.__enter__()).start()
        cls.config = tempfile.TemporaryDirectory(prefix="sluice-gcloud-")
        cls.environment = dict(
            {name: value for name, value in os.environ.items() if not name.startswith("CLOUDSDK_")},
            CLOUDSDK_CONFIG=cls.config.name,
            CLOUDSDK_AUTH_DISABLE_CREDENTIALS="true",
            CLOUDSDK_CORE_PROJECT="p",
            CLOUDSDK_CORE_DISABLE_PROMPTS="1",
            CLOUDSDK_CORE_DISABLE_USAGE_REPORTING="true",
            CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK="true",
            CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDTASKS=f"http://{cls.server.address}/")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.config.cleanup()
        cls.scratch.__exit__(None, None, None)

    def setUp(self):
        self.target = Target()
        self.addCleanup(self.target.close)

    def run_gcloud(self, *words):
        return subprocess.run(
            ["gcloud", *self.release, "tasks", *words, "--format=json", "--quiet"],
            env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def gcloud(self, *words):
        """What a command prints; it must succeed."""
        done = self.run_gcloud(*words)
        self.assertEqual(done.returncode, 0, f"gcloud tasks {' '.join(words)}:\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout) if done.stdout.strip() else None

    def queues(self, verb, queue, *flags):
        return self.gcloud("queues", verb, queue, f"--location={LOCATION}", *flags)

    def describe(self, queue):
        return self.queues("describe", queue)

    def test_line_126_queue_is_created_updated_cleared_and_listed(self):
        queue = f"life{len(self.release)}"
        self.queues("create", queue, "--max-dispatches-per-second=5", "--max-attempts=7",
                    "--min-backoff=2s", "--log-sampling-ratio=0.5")
        made = self.describe(queue)
        self.assertEqual(made["name"], f"{PARENT}/queues/{queue}")
        self.assertEqual(made["rateLimits"], {
            "maxDispatchesPerSecond": 5, "maxBurstSize": 10, "maxConcurrentDispatches": 1000})
        self.assertEqual(made["retryConfig"]["maxAttempts"], 7)
        self.assertEqual(made["retryConfig"]["minBackoff"], "2s")
        self.assertEqual(made["stackdriverLoggingConfig"]["samplingRatio"], 0.5)

        self.queues("update", queue, "--max-concurrent-dispatches=9", "--max-doublings=3")
        changed = self.describe(queue)
        self.assertEqual(changed["rateLimits"]["maxConcurrentDispatches"], 9)
        self.assertEqual(changed["rateLimits"]["maxDispatchesPerSecond"], 5)
        self.assertEqual(changed["retryConfig"]["maxDoublings"], 3)
        self.assertEqual(changed["retryConfig"]["maxAttempts"], 7)

        self.queues("update", queue, "--clear-max-dispatches-per-second", "--clear-max-attempts",
                    "--clear-min-backoff")
        cleared = self.describe(queue)
        self.assertEqual(cleared["rateLimits"]["maxDispatchesPerSecond"], 500)
        self.assertEqual(cleared["rateLimits"]["maxConcurrentDispatches"], 9)
        self.assertEqual(cleared["retryConfig"]["maxAttempts"], 100)
        self.assertEqual(cleared["retryConfig"]["minBackoff"], "0.100s")

        listed = self.gcloud("queues", "list", f"--location={LOCATION}")
        self.assertIn(f"{PARENT}/queues/{queue}", [one["name"] for one in listed])
        again = self.run_gcloud("queues", "create", queue, f"--location={LOCATION}")
        self.assertNotEqual(again.returncode, 0)
        self.assertIn("exists", again.stderr)

    def test_line_126_queue_is_paused_resumed_purged_and_deleted(self):
        queue = f"states{len(self.release)}"
        self.queues("create", queue)
        self.queues("pause", queue)
        self.assertEqual(self.describe(queue)["state"], "PAUSED")
        self.queues("resume", queue)
        self.assertEqual(self.describe(queue)["state"], "RUNNING")
        self.queues("purge", queue)
        self.assertIn("purgeTime", self.describe(queue))
        self.queues("delete", queue)
        gone = self.run_gcloud("queues", "describe", queue, f"--location={LOCATION}")
        self.assertNotEqual(gone.returncode, 0)
        self.assertIn("NOT_FOUND", gone.stderr)

    def test_line_126_task_is_created_listed_run_and_deleted(self):
        queue = f"work{len(self.release)}"
        at = (f"--queue={queue}", f"--location={LOCATION}")
        self.queues("create", queue)
        task = self.gcloud("create-http-task", "now", *at, f"--url={self.target.url}/now",
                           "--method=PUT", "--header=X-Mine:kept", "--body-content=hello")
        self.assertEqual(task["name"], f"{PARENT}/queues/{queue}/tasks/now")
        wait_until(lambda: self.target.count() == 1, SOON, lambda: "the task did not arrive")
        got = self.target.requests[0]
        self.assertEqual((got.method, got.path, got.body, got.header("X-Mine")),
                         ("PUT", "/now", b"hello", "kept"))

        later = "--schedule-time=2999-01-01T00:00:00Z"
        refused = self.run_gcloud("create-http-task", "never", *at, "--url=http://x/", later)
        self.assertIn("INVALID_ARGUMENT", refused.stderr)
        self.queues("pause", queue)
        for name in ("one", "two"):
            self.gcloud("create-http-task", name, *at, f"--url={self.target.url}/{name}")
        listed = self.gcloud("list", *at)
        self.assertEqual({one["name"].rsplit("/", 1)[1] for one in listed}, {"one", "two"})
        self.assertEqual(self.gcloud("describe", "one", *at)["httpRequest"]["url"], f"{self.target.url}/one")
        self.gcloud("run", "one", *at)
        wait_until(lambda: self.target.count() == 2, SOON, lambda: "the task that was run did not arrive")
        self.gcloud("delete", "two", *at)
        self.assertNotIn("two", [one["name"].rsplit("/", 1)[1] for one in self.gcloud("list", *at) or []])


class GcloudBeta(Gcloud):
    """The same commands over v2beta3."""
    release = ["beta"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    known, rest = parser.parse_known_args()
    if shutil.which("gcloud") is None:
        print("skipped: gcloud is not on the PATH", file=sys.stderr)
        sys.exit(SKIPPED)
    BINARY = known.server
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
