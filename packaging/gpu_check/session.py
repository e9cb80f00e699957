"""Where the programs are, how they are run, and how much time is left."""
from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import json
import os
import pathlib
import random
import shlex
import signal
import subprocess
import time

from .results import Failed, Skipped


@dataclasses.dataclass
class Recording:
    path: pathlib.Path
    seconds: float       # of the command
    ended_unix: float    # when it had ended


def torch_folder():
    """Found without importing it, which takes seconds. None: no PyTorch."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        return None
    return pathlib.Path(spec.submodule_search_locations[0])


def library_path(bundle_lib, torch):
    """Our libraries, LibTorch's, and those of all NVIDIA wheels beside it."""
    folders = [bundle_lib] if bundle_lib.is_dir() else []
    if torch is not None:
        folders.append(torch / "lib")
        folders += sorted((torch.parent / "nvidia").glob("*/lib"))
    return ":".join(map(str, folders))


def _name(command):
    """"shardscope record"; the whole command is in the JSON."""
    verb = str(command[1]) if len(command) > 1 else ""
    name = pathlib.Path(str(command[0])).name
    return f"{name} {verb}" if verb.isalpha() else name


def _last_words(err, out):
    lines = [line for line in (err.strip() or out.strip()).splitlines()
             if line.strip() and not line.startswith("Run '")]
    return lines[-1].strip() if lines else "no output"


class Session:
    def __init__(self, bin_folder, work, peers=None, reference=None, budget=520.0):
        self.bin, self.work = pathlib.Path(bin_folder), pathlib.Path(work)
        self.peers = pathlib.Path(peers) if peers else None
        self.reference = pathlib.Path(reference) if reference else None
        self.torch = torch_folder()
        self.environment = dict(os.environ)
        inherited = os.environ.get("LD_LIBRARY_PATH", "")
        ours = library_path(self.bin.parent / "lib", self.torch)
        self.environment["LD_LIBRARY_PATH"] = ":".join(filter(None, [ours, inherited]))
        self.started = time.monotonic()
        self.end = self.started + budget
        self.check_end = self.end
        self.check_name = ""
        self.commands = []
        self._recordings = {}

    def left(self) -> float:
        """Seconds for what is running now."""
        return min(self.end, self.check_end) - time.monotonic()

    def program(self, name):
        path = self.bin / name
        if not path.exists():
            raise Skipped(f"{name} is not in {self.bin}")
        return path

    def run(self, command, environment=None, accept=(0,)):
        """Standard output of a command that has to end well, in the time that is left."""
        command = [str(part) for part in command]
        began = time.monotonic()
        entry = {"check": self.check_name, "command": shlex.join(command)}
        self.commands.append(entry)
        if self.left() <= 0:
            raise Failed("no time was left for " + _name(command))
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, errors="replace", env={**self.environment, **(environment or {})},
            cwd=self.work, start_new_session=True)
        try:
            out, err = process.communicate(timeout=self.left())
        except subprocess.TimeoutExpired:
            out, err = self._end(process)
            entry["exit"] = "timeout"
            raise Failed(f"{_name(command)} took longer than {time.monotonic() - began:.0f} s")
        finally:
            entry["seconds"] = round(time.monotonic() - began, 3)
        entry["exit"] = process.returncode
        if process.returncode not in accept:
            entry["stderr"] = err[-2000:]
            raise Failed(f"{_name(command)} ended with {process.returncode}: {_last_words(err, out)}")
        return out

    @staticmethod
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

    def json(self, command, **more):
        """The JSON a command prints: all of its output, or its last line."""
        out = self.run(command, **more)
        for text in (out, (out.strip().splitlines() or [""])[-1]):
            with contextlib.suppress(ValueError):
                return json.loads(text)
        raise Failed(f"{_name(command)} printed no JSON")

    def text(self):
        """Something to train on: a bundle has no source tree. The same words every time."""
        path = self.work / "text.txt"
        if not path.exists():
            draw = random.Random(0)
            words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9)))
                     for _ in range(2000)]
            path.write_text("".join(" ".join(draw.choices(words, k=12)) + ".\n"
                                    for _ in range(20000)))
        return path

    def record(self, name, arguments, environment=None) -> Recording:
        path = self.work / f"{name}.sscope"
        began = time.monotonic()
        self.run([self.program("shardscope"), "record", *arguments, "--data", self.text(),
                  "--output", path, "--force", "--json"], environment=environment)
        return Recording(path, time.monotonic() - began, time.time())

    def shared_recording(self, name, arguments) -> Recording:
        """Made once for all checks that look at it; so is its failure."""
        if name not in self._recordings:
            try:
                self._recordings[name] = self.record(name, arguments)
            except Failed as reason:
                self._recordings[name] = reason
        made = self._recordings[name]
        if isinstance(made, Failed):
            raise made
        return made

    def report(self, recording):
        return self.json([self.program("shardscope"), "report", recording.path, "--json"])

    def query(self, recording, sql):
        """Rows of texts, as `shardscope query` gives them; null is None."""
        return self.json([self.program("shardscope"), "query", recording.path, sql, "--json"])["rows"]
