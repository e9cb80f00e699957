#!/usr/bin/env python3
"""Recorded or not, a program computes the same losses, bit for bit, and ends the same.

  same_losses_test.py --python PYTHON --shardscope SHARDSCOPE [--repeats N] [--levels LEVEL...]
    [--programs PROGRAM...]

Each PROGRAM (programs.py; default: plain, ddp) runs N times as it is and N times at each LEVEL (full,
steps). Exits with
77 where PYTHON has no PyTorch.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 300


def has_torch(python):
    return subprocess.run([python, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode == 0


def command(ask, name):
    program = [str(HERE / "programs.py"), name]
    if name in ("ddp", "fsdp2"):
        return [ask.python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *program]
    return [ask.python, *program]


def outcome(words):
    """Status and losses; ranks print in any order."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=SECONDS,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    return done.returncode, sorted(line for line in done.stdout.splitlines() if line.startswith("rank ")), done.stderr


def runs(ask, name):
    """The number of those that differ."""
    first = outcome(command(ask, name))
    wrong = int(first[0] != 0 or not first[1])
    counts = {"plain": 1, **{level: 0 for level in ask.levels}}
    with tempfile.TemporaryDirectory() as folder:
        record = [ask.shardscope, "record", "-f", "-o", folder + "/run.sscope", "--capture"]
        for _ in range(ask.repeats):
            for kind in counts:
                words = command(ask, name) if kind == "plain" else [*record, kind, "--", *command(ask, name)]
                one = outcome(words)
                counts[kind] += 1
                if one[:2] != first[:2]:
                    wrong += 1
                    other = sorted(set(one[1]) ^ set(first[1]))[:4]
                    print(f"{name}, {kind}: it ended with {one[0]}, not {first[0]}; losses {other}\n{one[2][-2000:]}")
    print(f"{name}: {len(first[1])} losses; runs " + ", ".join(f"{kind} {count}" for kind, count in counts.items()) +
          f"; different {wrong}", flush=True)
    return wrong


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--python", required=True)
    ap.add_argument("--shardscope", required=True)
    ap.add_argument("--repeats", type=int, default=2)
    ap.add_argument("--levels", nargs="*", default=["full", "steps"])
    ap.add_argument("--programs", nargs="*", default=["plain", "ddp"])
    ask = ap.parse_args()
    if not has_torch(ask.python):
        print("skipped:", ask.python, "has no PyTorch")
        return 77
    return 1 if sum(runs(ask, name) for name in ask.programs) else 0


if __name__ == "__main__":
    sys.exit(main())
