#!/usr/bin/env python3
"""No file of a build folder was compiled with a warning: warnings_test.py BUILD LAUNCHER COMPILER

Reads what LAUNCHER, packaging/cmake/keep-warnings, kept, so it does not matter which command compiled
a file, or when. The launcher itself is tried first.
"""
from __future__ import annotations

import json
import pathlib
import shlex
import subprocess
import sys
import tempfile


def warnings(build) -> list[str]:
    """What was said of each object file that is there and still belongs to the build."""
    said = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        compiled = pathlib.Path(entry["directory"]) / words[words.index("-o") + 1]
        kept = pathlib.Path(f"{compiled}.warnings")
        if compiled.exists() and kept.exists():
            said.append(f"{entry['file']}:\n{kept.read_text(errors='replace')}")
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


def main() -> int:
    build, launcher, compiler = sys.argv[1:]
    rules = (pathlib.Path(build) / "CMakeFiles/rules.ninja").read_text().splitlines()
    compiling = [line for line in rules if "command = " in line and " -c $in" in line]
    said = [f"compiles without {launcher}: {line}" for line in compiling if launcher not in line]
    if not compiling:
        said.append(f"{build} compiles nothing")
    said += faults_of(launcher, compiler) + warnings(pathlib.Path(build))
    print("\n".join(said) or "no file was compiled with a warning")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
