"""What profiling costs: time, bytes, and the wait after the last step."""
from __future__ import annotations

import statistics

from . import queries, workloads
from .results import Failed, at_most, info

WARM = 4     # steps left out at the start of a run
STEPS = 24
MOST_BLOCKS = 5
# Of the step time without any tracer: attached but idle is what is left after a stop.
LIMITS = {"idle": 1.002, "kernels": 1.01, "launches": None, "full": 1.03}


def _step_seconds(session, level, block):
    recording = session.record(f"cost-{level}", workloads.ref(level, STEPS))
    rows = session.query(recording, queries.STEPS.format(first=WARM))
    if len(rows) < 3:
        raise Failed(f"block {block} of {level} recorded {len(rows)} steps")
    return statistics.median(int(row[1]) for row in rows) * 1e-9


def step_cost(session):
    """step time by capture level, in blocks that alternate"""
    ratios = {level: [] for level in LIMITS}
    base, longest = [], 0.0
    levels = ["never", *LIMITS]
    for block in range(MOST_BLOCKS):
        before = session.left()
        # A block that would not end in time teaches nothing.
        if block > 0 and before < 1.2 * longest:
            break
        times = {}
        # Backwards every other block, so that warming up favours nobody.
        for level in levels if block % 2 == 0 else reversed(levels):
            times[level] = _step_seconds(session, level, block)
        base.append(times["never"])
        for level in LIMITS:
            ratios[level].append(times[level] / times["never"])
        longest = max(longest, before - session.left())
    yield info("step-untraced", 1e3 * statistics.median(base), "ms", f"{len(base)} blocks")
    for level, limit in LIMITS.items():
        ratio = statistics.median(ratios[level])
        remark = f"{len(ratios[level])} blocks of {STEPS - WARM} steps"
        spread = {"ratios": ratios[level]}
        name = f"step-cost-{level}"
        if limit is None:
            yield info(name, ratio, "x", remark, **spread)
        else:
            yield at_most(name, ratio, limit, "x", remark, **spread)


def alternating(session):
    """odd steps without tracer against even ones with it, in one run"""
    arguments = [*workloads.ref("full", 2 * STEPS), "--alternate-capture"]
    rows = session.query(session.record("alternating", arguments), queries.STEPS.format(first=WARM))
    traced = [int(ns) for step, ns in rows if int(step) % 2 == 0]
    quiet = [int(ns) for step, ns in rows if int(step) % 2 == 1]
    if not traced or not quiet:
        raise Failed("the recording holds no steps")
    yield at_most("step-cost-alternating", statistics.median(traced) / statistics.median(quiet),
                  1.03, "x", "full capture, every other step of one run")


def size(session):
    """bytes a recorded event takes on disk"""
    recording = session.shared_recording("traced", workloads.traced())
    report = session.report(recording)
    events = int(session.query(recording, queries.EVENTS)[0][0])
    yield at_most("bytes-an-event", report["file_bytes"] / events, 4, "B", f"{events} events")


def stop(session):
    """from the end of the last step to a recording that can be opened"""
    recording = session.record("stop", workloads.traced())
    last = int(session.query(recording, queries.LAST_STEP_END)[0][0]) * 1e-9
    yield at_most("stop-to-viewable", recording.ended_unix - last, 1.0, "s",
                  "last step's end to the recorder's end")
