#!/usr/bin/env python3
"""A process that asks for work as PyTorch's profiler library does, and writes made-up traces.

  fake_rank_of_kineto.py [--fault dies|silent|broken|busy] [--launch N]

With --launch it starts N ranks, is their launcher, and ends them when its standard input ends.
"""
import argparse
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import threading
import time
import uuid

PARSER = argparse.ArgumentParser()
PARSER.add_argument("--fault", default="")
PARSER.add_argument("--fault-of", type=int, default=1)
PARSER.add_argument("--launch", type=int, default=0)
PARSER.add_argument("--plain", action="store_true", help="asks nothing")
PARSER.add_argument("--seconds", type=float, default=300, help="ends after so long at the latest")
GIVEN = PARSER.parse_args()
RANK = int(os.environ.get("RANK", "-1"))
EVERY = 0.1


class Client:
    def __init__(self):
        folder = os.environ.get("KINETO_IPC_SOCKET_DIR", "")
        self.daemon = f"{folder}/dynolog" if folder else "\0dynolog\0"
        own = f"dynoconfigclient{uuid.uuid4()}"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(f"{folder}/{own}" if folder else f"\0{own}\0")
        self.socket.settimeout(0.09)
        parents = [os.getpid(), os.getppid()]
        self.pids = struct.pack(f"<{len(parents)}i", *parents)

    def ask(self, idle=True):
        """The configuration, or nothing."""
        body = struct.pack("<iiq", 3 if idle else 1, len(self.pids) // 4, 0) + self.pids
        try:
            self.socket.sendto(struct.pack("<Q32s", len(body), b"req") + body, self.daemon)
            answer = self.socket.recv(65536)
        except OSError:
            return {}
        size, kind = struct.unpack_from("<Q32s", answer)
        assert kind.rstrip(b"\0") == b"req" and size == len(answer) - 40, answer
        return dict(line.split("=", 1) for line in answer[40:].decode().split("\n") if line)


def trace_of(configuration):
    """As Kineto writes for its part: operators and the optimizer, with the time that it was asked for."""
    begin = int(configuration.get("PROFILE_START_TIME", time.time() * 1000)) * 1000
    events = [{"ph": "M", "name": "process_name", "pid": os.getpid(), "tid": 0, "args": {"name": "python"}}]
    for step in range(int(configuration.get("ACTIVITIES_ITERATIONS", 3))):
        at = begin + step * 1000
        events.append({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": os.getpid(), "tid": os.getpid(),
                       "ts": at + 100, "dur": 300})
        events.append({"ph": "X", "cat": "user_annotation", "name": "Optimizer.step#AdamW.step",
                       "pid": os.getpid(), "tid": os.getpid(), "ts": at + 500, "dur": 200})
    return json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}, indent=1)


def write(configuration, text):
    path = pathlib.Path(configuration["ACTIVITIES_LOG_FILE"])
    path = path.with_name(f"{path.stem}_{os.getpid()}{path.suffix}")
    path.write_text(text)


def follow():
    """Asks until it has written, and goes on asking, as the library does while its process lives."""
    client, fault = Client(), GIVEN.fault if RANK == GIVEN.fault_of else ""
    end = time.time() + GIVEN.seconds
    while time.time() < end:
        if fault == "busy":
            client.ask(idle=False)
        elif configuration := client.ask():
            if fault == "dies":
                os._exit(9)
            if fault == "broken":
                write(configuration, 'this is no JSON, though it says "cpu_op" }')
            elif fault != "silent":
                client.ask(idle=False)
                write(configuration, trace_of(configuration))
        time.sleep(EVERY)


def launch():
    pathlib.Path(os.environ["FAKE_FOLDER_FILE"]).write_text(os.environ["KINETO_IPC_SOCKET_DIR"])
    threading.Thread(target=follow, daemon=True).start()  # a launcher has PyTorch as well
    time.sleep(3 * EVERY)
    words = [sys.executable, __file__, "--fault", GIVEN.fault, "--fault-of", str(GIVEN.fault_of),
             "--seconds", str(GIVEN.seconds)]
    ranks = [subprocess.Popen(words, env={**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank),
                                          "WORLD_SIZE": str(GIVEN.launch), "LOCAL_WORLD_SIZE": str(GIVEN.launch)})
             for rank in range(GIVEN.launch)]
    sys.stdin.read()  # the test's word that it has seen enough
    for rank in ranks:
        rank.kill()
        rank.wait()
    sys.exit(7)


if GIVEN.launch:
    launch()
elif GIVEN.plain:
    sys.stdin.read()
else:
    follow()
