# SPDX-License-Identifier: Apache-2.0
"""The real binary under load, killed by SIGKILL at random moments, again and again.

Shown in every round and at the end: no acknowledged task is lost (each is
delivered or still there), none is sent before its time, a paused queue stays
paused, a name in use stays taken, no queue exceeds its rate or its concurrency.
What a client was not answered may or may not have happened.

Run: kill_test.py --server BINARY [--rounds N] [--seed S] [-- SERVER ARGUMENTS]
"""

import argparse
import collections
import datetime
import os
import pathlib
import random
import sys
import threading
import time

import grpc
from google.api_core import exceptions
from google.cloud import tasks_v2
from google.cloud.tasks_v2.services.cloud_tasks.transports import CloudTasksGrpcTransport
from google.protobuf import duration_pb2, timestamp_pb2

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from server import Server, Target, scratch, wait_until  # noqa: E402

PARENT = "projects/p/locations/l"
RATE = 200.0          # of the paced queue, a second
BURST = 40            # derived by the service from the rate
CONCURRENCY = 4       # of the narrow queue
WRITERS = 6
DRAIN_SECONDS = 240
CLOCK_SLACK = 0.002   # seconds; wall clocks of two processes on one machine
# Requests leave in order and at their pace, but arrive through threads: a window
# may gain as many as were held up before it by this much.
ARRIVAL_JITTER_SECONDS = 0.5


class Load:
    """Writers that create tasks until told to stop, and what they were answered."""

    def __init__(self, target, seed):
        self.target = target
        self.acknowledged = {}     # body -> earliest permitted send, wall seconds
        self.named = set()         # full names of acknowledged named tasks that never run
        self.deleted = set()       # bodies whose delete was acknowledged
        self.lock = threading.Lock()
        self.seed = seed
        self.serial = 0

    def run_round(self, server, number, stop):
        threads = [threading.Thread(target=self._write, args=(server, number, w, stop))
                   for w in range(WRITERS)]
        for thread in threads:
            thread.start()
        return threads

    def _write(self, server, number, writer, stop):
        dice = random.Random(self.seed * 1_000_003 + number * 101 + writer)
        client = client_of(server)
        count = 0
        while not stop.is_set():
            count += 1
            body = f"{number}.{writer}.{count}".encode()
            kind = dice.random()
            delay = dice.random() * 2 if dice.random() < 0.3 else 0
            due = time.time() + delay
            when = timestamp_pb2.Timestamp()
            when.FromNanoseconds(int(due * 1e6) * 1000)
            request = {"url": self.target.url + "/", "body": body}
            try:
                if kind < 0.75:
                    queue = "paced" if dice.random() < 0.5 else "narrow"
                    task = {"http_request": request}
                    if delay:
                        task["schedule_time"] = when
                    if dice.random() < 0.5:
                        task["name"] = f"{PARENT}/queues/{queue}/tasks/n-{number}-{writer}-{count}"
                    client.create_task(parent=f"{PARENT}/queues/{queue}", task=task, timeout=10)
                    with self.lock:
                        self.acknowledged[body] = due if delay else 0
                elif kind < 0.9:
                    name = f"{PARENT}/queues/held/tasks/h-{number}-{writer}-{count}"
                    client.create_task(parent=f"{PARENT}/queues/held",
                                       task={"name": name, "http_request": request}, timeout=10)
                    with self.lock:
                        self.named.add(name)
                else:
                    task = client.create_task(
                        parent=f"{PARENT}/queues/held", task={"http_request": request}, timeout=10)
                    client.delete_task(name=task.name, timeout=10)
                    with self.lock:
                        self.deleted.add(task.name)
            except (exceptions.GoogleAPICallError, exceptions.RetryError, grpc.RpcError, ValueError):
                if stop.is_set() or server.process.poll() is not None:
                    return


def client_of(server):
    channel = grpc.insecure_channel(server.address, options=[("grpc.enable_retries", 0)])
    return tasks_v2.CloudTasksClient(transport=CloudTasksGrpcTransport(channel=channel))


def check_held(client, load):
    """Everything acknowledged on the paused queue is there; nothing deleted is."""
    held = f"{PARENT}/queues/held"
    state = client.get_queue(name=held).state
    assert state == tasks_v2.Queue.State.PAUSED, f"{held} is {state} after a kill"
    listed = {task.name for task in client.list_tasks(parent=held)}
    with load.lock:
        missing = load.named - listed
        back = load.deleted & listed
    assert not missing, f"{len(missing)} acknowledged tasks are lost, such as {sorted(missing)[:3]}"
    assert not back, f"{len(back)} deleted tasks are back, such as {sorted(back)[:3]}"
    for name in list(load.named)[:3]:
        try:
            client.create_task(parent=held, task={"name": name, "http_request": {"url": "http://x/"}})
            raise AssertionError(f"{name} could be created twice")
        except exceptions.AlreadyExists:
            pass


