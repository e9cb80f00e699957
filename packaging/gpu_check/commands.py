"""Runs programs in the time that is left, and keeps what was run."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shlex
import signal
import subprocess
import time

from .results import Failed, Skipped

USED_UP = "the time for all checks is used up"


def _name(command):
    """"shardscope record"; the whole command is in the JSON."""
    verb = str(command[1]) if len(command) > 1 else ""
    name = pathlib.Path(str(command[0])).name
    return f"{name} {verb}" if verb.isalpha() else name


def _last_json(out):
    for text in (out, (out.strip().splitlines() or [""])[-1]):
        with contextlib.suppress(ValueError):
            return json.loads(text)
    return None


def _last_words(err, out):
    """Why it ended: `record` says so in its JSON, and in the middle of what it prints."""
    document = _last_json(out)
    if isinstance(document, dict) and document.get("message"):
        return document["message"]
    lines = [line for line in (err.strip() or out.strip()).splitlines()
             if line.strip() and not line.startswith(("Run '", "Next: ", "Kept "))]
    return lines[-1].strip() if lines else "no output"


def _end(process):
    """The process and what it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        try:
            return process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            continue
    return "", ""


class Commands:
    """`environment` is for our programs; others get the one this script was started in."""

    def __init__(self, work, budget):
        self.work = pathlib.Path(work)
        self.inherited = dict(os.environ)
        self.environment = dict(os.environ)
        self.started = time.monotonic()
        self.end = self.started + budget
        self.check_end = self.end
        self.check_name = ""
        self.commands = []

    def left(self) -> float:
        """Seconds for what is running now."""
        return min(self.end, self.check_end) - time.monotonic()

    def run(self, command, environment=None, accept=(0,), ours=True):
        """Standard output of a command that has to end well, in the time that is left."""
        command = [str(part) for part in command]
        entry = {"check": self.check_name, "command": shlex.join(command)}
        self.commands.append(entry)
        if self.left() <= 0:
            raise self._too_slow(command, "no time was left for")
        base = self.environment if ours else self.inherited
        status, out, err = self._finished(command, {**base, **(environment or {})}, entry)
        if status not in accept:
            entry["stderr"] = err[-2000:]
            raise Failed(f"{_name(command)} ended with {status}: {_last_words(err, out)}")
        return out

    def _finished(self, command, environment, entry):
        began = time.monotonic()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, errors="replace", env=environment, cwd=self.work, start_new_session=True)
        try:
            out, err = process.communicate(timeout=self.left())
            entry["exit"] = process.returncode
            return process.returncode, out, err
        except subprocess.TimeoutExpired:
            entry["exit"] = "timeout"
            entry["stderr"] = _end(process)[1][-2000:]
            raise self._too_slow(command, f"{time.monotonic() - began:.0f} s were too few for")
        finally:
            entry["seconds"] = round(time.monotonic() - began, 3)

    def _too_slow(self, command, words):
        """A check's own limit is its failure; the end of the whole is nobody's."""
        if self.end <= self.check_end:
            return Skipped(f"{USED_UP}: {words} {_name(command)}")
        return Failed(f"{words} {_name(command)}")

    def json(self, command, **more):
        """The JSON a command prints: all of its output, or its last line."""
        document = _last_json(self.run(command, **more))
        if document is None:
            raise Failed(f"{_name(command)} printed no JSON")
        return document
