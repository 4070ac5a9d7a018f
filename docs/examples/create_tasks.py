#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Create three tasks with the official Python client: two now, one in five seconds.

Usage: .deps/venv/bin/python docs/examples/create_tasks.py [SERVER [TARGET]]
"""

import datetime
import sys

import grpc
from google.cloud import tasks_v2
from google.cloud.tasks_v2.services.cloud_tasks.transports import CloudTasksGrpcTransport

server = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:8085"
target = sys.argv[2] if len(sys.argv) > 2 else "http://127.0.0.1:9000/orders"

client = tasks_v2.CloudTasksClient(
    transport=CloudTasksGrpcTransport(channel=grpc.insecure_channel(server)))
queue = client.queue_path("demo", "local", "orders")  # declared in quickstart.yaml

in_five_seconds = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=5)
for body, schedule_time in ((b"first", None), (b"second", None), (b"third", in_five_seconds)):
    task = client.create_task(parent=queue, task=tasks_v2.Task(
        schedule_time=schedule_time,
        http_request=tasks_v2.HttpRequest(
            http_method=tasks_v2.HttpMethod.POST, url=target, body=body)))
    print("created", task.name)