def check_deliveries(target, load):
    sent = collections.defaultdict(list)
    for request in target.requests:
        sent[request.body].append(request)
    lost = [body for body in load.acknowledged if body not in sent]
    assert not lost, f"{len(lost)} acknowledged tasks never arrived, such as {lost[:3]}"
    for body, due in load.acknowledged.items():
        early = due - min(r.wall for r in sent[body])
        assert early <= CLOCK_SLACK, f"{body} arrived {early:.6f} s before its time"
    return sum(len(requests) - 1 for requests in sent.values())


def check_rate(target):
    """No window of the paced queue holds more than its bucket can give."""
    times = sorted(r.at for r in target.requests if r.header("X-CloudTasks-QueueName") == "paced")
    allowed_at = []  # a bucket as full as it may be, drained by each arrival
    tokens, at = BURST + RATE * ARRIVAL_JITTER_SECONDS, None
    for now in times:
        if at is not None:
            tokens = min(BURST + RATE * ARRIVAL_JITTER_SECONDS, tokens + (now - at) * RATE)
        at = now
        tokens -= 1
        allowed_at.append(tokens)
    worst = min(allowed_at, default=0)
    assert worst > -1, f"the paced queue exceeded {RATE}/s by {-worst:.0f} attempts"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--rounds", type=int, default=int(os.environ.get("SLUICE_SOAK_ROUNDS", "10")))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("arguments", nargs="*")
    options = parser.parse_args()
    dice = random.Random(options.seed)
    narrow = {"open": 0, "max": 0}
    guard = threading.Lock()

    def answer(request):
        if request.header("X-CloudTasks-QueueName") != "narrow":
            return 200 if dice.random() < 0.95 else 503
        with guard:
            narrow["open"] += 1
            narrow["max"] = max(narrow["max"], narrow["open"])
        time.sleep(0.002)  # the work of the receiver
        with guard:
            narrow["open"] -= 1
        return 200

    target = Target(answer)
    load = Load(target, options.seed)
    with scratch() as data:
        server = Server(options.server, data, *options.arguments).start()
        client = client_of(server)
        backoff = {"min_backoff": duration_pb2.Duration(nanos=10_000_000),
                   "max_backoff": duration_pb2.Duration(nanos=200_000_000)}
        client.create_queue(parent=PARENT, queue={
            "name": f"{PARENT}/queues/paced", "retry_config": backoff,
            "rate_limits": {"max_dispatches_per_second": RATE}})
        client.create_queue(parent=PARENT, queue={
            "name": f"{PARENT}/queues/narrow", "retry_config": backoff,
            "rate_limits": {"max_concurrent_dispatches": CONCURRENCY}})
        client.create_queue(parent=PARENT, queue={"name": f"{PARENT}/queues/held"})
        client.pause_queue(name=f"{PARENT}/queues/held")

        for number in range(options.rounds):
            stop = threading.Event()
            threads = load.run_round(server, number, stop)
            goal = len(load.acknowledged) + dice.randint(20, 400)
            try:
                wait_until(lambda: len(load.acknowledged) >= goal, 60, lambda: "no progress under load")
                server.kill()
            finally:
                stop.set()
                for thread in threads:
                    thread.join()
            # A killed server's open requests are over for it; ours may still run.
            wait_until(lambda: narrow["open"] == 0, 30, lambda: "the target hangs")
            server = Server(options.server, data, *options.arguments).start()
            client = client_of(server)
            check_held(client, load)

        def undelivered():
            return set(load.acknowledged) - set(target.bodies())
        wait_until(lambda: not undelivered(), DRAIN_SECONDS,
                   lambda: f"{len(undelivered())} acknowledged tasks never arrived, such as "
                           f"{sorted(undelivered())[:3]}")
        repeats = check_deliveries(target, load)
        check_rate(target)
        # At the moment of a kill a request may still be at the target when the
        # next life sends one: the concurrency of a life is what is promised.
        assert narrow["max"] <= CONCURRENCY, f"{narrow['max']} at once, allowed are {CONCURRENCY}"
        server.stop()
    target.close()
    print(f"kill rounds: {options.rounds} kills, {len(load.acknowledged)} sent tasks acknowledged, "
          f"{len(load.named)} held, {len(load.deleted)} deleted; 0 lost, {repeats} sent more than once "
          f"(failures and kills), at most {narrow['max']} at once of {CONCURRENCY}")


if __name__ == "__main__":
    main()
