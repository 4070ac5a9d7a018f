# SPDX-License-Identifier: Apache-2.0
"""The quickstart's last step with the quickstart's own files: the server is ended by
SIGKILL while tasks wait, and started again.

Shown: every task that the examples reported as created arrives at the example's
receiver at least once, and the one of each run that is due later never before its
time. What arrived is read from the receiver line by line, as it prints it.

Run: quickstart_test.py --server BINARY --node NODE --node-modules FOLDER
"""

import argparse
import os
import pathlib
import subprocess
import sys
import threading
import time

import grpc
from google.cloud import tasks_v2
from google.cloud.tasks_v2.services.cloud_tasks.transports import CloudTasksGrpcTransport

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"
sys.path.insert(0, str(ROOT / "tests" / "support"))
from server import Server, end_with_the_test, scratch, wait_until  # noqa: E402

QUEUE = "projects/demo/locations/local/queues/orders"
BODIES = ["first", "second", "third"]  # of one run of an example; the third is due later
PYTHON_RUNS = 3
ARRIVAL_SECONDS = 60
CLOCK_SLACK = 0.002  # seconds; wall clocks of two processes on one machine


class Receiver:
    """docs/examples/receiver.py, and when it printed what."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, EXAMPLES / "receiver.py", "0"],
                                        stdout=subprocess.PIPE, text=True)
        end_with_the_test(self.process)
        self.url = self.process.stdout.readline().split()[-1]
        self.arrivals = []  # (wall seconds, task id, body)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            at = time.time()
            _, task_id, body = line.split()
            self.arrivals.append((at, task_id, body))

    def seen(self):
        return {(task_id, body) for _, task_id, body in list(self.arrivals)}

    def close(self):
        self.process.terminate()
        self.process.wait()


def start_example(command, server, receiver, **environment):
    return subprocess.Popen([*command, server.address, receiver.url + "/orders"],
                            stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})


def created_by(example):
    """The tasks an example says it created: {task name: body}."""
    output, _ = example.communicate(timeout=60)
    assert example.returncode == 0, f"{example.args} ended with {example.returncode}"
    names = [line.removeprefix("created ") for line in output.splitlines()]
    assert len(names) == len(BODIES), f"{example.args} printed {output!r}"
    return dict(zip(names, BODIES))


def waiting_tasks(server):
    """{task name: when it is due, wall seconds} of all tasks in the queue."""
    channel = grpc.insecure_channel(server.address)
    client = tasks_v2.CloudTasksClient(transport=CloudTasksGrpcTransport(channel=channel))
    due = {task.name: task.schedule_time.timestamp() for task in client.list_tasks(parent=QUEUE)}
    channel.close()
    return due


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--node", required=True)
    parser.add_argument("--node-modules", required=True)
    options = parser.parse_args()
    python = [sys.executable, EXAMPLES / "create_tasks.py"]
    node = [options.node, EXAMPLES / "create_tasks.cjs"]
    receiver = Receiver()
    with scratch() as data:
        serve = ["--config", str(EXAMPLES / "quickstart.yaml")]
        server = Server(options.server, data, *serve).start()
        examples = [start_example(python, server, receiver) for _ in range(PYTHON_RUNS)]
        examples.append(start_example(node, server, receiver, NODE_PATH=options.node_modules))
        created = {name: body for example in examples for name, body in created_by(example).items()}
        due = waiting_tasks(server)
        server.kill()

        expected = {(name.rsplit("/", 1)[1], body) for name, body in created.items()}
        before = receiver.seen()
        assert expected - before, "nothing waited when the server was killed"
        assert any(created[name] == "third" for name in due), "no later task was waiting"
        server = Server(options.server, data, *serve).start()
        wait_until(lambda: expected <= receiver.seen(), ARRIVAL_SECONDS,
                   lambda: f"created and not received: {sorted(expected - receiver.seen())}")
        wait_until(lambda: not waiting_tasks(server), ARRIVAL_SECONDS,
                   lambda: f"received and still there: {sorted(waiting_tasks(server))}")
        server.stop()
    receiver.close()
    assert receiver.seen() == expected, f"never created: {sorted(receiver.seen() - expected)}"
    for at, task_id, _ in receiver.arrivals:
        early = due.get(f"{QUEUE}/tasks/{task_id}", 0) - at
        assert early <= CLOCK_SLACK, f"task {task_id} arrived {early:.6f} s before its time"
    print(f"quickstart: {len(expected)} tasks created, {len(before)} received before the kill, "
          f"{len(receiver.arrivals)} in all, {len(due)} checked against their time")


if __name__ == "__main__":
    main()
