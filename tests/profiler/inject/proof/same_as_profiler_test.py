#!/usr/bin/env python3
"""Programs recorded at full while torch.profiler watches the same steps of the same process: both say the
same operators, steps, collectives and memory.

  same_as_profiler_test.py --python PYTHON --shardscope SHARDSCOPE [--torchrun PROGRAM] [--keep FOLDER] [PROGRAM...]

Prints a table; what differs and is not explained fails. Exits with 77 where PYTHON has no
PyTorch. A PROGRAM (programs.py) whose packages are missing is left out.
"""
import argparse
import collections
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ALONE = ("plain", "accumulation", "compiled", "gan", "loader", "spawn", "lightning")
TWO_RANKS = ("ddp", "fsdp2", "accelerated")
NEEDS = {"accelerated": "accelerate", "lightning": "lightning"}
RANKS = {"spawn": 2, **{each: 2 for each in TWO_RANKS}}
# Memory that a worker of the loader shares is no block of the CPU allocator; torch.profiler counts it.
SHARED = ("loader",)
# Only we have them: what the thread of the steps waits for.
WAITS = "'torch.distributed.Work.wait', 'torch.futures.Future.wait'"
SECONDS = 600

Seen = collections.namedtuple("Seen", "operators lengths memory collectives")


def is_wrapper(name):
    """Only torch.profiler has it: the engine's, one around each node of the backward pass."""
    return name.startswith("autograd::engine::evaluate_function")


def is_work(name):
    """Gloo's own range of a collective, begun on one thread and ended on another: a collective to us."""
    return name.startswith("gloo:")


def run_sum(changes):
    total = peak = 0
    for _, change, _ in changes:
        total += change
        peak = max(peak, total)
    return peak


def seen_by_both(ours, theirs):
    """Our changes without frees that torch.profiler does not report: of blocks from before it began, and on
    threads that it does not watch, such as Gloo's."""
    of_block = collections.defaultdict(collections.deque)
    for _, change, block in theirs:
        of_block[block].append(change)
    kept = []
    for each in ours:
        _, change, block = each
        expected = of_block[block]
        if expected and expected[0] == change:
            expected.popleft()
        elif change < 0:
            continue
        kept.append(each)
    return kept


def in_order(changes):
    return sorted(changes, key=lambda each: each[0])


def of_trace(path):
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    window = next(e for e in events if e.get("name") == "window" and e.get("ph") == "X")
    begin, end = window["ts"], window["ts"] + window["dur"]
    within = [e for e in events if begin <= e.get("ts", -1) <= end and e is not window]
    operators = [e for e in within if e.get("cat") in ("cpu_op", "user_annotation") and e["ph"] == "X"]
    operators = [e for e in operators if not is_wrapper(e["name"]) and not is_work(e["name"])]
    lengths = collections.defaultdict(list)
    for each in sorted(operators, key=lambda e: e["ts"]):
        lengths[each["name"]].append(each["dur"] * 1e3)
    memory = [(e["ts"], e["args"]["Bytes"], e["args"]["Addr"]) for e in within if e.get("name") == "[memory]"]
    calls = collections.Counter(e["name"][6:] for e in operators if e["name"].startswith("c10d::"))
    return Seen(collections.Counter(e["name"] for e in operators), lengths, in_order(memory), calls)


def query(shardscope, recording, sql):
    asked = subprocess.run([shardscope, "query", "--json", recording, sql], stdout=subprocess.PIPE, check=True)
    return json.loads(asked.stdout)["rows"]


def of_recording(shardscope, recording, rank):
    (begin, end), = query(shardscope, recording,
                          f"SELECT start_ns, end_ns FROM operators WHERE rank = {rank} AND name = 'window'")
    where = f"WHERE rank = {rank} AND %s BETWEEN {begin} AND {end}"
    rows = query(shardscope, recording, "SELECT name, duration_ns FROM operators " + where % "start_ns" +
                 f" AND name NOT IN ('window', {WAITS}) ORDER BY start_ns")
    lengths = collections.defaultdict(list)
    for name, duration in rows:
        lengths[name].append(duration)
    memory = query(shardscope, recording, "SELECT time_ns, CASE action WHEN 'allocate' THEN size_bytes ELSE -size_bytes END,"
                   " address FROM memory_events " + where % "time_ns")
    calls = query(shardscope, recording, "SELECT algorithm, count(*) FROM collectives " + where % "issue_ns" + " GROUP BY 1")
    return Seen(collections.Counter(name for name, _ in rows), lengths, in_order(memory),
                collections.Counter({name: count for name, count in calls}))


