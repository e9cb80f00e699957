#!/usr/bin/env python3
"""Runs many tests of one GoogleTest program in one process, and says of each how it ended.

  run_shard.py RESULTS PROGRAM [--filter FILTER] [--shard INDEX/COUNT | --each] [--limit SECONDS]

--shard: this part of the tests; --each: every test in a process of its own. RESULTS becomes a line
a test: "passed", "failed", "skipped" or "crashed", its seconds, its name. A test that ends the
program, or takes more than --limit, is named, and those that would have come after it are run in
another process. Exit status 0 only when none failed.
"""
from __future__ import annotations

import argparse
import ctypes
import os
import pathlib
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

# Anywhere in a line: what a test or its children print need not end with one.
BEGUN = re.compile(r"\[ RUN      \] (\S+)")
ENDED = re.compile(r"\[(       OK |  FAILED  |  SKIPPED )\] ([^\s,]+).*\((\d+) ms\)")
VERDICTS = {"       OK ": "passed", "  FAILED  ": "failed", "  SKIPPED ": "skipped"}


def end_with_parent(number: int) -> None:
    """An interrupted ctest leaves nothing running."""
    ctypes.CDLL(None).prctl(1, number)  # PR_SET_PDEATHSIG


class Play:
    """One process of the program. `found` maps names to (verdict, seconds)."""

    def __init__(self, program: str, arguments: list[str], environment: dict, limit: float):
        self.found: dict[str, tuple[str, float]] = {}
        self.running = ""  # the test that had begun and did not end
        self.since = time.monotonic()
        self.partial = b""
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder, "report.xml")
            process = subprocess.Popen([program, f"--gtest_output=xml:{report}", *arguments],
                                       env={**os.environ, **environment},
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       preexec_fn=lambda: end_with_parent(signal.SIGKILL))
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: (process.kill(), sys.exit(1)))
            self.why = self._watch(process, limit)
            if report.exists():
                self._read(report)
                self.running = ""

    def _watch(self, process: subprocess.Popen, limit: float) -> str:
        """Passes on what it prints until it ends; returns how it ended, empty for status 0."""
        stream = process.stdout
        os.set_blocking(stream.fileno(), False)
        late = False
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            while True:
                # Its end counts, not the stream's: what it started may hold that open.
                ended = process.poll() is not None
                while data := stream.read(1 << 16):
                    self._pass_on(data)
                if ended:
                    break
                if not late and time.monotonic() - self.since > limit:
                    late = True
                    process.kill()
                if data is not None:  # the stream's end: only the process is left to wait for
                    try:
                        process.wait(timeout=limit)
                    except subprocess.TimeoutExpired:
                        late = True
                        process.kill()
                        process.wait()
                else:
                    selector.select(0.1)
        self._pass_on(b"\n" if self.partial else b"")
        if late:
            return f"took more than {limit:.0f} s"
        if process.returncode < 0:
            return f"ended by {signal.Signals(-process.returncode).name}"
        return f"ended with status {process.returncode}" if process.returncode else ""

    def _pass_on(self, data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        *lines, self.partial = (self.partial + data).split(b"\n")
        for line in lines:
            text = line.decode(errors="replace")
            if match := BEGUN.search(text):
                self.running, self.since = match[1], time.monotonic()
            elif match := ENDED.search(text):
                if match[2] == self.running:
                    self.found[match[2]] = (VERDICTS[match[1]], int(match[3]) / 1e3)
                    self.running, self.since = "", time.monotonic()

    def _read(self, report: pathlib.Path) -> None:
        """GoogleTest's own account, which exists once every test has ended."""
        for case in ElementTree.parse(report).iter("testcase"):
            if case.get("status") == "run":
                verdict = ("failed" if case.find("failure") is not None else
                           "skipped" if case.get("result") == "skipped" else "passed")
                self.found[f"{case.get('classname')}.{case.get('name')}"] = (
                    verdict, float(case.get("time")))


def names_of(program: str, chosen: str) -> list[str]:
    """The tests that the filter chooses, in the order in which GoogleTest deals them to shards."""
    listed = subprocess.run([program, "--gtest_list_tests", f"--gtest_filter={chosen}"], check=True,
                            text=True, stdout=subprocess.PIPE).stdout
    names, suite = [], ""
    for line in listed.splitlines():
        word = line.split("#")[0].rstrip()
        if re.fullmatch(r"\S+\.", word):
            suite = word
        elif suite and line.startswith("  "):
            names.append(suite + word.strip())
    return [name for name in names if not re.search(r"(^|[./])DISABLED_", name)]


def run(options) -> dict[str, tuple[str, float]]:
    found: dict[str, tuple[str, float]] = {}
    index, count = map(int, options.shard.split("/"))
    dealt = {"GTEST_TOTAL_SHARDS": str(count), "GTEST_SHARD_INDEX": str(index)}
    whole = {"GTEST_TOTAL_SHARDS": "1", "GTEST_SHARD_INDEX": "0"}

    def play(chosen: str, environment: dict) -> bool:
        """False when a test ended the process, so that others are left."""
        played = Play(options.program, [f"--gtest_filter={chosen}"], environment, options.limit)
        found.update(played.found)
        failed = any(verdict == "failed" for verdict, _ in played.found.values())
        if played.running:
            print(f"{played.running}: the program {played.why or 'ended early'}", flush=True)
            found[played.running] = ("crashed", time.monotonic() - played.since)
            return False
        if played.why and not failed:
            # Before the first test, between two or after the last.
            name = f"{pathlib.Path(options.program).name}.OutsideOfItsTests"
            print(f"{name}: the program {played.why}", flush=True)
            found[name] = ("crashed", 0.0)
        return True

    if options.each:
        for name in names_of(options.program, options.filter):
            play(name, whole)
    elif not play(options.filter, dealt):
        left = [name for number, name in enumerate(names_of(options.program, options.filter))
                if number % count == index]
        while left := [name for name in left if name not in found]:
            if play(":".join(left), whole):
                break
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("program")
    parser.add_argument("--filter", default="*")
    parser.add_argument("--shard", default="0/1")
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--limit", type=float, default=300)
    options = parser.parse_args()
    end_with_parent(signal.SIGTERM)
    options.results.parent.mkdir(parents=True, exist_ok=True)
    options.results.unlink(missing_ok=True)
    found = run(options)
    options.results.write_text("".join(f"{verdict} {seconds:.3f} {name}\n"
                                       for name, (verdict, seconds) in found.items()))
    bad = [name for name, (verdict, _) in found.items() if verdict in ("failed", "crashed")]
    for name in bad:
        print(f"{found[name][0]}: {name}")
    if not found:
        print("no test was run")
    return 1 if bad or not found else 0


if __name__ == "__main__":
    sys.exit(main())
