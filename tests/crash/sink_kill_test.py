# SPDX-License-Identifier: Apache-2.0
"""`sluice sink` killed by SIGKILL at random moments, while the server loses replies,
is unavailable now and then, and is slow.

Shown by the server's own list of a paused queue: at least once, every record has a
task; exactly once, every record has exactly one.

Run: sink_kill_test.py --server BINARY [--rounds N] [--seed S] [--mode MODE]
"""

import argparse
import os
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import sink  # noqa: E402
from server import Server, scratch  # noqa: E402

RECORDS = 400
KILLS_A_ROUND = 3
LIFE_SECONDS = (0.02, 0.3)   # how long a killed run lived
STARTS_MAX = 60               # a run may also fail by the faults; it is started again
MODES = ("at-least-once", "exactly-once")


def arguments(server, queue, folder, mode):
    more = []
    if mode == "exactly-once":
        more = ["--sink.staged.request-timeout", "2s", "--sink.staged.max-tasks", "64"]
    return ["--from", f"{folder}/in.ndjson", "--endpoint", server.address, "--queue", queue,
            "--http.url", "http://127.0.0.1:9/", "--checkpoint-dir", f"{folder}/checkpoints",
            "--checkpoint-interval", "30ms", "--sink.delivery-guarantee", mode,
            "--sink.in-flight.max-tasks", "8", "--sink.recovery.max-attempts", "20",
            "--sink.recovery.initial-backoff", "5ms", "--sink.recovery.max-backoff", "50ms", *more]


def play_round(binary, server, api, mode, number, dice, folder):
    queue = sink.paused_queue(api, f"{mode}-{number}")
    os.makedirs(folder)
    lines = sink.write_records(f"{folder}/in.ndjson", RECORDS)
    call = arguments(server, queue, folder, mode)
    kills = 0
    for _ in range(STARTS_MAX):
        process = sink.start_sink(binary, *call)
        if kills < KILLS_A_ROUND:
            try:
                process.communicate(timeout=dice.uniform(*LIFE_SECONDS))
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                kills += 1
                continue
        output, _ = process.communicate(timeout=120)
        if process.returncode == 0:
            break
    else:
        raise AssertionError(f"{mode} round {number}: no run came to its end; the last said:\n{output}")
    counts = sink.bodies(api, queue)
    lost = [line for line in lines if counts[line] == 0]
    assert not lost, f"{mode} round {number}: {len(lost)} records have no task, {lost[:3]}"
    if mode == "exactly-once":
        doubled = [line for line, count in counts.items() if count != 1]
        assert not doubled, f"round {number}: {len(doubled)} records have more tasks than one, {doubled[:3]}"
        assert sum(counts.values()) == len(lines)
    return kills


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--rounds", type=int, default=int(os.environ.get("SLUICE_SOAK_SINK_ROUNDS") or 10))
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--mode", choices=MODES, action="append")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    dice = random.Random(options.seed)
    with scratch() as data_dir:
        server = Server(options.server, data_dir, "--enable-fault-injection", "--fault-seed",
                        str(options.seed)).start()
        api = sink.client(server)
        fault = {"method": "CreateTask"}
        sink.add_fault(server, **fault, when="before_commit", action="delay", duration="8ms")
        sink.add_fault(server, **fault, when="after_commit", action="drop_reply", duration="0s",
                       probability=0.02)
        sink.add_fault(server, **fault, when="before_commit", action="fail", probability=0.05)
        for mode in options.mode or MODES:
            kills = sum(play_round(options.server, server, api, mode, number, dice,
                                   f"{data_dir}-{mode}-{number}")
                        for number in range(options.rounds))
            print(f"{mode}: {options.rounds} rounds, {kills} kills", flush=True)
            assert kills > options.rounds, "the runs ended before they could be killed"
        server.stop()


if __name__ == "__main__":
    main()