class Comparison:
    def __init__(self, ask):
        self.ask, self.wrong = ask, 0

    def start(self, name, folder, recording):
        program = [str(HERE / "programs.py"), name, folder]
        launch = [self.ask.python]
        if name in TWO_RANKS:
            launch += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        with socket.socket() as each:
            each.bind(("127.0.0.1", 0))
            port = each.getsockname()[1]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                       "TORCHINDUCTOR_CACHE_DIR": os.path.join(folder, "cache")}
        return subprocess.run([self.ask.shardscope, "record", "--capture", "full", "-o", recording, "--", *launch, *program],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, timeout=SECONDS)

    def program(self, name):
        with tempfile.TemporaryDirectory() as folder:
            recording = os.path.join(self.ask.keep or folder, name + ".sscope")
            done = self.start(name, folder, recording)
            if done.returncode != 0:
                print(f"{name}: it ended with {done.returncode}\n{done.stdout[-500:]}{done.stderr[-3000:]}")
                self.wrong += 1
                return
            for rank in range(RANKS.get(name, 1)):
                trace = os.path.join(folder, f"{rank}.json")
                theirs, ours = of_trace(trace), of_recording(self.ask.shardscope, recording, rank)
                steps, = query(self.ask.shardscope, recording, f"SELECT count(*) FROM steps WHERE rank = {rank}")
                self.say(f"{name} {rank}", steps[0], ours, theirs)

    def say(self, name, steps, ours, theirs):
        shared = [(a, b) for each in ours.lengths if len(ours.lengths[each]) == len(theirs.lengths.get(each, ()))
                  for a, b in zip(ours.lengths[each], theirs.lengths[each])]
        apart = statistics.median(abs(a - b) for a, b in shared) / 1e3
        memory = seen_by_both(ours.memory, theirs.memory)
        print(f"{name:16} {steps:5} {sum(ours.operators.values()):7} {sum(theirs.operators.values()):7}"
              f" {sum(ours.collectives.values()):5} {sum(theirs.collectives.values()):5}"
              f" {len(ours.memory):7} {len(memory):7} {len(theirs.memory):7} {run_sum(ours.memory):8} {run_sum(memory):8}"
              f" {run_sum(theirs.memory):8} {apart:7.2f}", flush=True)
        self.expect(name, steps == 8, f"{steps} steps, not 8")
        for what, mine, other in (("operator", ours.operators, theirs.operators),
                                  ("collective", ours.collectives, theirs.collectives)):
            for who, more in (("only we", mine - other), ("only torch.profiler", other - mine)):
                for each, times in more.items():
                    self.expect(name, False, f"{who} have the {what} {each}, {times} times")
        if name.split()[0] in SHARED:
            return
        self.expect(name, len(memory) == len(theirs.memory), "blocks of memory differ")
        self.expect(name, run_sum(memory) == run_sum(theirs.memory), "the highest sums of memory differ")

    def expect(self, name, right, sentence):
        if not right:
            print(f"    wrong: {sentence}")
            self.wrong += 1


def has(python, package):
    return subprocess.run([python, "-c", "import " + package], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--python", required=True)
    ap.add_argument("--shardscope", required=True)
    ap.add_argument("--keep")
    ap.add_argument("programs", nargs="*", default=ALONE + TWO_RANKS)
    ask = ap.parse_args()
    if not has(ask.python, "torch"):
        print("skipped:", ask.python, "has no PyTorch")
        return 77
    print("ours first, torch.profiler's second; the last column: median difference of durations, us")
    print("of memory: ours, ours that torch.profiler sees too, torch.profiler's")
    print("program rank     steps       operators collectives     memory: changes        highest running sum       us")
    comparison = Comparison(ask)
    for name in ask.programs or ALONE + TWO_RANKS:
        if name in NEEDS and not has(ask.python, NEEDS[name]):
            print(f"{name}: left out, {NEEDS[name]} is not installed")
            continue
        comparison.program(name)
    return 1 if comparison.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
