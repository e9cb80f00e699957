"""Our kernels and our overlap against torch.profiler's (Kineto) and HTA's definitions.

CUPTI has one subscriber a process, so that Kineto traces other, equal runs: it is loaded into
shardscope-rank by LD_PRELOAD (tests/gpu/kineto_oracle.cpp) while our own tracer stays away.
"""
from __future__ import annotations

import json
import shlex

from . import intervals, queries, repeats, workloads
from .kernels import Kernel, of_whole_steps, training_time
from .results import Failed, Skipped, at_most, equal

WITHIN = 0.005
STEPS = 12
ORACLE = "libshardscope_kineto_oracle.so"


def kineto_kernels(path, started_unix_ns):
    """Of a Chrome trace, in ns of a recording's clock, by start."""
    trace = json.loads(path.read_text(errors="replace"))
    zero = started_unix_ns - int(trace.get("baseTimeNanoseconds") or 0)
    found = []
    for event in trace["traceEvents"]:
        if event.get("ph") == "X" and event.get("cat") == "kernel":
            start = round(event["ts"] * 1e3) - zero
            found.append(Kernel(event["name"], start, start + round(event["dur"] * 1e3)))
    return sorted(found, key=lambda kernel: kernel.start)


def _wrapper(session, trace):
    """A rank program that loads Kineto first."""
    path = session.work / "rank-with-kineto"
    path.write_text("#!/bin/sh\n"
                    f"export SHARDSCOPE_KINETO_TRACE={shlex.quote(str(trace))}\n"
                    f"export LD_PRELOAD={shlex.quote(str(session.program(ORACLE)))}\n"
                    f"exec {shlex.quote(str(session.program('shardscope-rank')))} \"$@\"\n")
    path.chmod(0o755)
    return path


def _ours(session, attention):
    # Operators are traced on both sides or on neither: they change when kernels start.
    recording = session.record("ours", [*workloads.single(session, "kernels", STEPS), *attention])
    return session.kernels(recording), session.steps(recording)


def _theirs(session, attention):
    trace = session.work / "kineto.json"
    trace.unlink(missing_ok=True)
    recording = session.record(
        "kineto", [*workloads.single(session, "marks", STEPS), *attention],
        environment={"SHARDSCOPE_RANK_PROGRAM": str(_wrapper(session, trace))})
    if not trace.exists():
        raise Failed("Kineto left no trace")
    kernels = kineto_kernels(trace, int(session.query(recording, queries.STARTED)[0][0]))
    if not kernels:
        raise Skipped("Kineto recorded no kernel")
    return kernels, session.steps(recording)


def _busy_ms(kernels, steps):
    """Time of a step in which the device runs a kernel."""
    return intervals.length(intervals.union(k.time for k in kernels)) / steps / 1e6


def kineto(session):
    """number of kernels and busy time against torch.profiler's tracer"""
    session.program(ORACLE)
    # Two ways to do attention have different kernels; the run would choose by a measurement.
    attention = session.attention(session.shared_recording("traced", workloads.traced(session)))
    # In this order a device that becomes warmer favours nobody.
    runs = [(who.__name__, of_whole_steps(*who(session, attention)))
            for who in (_ours, _theirs, _theirs, _ours)]
    ours = [run for who, run in runs if who == "_ours"]
    theirs = [run for who, run in runs if who == "_theirs"]
    yield equal("kernels-kineto", len(ours[0][0]), len(theirs[0][0]), "kernels",
                f"in {ours[0][1]} steps; Kineto: {len(theirs[0][0])}",
                ours=[len(run[0]) for run in ours], theirs=[len(run[0]) for run in theirs])
    busy = [[_busy_ms(*run) for run in side] for side in (ours, theirs)]
    yield repeats.agree("busy-against-kineto", *busy, WITHIN,
                        "ms a step: " + " and ".join(f"{a:.4g}, {b:.4g}" for a, b in busy))


def hta(session):
    """our overlap of kernels against HTA's definition, in the training time of one recording"""
    recording = session.shared_recording("two", workloads.two_processes(session))
    worst, ranks = 0.0, 0
    for device in session.report(recording)["devices"]:
        rank = device["rank"]
        evaluations = [tuple(map(int, row)) for row in
                       session.query(recording, queries.EVALUATIONS.format(rank=rank))]
        within = training_time(session.steps(recording, rank), evaluations)
        expected = intervals.overlap([k[:3] for k in session.kernels(recording, rank)], within)
        if expected is None and not device["communication_ns"]:
            continue
        if expected is None or not device["communication_ns"]:
            raise Failed(f"rank {rank}: HTA's ratio is {expected}, and the report has "
                         f"{device['communication_ns']} ns of communication")
        ranks += 1
        worst = max(worst, abs(device["hidden_ns"] / device["communication_ns"] - expected))
    if ranks == 0:
        raise Skipped("no NCCL kernel was recorded, so that there is no overlap to compare")
    yield at_most("overlap-against-hta", 100 * worst, 100 * WITHIN, "points",
                  f"largest difference of {ranks} ranks")
