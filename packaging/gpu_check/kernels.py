"""Kernels and steps of a recording, and which kernels lie in which steps.

Steps are told by time. A kernel need not know its step: what was launched between phases, before
the first step or below capture level `launches` does not, and another tool's kernels never do.
"""
from __future__ import annotations

import bisect
from typing import NamedTuple

from . import intervals
from .results import Failed

WARM = 4  # steps left out at the start of a run


class Step(NamedTuple):
    number: int
    start: int
    end: int


class Kernel(NamedTuple):
    name: str
    start: int
    end: int
    step: int | None = None
    correlation: int | None = None  # None: it was launched by a call that was not recorded

    @staticmethod
    def of(row) -> Kernel:
        name, start, end, step, correlation = row
        return Kernel(name, int(start), int(end), None if step is None else int(step),
                      int(correlation or 0) or None)

    @property
    def time(self):
        return self.start, self.end


def training_time(steps, evaluations):
    """As `report` has it: steps without what evaluates."""
    return intervals.difference(intervals.union((s.start, s.end) for s in steps),
                                intervals.union(evaluations))


def _idle(kernels):
    busy = intervals.union(kernel.time for kernel in kernels)
    return [(a[1], b[0]) for a, b in zip(busy, busy[1:])]


def _idle_around(idle, starts, times) -> int:
    """Lengths of the idle intervals that hold `times`, summed."""
    total = 0
    for time in times:
        at = bisect.bisect_right(starts, time) - 1
        if at >= 0 and time < idle[at][1]:
            total += idle[at][1] - idle[at][0]
    return total


def _shift(kernels, cuts, most) -> int:
    """What moves all `cuts` to where the device is idle longest, at most by `most`."""
    idle = _idle(kernels)
    starts = [start for start, _ in idle]
    near = [((start + end) // 2 - cuts[0]) for start, end in idle]
    tried = [0, *(shift for shift in near if abs(shift) <= most)]
    return max(tried, key=lambda shift: (
        _idle_around(idle, starts, [cut + shift for cut in cuts]), -abs(shift)))


def of_whole_steps(kernels, steps, warm=WARM):
    """Kernels from the start of step `warm` to the start of the last one, and how many steps.

    The clocks of kernels and steps may be some ms apart, so that the cuts are moved together to
    where the device waits for the host: every step does so at the same place. That is why the last
    step is left out.
    """
    if not kernels:
        raise Failed("no kernel was recorded")
    counted = [step for step in steps if step.number >= warm]
    if len(counted) < 2:
        raise Failed(f"the recording holds {len(steps)} steps, too few to compare")
    cuts = [step.start for step in counted]
    shift = _shift(kernels, cuts, (cuts[-1] - cuts[0]) // (len(cuts) - 1) // 2)
    first, last = cuts[0] + shift, cuts[-1] + shift
    found = [kernel for kernel in kernels if first <= kernel.start < last]
    if not found:
        raise Failed("no kernel lies in the time of the steps: their clocks differ")
    return found, len(cuts) - 1
