#!/usr/bin/env python3
"""No file of a build folder was compiled with a warning: warnings_test.py BUILD LAUNCHER COMPILER

Reads what LAUNCHER, packaging/cmake/keep-warnings, kept, so it does not matter which command compiled
a file, or when. The launcher itself is tried first. With g++ 12, Debian 12's, every warning counts.
Each other compiler finds faults of its own in standard headers and LibTorch's that ours are inlined
with (g++ 14: array-bounds in std::vector<bool>): there, only warnings about a place in this tree.
"""
from __future__ import annotations

import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile


PLACE = re.compile(r"^(\S[^:\n]*):\d+:(?:\d+:)? \S*warning", re.M)


def counts(text, folder, root) -> bool:
    """Whether a compiler that ran in folder said something about a file of root, or of none."""
    places = PLACE.findall(text)
    return not places or len(places) < len(re.findall(r"\bwarning: ", text)) or any(
        (folder / place).resolve().is_relative_to(root) for place in places)


def warnings(build, root=None) -> list[str]:
    """What was said of each object file that is there and still belongs to the build.

    With a root, only what was said about its files.
    """
    said = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        compiled = pathlib.Path(entry["directory"]) / words[words.index("-o") + 1]
        kept = pathlib.Path(f"{compiled}.warnings")
        if not compiled.exists() or not kept.exists():
            continue
        text = kept.read_text(errors="replace")
        if root is None or counts(text, pathlib.Path(entry["directory"]), root):
            said.append(f"{entry['file']}:\n{text}")
    return said


def faults_of(launcher, compiler) -> list[str]:
    """Compiles a file with and without a warning, in turn, over the same output."""
    faults = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        command = {"directory": name, "file": "a.cpp", "command": "c++ -c a.cpp -o a.o"}
        (folder / "compile_commands.json").write_text(json.dumps([command]))
        for text, expected, status in [("int f() {}\n", 1, 0), ("int f() { return 0; }\n", 0, 0),
                                       ("int f() {}\n", 1, 0), ("int f( {}\n", 0, 1)]:
            (folder / "a.cpp").write_text(text)
            (folder / "a.o").unlink(missing_ok=True)
            done = subprocess.run([launcher, compiler, "-Wall", "-c", "a.cpp", "-o", "a.o"], cwd=folder,
                                  capture_output=True, text=True)
            if (done.returncode, len(warnings(folder))) != (status, expected):
                faults.append(f"{launcher}: {text!r} ended with {done.returncode} and left "
                              f"{sorted(p.name for p in folder.iterdir())}")
            if bool(done.stderr) != bool(expected or status):
                faults.append(f"{launcher}: {text!r}: the compiler's words were {done.stderr!r}")
    return faults


def faults_of_counts() -> list[str]:
    """Words as g++ says them, and whether they count for a compiler that is not g++ 12."""
    root, folder = pathlib.Path("/tree"), pathlib.Path("/tree/build/release")
    inlined = "In function \u2018f\u2019,\n    inlined from \u2018g\u2019 at ../../engine/a.cpp:3:1:\n"
    elsewhere = inlined + "/usr/include/c++/14/bits/a.h:452:30: warning: \u2018m\u2019 [-Warray-bounds=]\n"
    cases = [(elsewhere, False), (inlined + "../../engine/a.cpp:3:1: warning: x [-Wy]\n", True),
             ("/tree/engine/a.h:3: warning: x\n", True), ("cc1plus: warning: a.gch: not used\n", True),
             (elsewhere + "cc1plus: warning: x\n", True), ("something else\n", True),
             (elsewhere + "../../engine/a.cpp:3:1: warning: x [-Wy]\n" + elsewhere, True)]
    return [f"counts: not {expected}: {text}" for text, expected in cases
            if counts(text, folder, root) != expected]


def compiling(build) -> list[str]:
    """Commands that compile, as ninja runs them: where the launcher stands in its files goes by the
    version of CMake."""
    listed = subprocess.run(["ninja", "-t", "compdb"], cwd=build, capture_output=True, text=True,
                            check=True)
    return sorted({entry["command"] for entry in json.loads(listed.stdout)
                   if re.search(r" -c \S+\.(cpp|cxx)$", entry["command"])})


def main() -> int:
    build, launcher, compiler = sys.argv[1:]
    version = subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True, check=True)
    everything = version.stdout.split(".")[0].strip() == "12"
    root = None if everything else pathlib.Path(__file__).resolve().parents[2]
    commands = compiling(build)
    said = [f"compiles without {launcher}: {line}" for line in commands if launcher not in line]
    if not commands:
        said.append(f"{build} compiles nothing")
    said += faults_of(launcher, compiler) + faults_of_counts() + warnings(pathlib.Path(build), root)
    print("\n".join(said) or "no file was compiled with a warning"
          + ("" if everything else " about a place in this tree"))
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
