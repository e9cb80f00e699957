#!/usr/bin/env python3
"""Loads a shim into a real PyTorch and compares what it reports with torch.profiler.

  shim_test.py --python PYTHON --shim SHIM [--only SUBJECT]

PYTHON is one that has PyTorch of the shim's version. Needs cc. Exits with 77 where PYTHON has no
PyTorch. Each subject (subjects.py) runs in processes of its own.
"""
import argparse
import os
import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
ALONE = ("operators", "levels", "memory", "threads", "fork")
TWO_RANKS = ("collectives", "collectives_steps", "delayed", "ddp", "fsdp2")


def free_port():
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return str(each.getsockname()[1])


def run(arguments, ranks, environment):
    """Output of each rank; fails where one does."""
    port = free_port()
    started = []
    for rank in range(ranks):
        place = {"RANK": str(rank), "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        started.append(subprocess.Popen(arguments, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={**environment, **place}))
    outputs, failures = [], []
    for each in started:
        try:
            out, err = each.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            each.kill()
            out, err = each.communicate()
            failures.append("took longer than 300 s")
        outputs.append(out)
        if each.returncode != 0:
            last = (err.strip().splitlines() or ["no word of why"])[-1]
            failures.append(f"ended with {each.returncode}: {last}")
        failures += [line.removeprefix("wrong: ") for line in out.splitlines() if line.startswith("wrong: ")]
    return outputs, failures


def results(outputs):
    return [line for output in outputs for line in output.splitlines() if line.startswith("result: ")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True)
    parser.add_argument("--shim", required=True)
    parser.add_argument("--only", choices=ALONE + TWO_RANKS)
    options = parser.parse_args()

    found = subprocess.run([options.python, "-c", "import torch; print(torch.__version__)"], text=True,
                           capture_output=True, check=False)
    if found.returncode != 0:
        print(f"skipped: {options.python} has no PyTorch")
        return 77
    version = found.stdout.strip()
    named = re.search(r"_(\d+)_(\d+)(?:_pre)?\.so$", options.shim)
    if not named or not version.startswith(".".join(named.groups()) + "."):
        print(f"{Path(options.shim).name} is not for PyTorch {version}, which {options.python} has")
        return 1

    failed = 0
    with tempfile.TemporaryDirectory() as work:
        fake = Path(work) / "fake_inject.so"
        subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-O2", "-fPIC", "-shared", f"-I{ROOT}",
                        str(HERE / "fake_inject.c"), "-o", str(fake)], check=True)
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
        command = [options.python, str(HERE / "subjects.py"), os.path.abspath(options.shim), str(fake), work]
        for subject in ALONE + TWO_RANKS:
            if options.only not in (None, subject):
                continue
            ranks = 2 if subject in TWO_RANKS else 1
            outputs, failures = run([*command, subject], ranks, environment)
            if results(outputs):
                # The program's own results, without the shim.
                plain, _ = run([*command[:2], "none", *command[3:], subject], ranks, environment)
                if results(plain) != results(outputs):
                    failures.append(f"results differ: {results(outputs)}, without the shim {results(plain)}")
            said = [line for output in outputs for line in output.splitlines() if line.startswith("not tested")]
            print(f"{version} {subject}: " + (said[0] if said else "failed" if failures else "ok"))
            for each in failures:
                print(f"  {each}")
            failed += bool(failures)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
