"""What profiling costs: time, bytes, and the wait after the last step.

Time is compared by steps of one run that are captured by turns: two runs differ by more than what
is looked for. What is not captured is at level `steps`, where the device has no mark but those of
steps and waits.
"""
from __future__ import annotations

import statistics

from . import queries, repeats, workloads
from .kernels import WARM
from .results import Failed, at_most, info

PAIRS = 32
FEWEST_PAIRS = 8
BLOCK = 24
# Of the step time without capture; None: no goal.
LIMITS = {"marks": None, "kernels": 1.01, "launches": None, "full": 1.03}
IDLE_LIMIT = 1.002  # attached, and recording nothing: what is left after a stop


def _step_ns(session, name, arguments):
    steps = session.steps(session.record(name, arguments))
    return {step.number: step.end - step.start for step in steps if step.number >= WARM}


def paired(times):
    """Even steps, which are captured, over the mean of both neighbours."""
    return [times[step] / statistics.mean((times[step - 1], times[step + 1])) for step in times
            if step % 2 == 0 and step - 1 in times and step + 1 in times]


def step_cost(session):
    """steps that are captured against their neighbours that are not, by capture level"""
    quiet = []
    for level, limit in LIMITS.items():
        arguments = workloads.single(session, level, WARM + 2 * PAIRS + 2)
        times = _step_ns(session, f"cost-{level}", [*arguments, "--alternate-capture"])
        ratios = paired(times)
        if len(ratios) < FEWEST_PAIRS:
            raise Failed(f"the run at {level} recorded {len(times)} steps")
        quiet += [ns for step, ns in times.items() if step % 2]
        ratio, noise = statistics.median(ratios), repeats.error_of_median(ratios)
        remark = f"median of {len(ratios)} steps by turns, +- {noise:.2g}"
        if limit is None:
            yield info(f"step-cost-{level}", ratio, "x", remark, ratios=ratios)
        else:
            yield at_most(f"step-cost-{level}", ratio, limit, "x", remark, noise=noise,
                          of_ref=True, ratios=ratios)
    yield info("step-uncaptured", statistics.median(quiet) / 1e6, "ms", f"{len(quiet)} steps")


def idle(session):
    """a tracer that is attached and records nothing against none, in runs of their own"""
    attention = session.attention(session.shared_recording("traced", workloads.traced(session)))
    times = {"untraced": [], "idle": []}
    # It cannot be detached again. In this order a device that becomes warmer favours nobody.
    for level in ("untraced", "idle", "idle", "untraced"):
        arguments = [*workloads.single(session, level, WARM + BLOCK), *attention]
        found = _step_ns(session, f"idle-{level}", arguments)
        if not found:
            raise Failed(f"the run at {level} recorded no step to compare")
        times[level].append(statistics.median(found.values()) / 1e6)
    yield info("step-untraced", statistics.mean(times["untraced"]), "ms", "mean of two runs")
    noise = max(map(repeats.spread, times.values()))
    ratio = statistics.mean(times["idle"]) / statistics.mean(times["untraced"])
    repeats.skip_unsteady(noise, abs(ratio - 1))
    yield at_most("step-cost-idle", ratio, IDLE_LIMIT, "x", "two runs of each", noise=noise,
                  of_ref=True, **times)


def size(session):
    """bytes a recorded event takes on disk"""
    recording = session.shared_recording("traced", workloads.traced(session))
    report = session.report(recording)
    events = int(session.query(recording, queries.EVENTS)[0][0])
    yield at_most("bytes-an-event", report["file_bytes"] / events, 4, "B", f"{events} events",
                  of_ref=True)


def stop(session):
    """from the end of the last step to a recording that can be opened"""
    recording = session.shared_recording("traced", workloads.traced(session))
    steps = session.steps(recording)
    if not steps:
        raise Failed("the recording holds no step")
    started = int(session.query(recording, queries.STARTED)[0][0])
    last = (started + max(step.end for step in steps)) * 1e-9
    yield at_most("stop-to-viewable", recording.ended_unix - last, 1.0, "s",
                  "last step's end to the recorder's end", of_ref=True)
