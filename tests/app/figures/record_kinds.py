#!/usr/bin/env python3
"""Recordings of more than thirty kinds, for tests that hold figures against each other.

  tests/app/figures/record_kinds.py BIN FOLDER [SAMPLER]

BIN has shardscope and its programs; SAMPLER is write_sample, for recordings that no two cores can
make (64 ranks, GPUs). Each kind is one file FOLDER/NAME.sscope. Files that are there and younger
than the program stay. Models are tiny: a kind takes about two seconds.
"""
import os
import pathlib
import signal
import subprocess
import sys
import time

TINY = ("--layers 2 --hidden 64 --heads 4 --context 32 --batch 2 --steps 12 --threads 1 "
        "--data synthetic").split()
ENDLESS = ["--steps", "1000000"]
LINK = ["--link-gb-per-s", "0.05", "--link-latency-us", "100"]

RUNS = {
    "zero3": [],
    "zero2": ["--strategy", "zero2"],
    "zero1_validation_last": ["--strategy", "zero1", "--evaluate-every", "12"],
    "zero1_modelled": ["--strategy", "zero1", *LINK],
    "single": ["--strategy", "single", "--ranks", "1"],
    "ddp_naive": ["--strategy", "ddp-naive"],
    "ddp_flat": ["--strategy", "ddp-flat"],
    "ddp_overlap": ["--strategy", "ddp-overlap"],
    "ddp_bucket": ["--strategy", "ddp-bucket", "--bucket-mb", "1"],
    "hsdp": ["--strategy", "hsdp", "--ranks", "4", "--shard-ranks", "2", "--steps", "8"],
    "modelled": LINK,
    "no_prefetch": ["--prefetch", "0", *LINK],
    "no_validation": ["--evaluate-every", "0"],
    "one_step": ["--steps", "1"],
    "three_steps": ["--steps", "3"],
    "accumulated": ["--accumulate", "3"],
    "gathered_kept": ["--accumulate", "2", "--keep-gathered"],
    "recomputed": ["--recompute-every", "1"],
    "bf16": ["--precision", "bf16"],
    "scheduled": ["--capture-steps", "3-5,9"],
    "every_fourth": ["--capture-every", "4"],
    "alternate": ["--alternate-capture"],
    "slow_ones_of_none": ["--capture-slow", "1000"],
    "thinned": ["--max-size", "4MB", "--steps", "1500"],
    "light": ["--capture", "light"],
    "steps_only": ["--capture", "steps"],
    "off": ["--capture", "off"],
    "failed": ["--lr", "1000", "--clip", "0", "--warmup", "1", "--steps", "40"],
}
MEASURING = ('work = "measuring"\nmeasure_operations = "all-gather,all-reduce"\n'
             'measure_sizes = "1MB-2MB"\nmeasure_rounds = 2\nsteps = 4\n')
# Steps, ranks and words of write_sample.
SAMPLES = {"ranks_64": ["3", "64"], "unfinished": ["unfinished"], "gpu": ["gpu"],
           "gpu_untraced": ["gpu", "untraced"]}
# What may be wrong with a run that is to fail, be stopped or be killed.
ENDS = {"failed": (5,), "stopped": (0, 130), "killed": (-signal.SIGKILL,), "rank_died": (5,)}


def ranks_of(recorder: int) -> list[int]:
    """Processes of ranks below this one, by number."""
    parents = {}
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            state = (process / "stat").read_text()
            words = (process / "cmdline").read_bytes()
            parents[int(process.name)] = int(state.rpartition(")")[2].split()[1]), words
        except (OSError, IndexError):
            continue  # has ended
    below, ranks = [recorder], []
    while below:
        of = below.pop()
        children = [child for child, (parent, _) in parents.items() if parent == of]
        below += children
        ranks += [child for child in children if b"shardscope-rank" in parents[child][1]]
    return sorted(ranks)


def end_after_steps(started: subprocess.Popen, path: pathlib.Path, program: str, how: str) -> None:
    """Ends it when it has finished some steps, however long these took to come."""
    for _ in range(2000):
        asked = subprocess.run([program, "query", str(path), "select count(*) from steps",
                                "--csv"], capture_output=True, text=True)
        rows = asked.stdout.split()
        if asked.returncode == 0 and rows and int(rows[-1]) >= 40:
            break
        time.sleep(0.1)
    if how == "stopped":
        started.send_signal(signal.SIGINT)
    elif how == "killed":
        started.kill()
    else:
        os.kill(ranks_of(started.pid)[-1], signal.SIGKILL)


def wait_for(started: subprocess.Popen) -> str:
    """What it said."""
    try:
        return started.communicate(timeout=300)[1]
    except subprocess.TimeoutExpired:
        started.kill()
        return started.communicate()[1] + "took longer than 300 s"


class Maker:
    def __init__(self, binaries: pathlib.Path, folder: pathlib.Path):
        self.program, self.folder = binaries / "shardscope", folder
        self.age = self.program.stat().st_mtime
        folder.mkdir(parents=True, exist_ok=True)

    def lacks(self, name: str) -> bool:
        path = self.folder / f"{name}.sscope"
        return not path.exists() or path.stat().st_mtime < self.age

    def record(self, name: str, words: list[str]) -> None:
        if not self.lacks(name):
            return
        path = self.folder / f"{name}.sscope"
        # An older one would be taken for what is being recorded.
        for ending in ("", "-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
        started = subprocess.Popen([self.program, "record", "--quiet", "--force", "-o", path, *words],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            if "1000000" in words:
                end_after_steps(started, path, str(self.program), name)
        except BaseException:
            started.kill()
            raise
        said = wait_for(started)
        if started.returncode not in ENDS.get(name, (0,)):
            raise SystemExit(f"{name}: exit status {started.returncode}: {said[-600:]}")

    def run(self, name: str, *words) -> None:
        if self.lacks(name):
            subprocess.run([str(word) for word in words], check=True, capture_output=True)

    def imported(self) -> None:
        """A trace of our own, as another tool would have written it, and read again."""
        trace = self.folder / "trace"
        self.run("imported", self.program, "export", self.folder / "zero3.sscope", "--format", "kineto",
                 "--force", "-o", trace)
        self.run("imported", self.program, "import", trace, "--force", "-o",
                 self.folder / "imported.sscope")
        self.run("part", self.program, "export", self.folder / "zero3.sscope", "--steps", "3-6",
                 "--force", "-o", self.folder / "part.sscope")


def main() -> None:
    binaries, folder = map(pathlib.Path, sys.argv[1:3])
    maker = Maker(binaries, folder)
    for name, words in RUNS.items():
        maker.record(name, [*TINY, *words])
    for name in ("stopped", "killed", "rank_died"):
        maker.record(name, [*TINY, *ENDLESS])
    measuring = folder / "measuring.toml"
    measuring.write_text(MEASURING)
    maker.record("measuring", [str(measuring), "--threads", "1"])
    maker.imported()
    for name, words in SAMPLES.items() if len(sys.argv) > 3 else ():
        maker.run(name, sys.argv[3], folder / f"{name}.sscope", *words)
    print(len(list(folder.glob("*.sscope"))), "recordings in", folder)


if __name__ == "__main__":
    main()
