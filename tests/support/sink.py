# SPDX-License-Identifier: Apache-2.0
"""Runs `sluice sink` against a server, and reads what the server has made of it."""

import collections
import json
import pathlib
import subprocess
import urllib.request

import grpc
from google.cloud import tasks_v2
from google.cloud.tasks_v2.services.cloud_tasks.transports import CloudTasksGrpcTransport

PARENT = "projects/p/locations/l"


def client(server, roots=None):
    """Trusts the certificate authority whose PEM is `roots`; plaintext without one."""
    if roots is None:
        channel = grpc.insecure_channel(server.address)
    else:
        channel = grpc.secure_channel(server.address, grpc.ssl_channel_credentials(roots))
    return tasks_v2.CloudTasksClient(transport=CloudTasksGrpcTransport(channel=channel))


def paused_queue(api, queue_id):
    """A queue that keeps its tasks, so that they can be counted."""
    name = f"{PARENT}/queues/{queue_id}"
    api.create_queue(parent=PARENT, queue={"name": name})
    api.pause_queue(name=name)
    return name


def bodies(api, queue):
    """How many tasks each body has, by the server's own account."""
    request = {"parent": queue, "response_view": tasks_v2.Task.View.FULL, "page_size": 1000}
    return collections.Counter(task.http_request.body.decode() for task in api.list_tasks(request=request))


def write_records(path, count):
    lines = [json.dumps({"id": f"o{i}", "n": i}) for i in range(count)]
    pathlib.Path(path).write_text("".join(line + "\n" for line in lines))
    return lines


def add_fault(server, **rule):
    request = urllib.request.Request(
        f"http://{server.address}/admin/v1/faults", data=json.dumps(rule).encode(),
        headers={"Content-Type": "application/json"}, method="POST")
    urllib.request.urlopen(request, timeout=30).read()


def clear_faults(server):
    request = urllib.request.Request(f"http://{server.address}/admin/v1/faults", method="DELETE")
    urllib.request.urlopen(request, timeout=30).read()


def start_sink(binary, *arguments, stdin=None):
    return subprocess.Popen([str(binary), "sink", *arguments], stdin=stdin,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def run_sink(binary, *arguments, stdin_text=None, seconds=60):
    """Exit code and output."""
    done = subprocess.run([str(binary), "sink", *arguments], input=stdin_text, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds, check=False)
    return done.returncode, done.stdout
