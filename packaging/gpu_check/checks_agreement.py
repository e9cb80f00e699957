"""Our kernels and our overlap against torch.profiler's (Kineto) and HTA's definitions.

CUPTI has one subscriber a process, so that Kineto traces a second, equal run: it is loaded into
shardscope-rank by LD_PRELOAD (tests/gpu/kineto_oracle.cpp) while our own tracer stays away.
"""
from __future__ import annotations

import json
import shlex

from . import intervals, queries, workloads
from .results import Failed, Skipped, at_most, equal

WITHIN = 0.005
ORACLE = "libshardscope_kineto_oracle.so"


def our_kernels(session, recording, rank=0):
    rows = session.query(recording, queries.KERNELS.format(rank=rank))
    return [(name, int(start), int(end), int(step)) for name, start, end, step in rows]


def kineto_kernels(path):
    """(name, start, end) of a Chrome trace, in ns, by start."""
    events = json.loads(path.read_text(errors="replace"))["traceEvents"]
    kernels = [(e["name"], round(e["ts"] * 1e3), round((e["ts"] + e["dur"]) * 1e3))
               for e in events if e.get("ph") == "X" and e.get("cat") == "kernel"]
    return sorted(kernels, key=lambda kernel: kernel[1])


def _wrapper(session, trace):
    """A rank program that loads Kineto first."""
    path = session.work / "rank-with-kineto"
    path.write_text("#!/bin/sh\n"
                    f"export SHARDSCOPE_KINETO_TRACE={shlex.quote(str(trace))}\n"
                    f"export LD_PRELOAD={shlex.quote(str(session.program(ORACLE)))}\n"
                    f"exec {shlex.quote(str(session.program('shardscope-rank')))} \"$@\"\n")
    path.chmod(0o755)
    return path


def relative(found, expected):
    return abs(found - expected) / expected if expected else float("inf")


def kineto(session):
    """number of kernels and busy time against torch.profiler's tracer"""
    # Operators are traced on both sides or on neither: they change when kernels start.
    arguments = workloads.ref("kernels", 12)
    ours = our_kernels(session, session.record("ours", arguments))
    trace = session.work / "kineto.json"
    session.record("kineto", workloads.ref("never", 12),
                   environment={"SHARDSCOPE_RANK_PROGRAM": str(_wrapper(session, trace))})
    if not trace.exists():
        raise Failed("Kineto left no trace")
    theirs = kineto_kernels(trace)
    if not theirs:
        raise Skipped("Kineto recorded no kernel")
    yield equal("kernels-kineto", len(ours), len(theirs), "kernels", f"Kineto: {len(theirs)}")
    window = [i for i, kernel in enumerate(ours) if kernel[3] >= 4]
    if not window or len(ours) != len(theirs):
        raise Failed("without equal numbers of kernels the same steps cannot be told")
    part = slice(window[0], window[-1] + 1)
    busy = [intervals.length(intervals.union((k[1], k[2]) for k in kernels[part]))
            for kernels in (ours, theirs)]
    yield at_most("busy-against-kineto", 100 * relative(*busy), 100 * WITHIN, "%",
                  f"{busy[0] / 1e6:.3f} and {busy[1] / 1e6:.3f} ms in two runs")


def hta(session):
    """our overlap against HTA's definition, over the kernels of the same recording"""
    recording = session.shared_recording("two", workloads.two_processes())
    report = session.report(recording)
    found = {row["rank"]: row["ratio"] for row in report["overlap"]["by_rank"]}
    worst, ranks = 0.0, 0
    for rank, ratio in found.items():
        kernels = [k[:3] for k in our_kernels(session, recording, rank) if k[3] >= 0]
        expected = intervals.overlap(kernels)
        if expected is None or ratio is None:
            continue
        ranks += 1
        worst = max(worst, abs(ratio - expected))
    if ranks == 0:
        raise Skipped("no NCCL kernel was recorded, so that there is no overlap to compare")
    yield at_most("overlap-against-hta", 100 * worst, 100 * WITHIN, "points",
                  f"largest difference of {ranks} ranks")
