"""Kernels and steps of a recording, and which kernels lie in which steps.

Steps are told by time. A kernel need not know its step: what was launched between phases, before
the first step or below capture level `launches` does not, and another tool's kernels never do.
"""
from __future__ import annotations

import bisect
import collections
import statistics
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


class _Idle:
    """When the device runs nothing, between its first kernel and its last."""

    def __init__(self, kernels):
        busy = intervals.union(kernel.time for kernel in kernels)
        self.all = [(a[1], b[0]) for a, b in zip(busy, busy[1:])]
        self._starts = [start for start, _ in self.all]

    def length_at(self, time) -> int:
        at = bisect.bisect_right(self._starts, time) - 1
        return self.all[at][1] - self.all[at][0] if at >= 0 and time < self.all[at][1] else 0

    def shift(self, cuts, most):
        """What moves most cuts to where it waits longest, and how long that is. One long wait, as
        of a process that was held up, decides nothing."""
        near = [(start + end) // 2 - cut for start, end in self.all
                for cut in (cuts[0], cuts[-1])]
        tried = [0, *(shift for shift in near if abs(shift) <= most)]
        lengths = {shift: statistics.median_low([self.length_at(cut + shift) for cut in cuts])
                   for shift in tried}
        best = max(tried, key=lambda shift: (lengths[shift], -abs(shift)))
        return best, lengths[best]

    def snapped(self, cut, length) -> int:
        """To the middle of the longest wait near to it: steps are not equally long."""
        near = [(end - start, (start + end) // 2) for start, end in self.all
                if start < cut + length and end > cut - length]
        return max(near)[1] if near else cut


def _ends_of_steps(kernels, steps):
    """Places of the kernel that runs once in each step, of several the last one: of the optimizer.
    None: there is no such kernel."""
    places = collections.defaultdict(list)
    for place, kernel in enumerate(kernels):
        places[kernel.name].append(place)
    once = [found for found in places.values() if len(found) == len(steps)]
    return max(once, key=lambda found: found[-1], default=None)


def of_whole_steps(kernels, steps, warm=WARM):
    """Kernels of the steps from `warm` to the last but one, in order, and how many steps.

    A device that always has work does not wait between steps: a kernel that runs once a step
    parts them. Without one they are parted by time. The clocks of kernels and steps may be some ms
    apart, so that the cuts are moved together to where the device waits for the host: every step
    does so at the same place. That is why the last step is left out.
    """
    if not kernels:
        raise Failed("no kernel was recorded")
    counted = [step for step in steps if step.number >= warm]
    if len(counted) < 2:
        raise Failed(f"the recording holds {len(steps)} steps, too few to compare")
    ends = _ends_of_steps(kernels, steps)
    if ends is not None:
        return kernels[ends[-len(counted) - 1] + 1:ends[-2] + 1], len(counted) - 1
    cuts, idle = [step.start for step in counted], _Idle(kernels)
    shift, length = idle.shift(cuts, (cuts[-1] - cuts[0]) // (len(cuts) - 1) // 2)
    first, last = (idle.snapped(cut + shift, length) for cut in (cuts[0], cuts[-1]))
    found = [kernel for kernel in kernels if first <= kernel.start < last]
    if not found:
        raise Failed("no kernel lies in the time of the steps: their clocks differ")
    return found, len(cuts) - 1
