# SPDX-License-Identifier: Apache-2.0
"""The parts of bench/run about the task sink. `judge` is bench/run's."""

import json
import statistics
import subprocess
import time

QUEUE = "projects/p/locations/l/queues/bench"
ROUTES = [f"projects/p/locations/l/queues/route{n}" for n in range(8)]
TARGET = "http://127.0.0.1:9/"
INTERVAL_SECONDS = 1.0


def paused(queues):
    return "queues:\n" + "".join(f"  - name: {name}\n    state: PAUSED\n" for name in queues)


class Echo:
    """The peer that answers CreateTask without keeping anything."""

    def __init__(self, b, *arguments):
        self.process = subprocess.Popen([b.tool("echo"), *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().split()[1])

    def stop(self):
        """What it printed at its end."""
        output, _ = self.process.communicate()
        return output


def write_records(b, count, body_bytes):
    path = b.scratch / f"records{count}-{body_bytes}.ndjson"
    if not path.exists():
        pad = "x" * (body_bytes - 24)
        with path.open("w") as out:
            out.writelines(f'{{"n": {n:7}, "pad": "{pad}"}}\n' for n in range(count))
    return path


def command(b, port, source, mode, *more):
    """`sluice sink` from `source` to the queue of the benchmark."""
    if mode == "exactly-once":
        b.serial += 1
        more = ["--checkpoint-dir", str(b.scratch / f"checkpoints{b.serial}"),
                "--checkpoint-interval", f"{INTERVAL_SECONDS:.0f}s", *more]
    return [str(b.build / "sluice"), "sink", "--from", str(source), "--endpoint", f"127.0.0.1:{port}",
            "--queue", QUEUE, "--http.url", TARGET, "--sink.delivery-guarantee", mode, *more]


FOUR = ("--sink.in-flight.max-tasks", "64", "--sink.channel-pool-size", "4")


def rate(call, count):
    """Records a second of one run, from its start to its end."""
    begin = time.monotonic()
    subprocess.run(call, check=True, stderr=subprocess.DEVNULL)
    return count / (time.monotonic() - begin)


def throughput(b, judge):
    """1 and 64 KiB; eager beside the bare driver, exactly once beside eager."""
    for kib, goals, full in ((1, (0.8, 0.75), 60_000), (64, (0.8, 0.75), 6_000)):
        print(f"sink: one process, {kib} KiB records, 64 outstanding on 4 channels, beside the bare driver")
        count = int(full * b.scale)
        records = write_records(b, count, kib * 1024)
        server = b.server(paused([QUEUE]))
        b.load(server.port, "unnamed", max(64, count // 12), body=kib * 1024)
        eager, staged = [], []
        for _ in range(b.pairs):
            bare = b.load(server.port, "unnamed", count, body=kib * 1024)["rate"]
            rates = {mode: rate(command(b, server.port, records, mode, *FOUR), count)
                     for mode in ("at-least-once", "exactly-once")}
            print(f"    bare {bare:8.0f}/s  " + "  ".join(f"{m} {r:8.0f}/s" for m, r in rates.items()), flush=True)
            eager.append(rates["at-least-once"] / bare)
            staged.append(rates["exactly-once"] / rates["at-least-once"])
        judge(f"eager sink / bare driver, {kib} KiB, rate", statistics.median(eager), goals[0], at_most=False)
        judge(f"exactly once / eager, {kib} KiB, rate", statistics.median(staged), goals[1], at_most=False)
        server.stop()


def channels(b, judge):
    print("sink-channels: 100 streams a connection, 50 ms latency; 2 and 4 channels beside 1")
    ratios = {2: [], 4: []}
    for _ in range(b.pairs):
        peer = None
        for pool in (1, 2, 4):
            count = int(8_000 * pool * max(b.scale, 0.5))
            echo = Echo(b, "--streams", "100", "--delay-ms", "50")
            got = rate(command(b, echo.port, write_records(b, count, 1024), "at-least-once",
                               "--sink.channel-pool-size", str(pool)), count)
            echo.stop()
            print(f"    {pool} channels {got:8.0f}/s", flush=True)
            peer = peer or got
            if pool > 1:
                ratios[pool].append(got / peer / pool)
    for pool, values in ratios.items():
        judge(f"{pool} channels / ({pool} x 1 channel), rate", statistics.median(values), 0.85, at_most=False)
        judge(f"{pool} channels / ({pool} x 1 channel), rate", statistics.median(values), 1.15, at_most=True)


def ages(b, mode, seconds, per_second):
    """How old records are when they arrive, written at a steady rate."""
    echo = Echo(b, "--ages")
    more = [*FOUR, "--body.format", "raw", "--body.field", "at"]
    if mode == "exactly-once":
        more += ["--sink.staged.verify-queue-retention", "false"]  # the echo has no queues
    run = subprocess.Popen(command(b, echo.port, "-", mode, *more), stdin=subprocess.PIPE,
                           stderr=subprocess.DEVNULL)
    begin = time.monotonic()
    for n in range(int(seconds * per_second)):
        wait = begin + n / per_second - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        run.stdin.write(b'{"at": "%d"}\n' % (time.time_ns() // 1000))
        run.stdin.flush()
    run.stdin.close()
    if run.wait() != 0:
        raise RuntimeError(f"{mode}: the sink ended with {run.returncode}")
    return json.loads(echo.stop())


def latency(b, judge):
    print(f"sink-latency: 500 records/s; exactly once with an interval of {INTERVAL_SECONDS:.0f} s beside eager")
    means, tails, named = [], [], []
    for _ in range(b.pairs):
        seconds = 20 * max(b.scale, 0.5)
        eager, staged = (ages(b, mode, seconds, 500) for mode in ("at-least-once", "exactly-once"))
        for mode, r in (("eager", eager), ("exactly once", staged)):
            print(f"    {mode:12} mean {r['mean_ms']:7.1f}  p50 {r['p50_ms']:7.1f}  p95 {r['p95_ms']:7.1f} ms", flush=True)
        means.append((staged["mean_ms"] - eager["mean_ms"]) / (INTERVAL_SECONDS * 1e3))
        tails.append((staged["p95_ms"] - eager["p95_ms"]) / (INTERVAL_SECONDS * 1e3))
    judge("added latency / interval, mean", statistics.median(means), 0.9, at_most=True)
    judge("added latency / interval, p95", statistics.median(tails), 1.2, at_most=True)
    server = b.server(paused([QUEUE]))
    calls = 20_000 * b.scale
    for pair in range(b.pairs):
        tail = {kind: b.load(server.port, kind, calls, prefix=f"p{pair}-")["p95_us"] for kind in ("unnamed", "named")}
        print(f"    p95 unnamed {tail['unnamed']:.0f} us  named {tail['named']:.0f} us", flush=True)
        named.append(tail["named"] / tail["unnamed"])
    judge("named create / unnamed, p95", statistics.median(named), 2.0, at_most=True)
    server.stop()


def skew(b, judge):
    print("sink-skew: eight queues, nine of ten records to one of them, beside evenly spread")
    server = b.server(paused(ROUTES))
    ratios = []
    for _ in range(b.pairs):
        done = subprocess.run([b.tool("sink_routes"), f"127.0.0.1:{server.port}", str(int(60_000 * b.scale)), *ROUTES],
                              stdout=subprocess.PIPE, check=True, text=True)
        rates = json.loads(done.stdout)
        print(f"    even {rates['even']:8.0f}/s  skewed {rates['skewed']:8.0f}/s", flush=True)
        ratios.append(rates["skewed"] / rates["even"])
    judge("skewed / even routing, rate", statistics.median(ratios), 0.9, at_most=False)
    server.stop()


def writer(b, judge):
    """Absolute by nature: one core against a creator in memory."""
    print("sink-writer: the eager writer alone against a creator in memory")
    records = int(10_000_000 * b.scale)
    done = subprocess.run([b.tool("sink_writer"), str(records)], stdout=subprocess.PIPE, check=True, text=True)
    for line, goal in zip(done.stdout.splitlines(), (500_000, 300_000)):
        words = line.split()
        judge(f"writer alone, {words[0]} records/s", float(words[1]), goal, at_most=False)
        judge(f"writer alone, {words[0]} growth over the run, KiB", float(words[4]), 1024, at_most=True)


PARTS = {"sink": throughput, "sink-channels": channels, "sink-latency": latency, "sink-skew": skew,
         "sink-writer": writer}
