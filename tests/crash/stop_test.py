# SPDX-License-Identifier: Apache-2.0
"""The real binary stopped by SIGTERM, again and again, while clients reconnect.

Shown in every round: the process ends by itself with exit code 0 and within its
grace, whatever the connections are in the middle of: fresh channels that call and
go, calls under way, sockets that stop inside the HTTP/2 handshake, REST requests.

Run: stop_test.py --server BINARY [--rounds N] [--seed S]
"""

import argparse
import os
import pathlib
import random
import socket
import sys
import threading
import time
import urllib.error
import urllib.request

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from server import Server, scratch, wait_until  # noqa: E402

LIST_QUEUES = "/google.cloud.tasks.v2.CloudTasks/ListQueues"
REQUEST = b"\x0a\x16projects/p/locations/l"  # parent
HANDSHAKE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"  # preface, settings
GRACE_SECONDS = 2
STOP_SECONDS = 20   # far more than the grace, on any machine
CALLS_A_ROUND = 40  # the least before a stop


class Clients:
    """Threads that connect, do one thing and leave, until told to stop."""

    def __init__(self, address, seed):
        self.address = address
        self.host, port = address.split(":")
        self.port = int(port)
        self.calls = 0  # answered
        self.stopping = threading.Event()
        kinds = [self._call, self._call, self._call, self._half, self._rest]
        self.threads = [threading.Thread(target=self._run, args=(kind, random.Random(seed * 100 + n)))
                        for n, kind in enumerate(kinds)]
        for thread in self.threads:
            thread.start()

    def _run(self, kind, dice):
        while not self.stopping.is_set():
            try:
                kind(dice)
            except (grpc.RpcError, OSError, urllib.error.URLError):
                self.stopping.wait(0.001)  # the server is gone

    def _call(self, dice):
        # A pool of its own: otherwise channels of one process share connections.
        with grpc.insecure_channel(self.address, options=[
                ("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0)]) as channel:
            call = channel.unary_unary(LIST_QUEUES)
            for _ in range(dice.randint(1, 3)):
                call(REQUEST, timeout=5)
                self.calls += 1

    def _half(self, dice):
        with socket.create_connection((self.host, self.port), timeout=5) as half:
            half.sendall(HANDSHAKE[:dice.randint(1, len(HANDSHAKE))])
            if dice.random() < 0.5:
                half.settimeout(0.02)
                try:
                    half.recv(4096)
                except TimeoutError:
                    pass

    def _rest(self, _):
        with urllib.request.urlopen(
                f"http://{self.address}/v2/projects/p/locations/l/queues", timeout=5) as answer:
            answer.read()

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--rounds", type=int, default=int(os.environ.get("SLUICE_SOAK_ROUNDS", "10")))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    longest = 0.0
    with scratch() as data:
        for number in range(options.rounds):
            server = Server(options.server, data, "--shutdown-grace", f"{GRACE_SECONDS}s").start()
            clients = Clients(server.address, options.seed * 1_000 + number)
            try:
                wait_until(lambda: clients.calls >= CALLS_A_ROUND, 60, lambda: "no progress under load")
                begin = time.monotonic()
                server.stop()
                took = time.monotonic() - begin
            finally:
                clients.stop()
            longest = max(longest, took)
            assert took <= STOP_SECONDS, f"round {number}: a stop took {took:.1f} s, seed {options.seed}"
    print(f"stops: {options.rounds} with exit code 0 beside clients that reconnect, "
          f"the longest in {longest * 1000:.0f} ms")


if __name__ == "__main__":
    main()
