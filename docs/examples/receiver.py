#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A target for tasks: prints what it receives. The standard library is enough.

Usage: docs/examples/receiver.py [PORT]   (default 9000)
"""

import http.server
import sys
import time


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        print(time.strftime("%H:%M:%S"), self.headers.get("X-CloudTasks-TaskName"), body.decode(), flush=True)
        self.send_response(200)  # any 2xx: done; anything else: tried again later
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


port = int(sys.argv[1]) if len(sys.argv) > 1 else 9000
server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Receiver)
print(f"receiving on http://127.0.0.1:{server.server_address[1]}", flush=True)
try:
    server.serve_forever()
except KeyboardInterrupt:
    pass
