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
# A step in one launch of everything, whose host has time left; the others are 8 micro-steps of 4.
FUSED = {"kernels": 1.01, "full": 1.03}
TRACED = ("idle", "kernels", "launches", "full")
IDLE_LIMIT = 1.002  # attached, and recording nothing: what is left after a stop


def _recorded(session, level, name, arguments):
    recording = session.record(name, arguments)
    tracing = str(session.query(recording, queries.TRACING)[0][0])
    if level in TRACED and tracing.startswith("not traced"):
        raise Failed(f"{tracing}: there is no cost to measure")
    return recording


def _step_ns(session, recording):
    return {step.number: step.end - step.start for step in session.steps(recording)
            if step.number >= WARM}


def _uncaptured(session, recording):
    return {step for first, last in session.query(recording, queries.LESS)
            for step in range(int(first), int(last) + 1)}


def paired(times, uncaptured):
    """Captured steps over the mean of both neighbours, which are not."""
    return [ns / statistics.mean((times[step - 1], times[step + 1]))
            for step, ns in times.items() if step not in uncaptured
            and {step - 1, step + 1} <= uncaptured & times.keys()]


def _cost(session, level, limit, name, *form):
    """A result of one run, and the times of its steps that were not captured."""
    arguments = workloads.single(session, level, WARM + 2 * PAIRS + 2, *form)
    recording = _recorded(session, level, f"cost-{name}", [*arguments, "--alternate-capture"])
    times, uncaptured = _step_ns(session, recording), _uncaptured(session, recording)
    ratios = paired(times, uncaptured)
    if len(ratios) < FEWEST_PAIRS:
        raise Failed(f"the run at {level} has {len(times)} steps, {len(ratios)} of them "
                     "captured between two that are not")
    ratio, noise = statistics.median(ratios), repeats.error_of_median(ratios)
    quiet = [times[step] for step in uncaptured & times.keys()]
    if limit is None:
        return info(f"step-cost-{name}", ratio, "x", f"+- {100 * noise:.2g} %",
                    ratios=ratios), quiet
    return repeats.cost(f"step-cost-{name}", ratio, limit, noise,
                        f"median of {len(ratios)} steps +-", ratios=ratios), quiet


def step_cost(session):
    """steps that are captured against their neighbours that are not, by capture level"""
    quiet = []
    for level, limit in LIMITS.items():
        result, times = _cost(session, level, limit, level)
        quiet += times
        yield result
    yield info("step-uncaptured", statistics.median(quiet) / 1e6, "ms", f"{len(quiet)} steps")
    for level, limit in FUSED.items():
        result, _ = _cost(session, level, limit, f"{level}-fused", 32, 1)
        yield result


def idle(session):
    """a tracer that is attached and records nothing against none, in runs of their own"""
    attention = session.attention(session.shared_recording("traced", workloads.traced(session)))
    times = {"untraced": [], "idle": []}
    # It cannot be detached again. In this order a device that becomes warmer favours nobody.
    for level in ("untraced", "idle", "idle", "untraced"):
        arguments = [*workloads.single(session, level, WARM + BLOCK), *attention]
        found = _step_ns(session, _recorded(session, level, f"idle-{level}", arguments))
        if not found:
            raise Failed(f"the run at {level} recorded no step to compare")
        times[level].append(statistics.median(found.values()) / 1e6)
    yield info("step-untraced", statistics.mean(times["untraced"]), "ms", "mean of two runs")
    noise = max(map(repeats.spread, times.values()))
    ratio = statistics.mean(times["idle"]) / statistics.mean(times["untraced"])
    yield repeats.cost("step-cost-idle", ratio, IDLE_LIMIT, noise, "equal runs differ by",
                       **times)


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
