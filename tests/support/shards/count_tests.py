#!/usr/bin/env python3
"""Counts the tests of a run of ctest, those inside of its shards each for itself.

  count_tests.py LOG FOLDER     what ctest printed, and where run_shard.py wrote its results

Names what failed, what was not run here and the twenty slowest tests; the last line is "N passed,
N failed". One that was not run here counts as passed.
"""
from __future__ import annotations

import pathlib
import re
import sys

# " 3/12 Test  #7: Name with = signs .....   Passed    0.01 sec"
LINE = re.compile(r"^ *\d+/\d+ Test +#\d+: (.*?) \.*(.*?) +(\d+\.\d+) sec *$")
SLOWEST = 20


def tests_of(log: pathlib.Path, folder: pathlib.Path):
    """(verdict, seconds, name) of each test."""
    for line in log.read_text(errors="replace").splitlines():
        if not (match := LINE.match(line)):
            continue
        name, how, seconds = match[1].rstrip(), match[2], float(match[3])
        shard = folder / f"{name}.txt"
        if shard.exists():
            inside = [words.split(" ", 2) for words in shard.read_text().splitlines()]
            yield from ((verdict, float(spent), test) for verdict, spent, test in inside)
            if "Passed" in how or any(verdict in ("failed", "crashed") for verdict, *_ in inside):
                continue
        yield ("skipped" if "Skipped" in how else "passed" if "Passed" in how else "failed", seconds,
               name)


def main() -> None:
    tests = list(tests_of(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
    for verdict, _, name in tests:
        if verdict == "skipped":
            print(f"   not run here: {name}")
    print(f"   the {SLOWEST} slowest tests, in seconds:")
    for _, seconds, name in sorted(tests, key=lambda test: -test[1])[:SLOWEST]:
        print(f"   {seconds:8.1f}  {name}")
    bad = [test for test in tests if test[0] in ("failed", "crashed")]
    for verdict, _, name in bad:
        print(f"   {verdict}: {name}")
    if tests:
        print(f"{len(tests) - len(bad)} passed, {len(bad)} failed")


if __name__ == "__main__":
    main()
