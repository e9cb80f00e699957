"""What two measurements of the same thing differ by, and what may be concluded in spite of it."""
from __future__ import annotations

import dataclasses
import statistics

from .results import SKIP, at_most

UNSTEADY = 0.02  # noise beyond it lets no goal be met


def spread(values) -> float:
    """Of equal runs, in parts of their mean."""
    return (max(values) - min(values)) / statistics.mean(values)


def error_of_median(values) -> float:
    """Two standard errors, from the median's distances: single outliers do not count."""
    centre = statistics.median(values)
    deviation = 1.4826 * statistics.median(abs(value - centre) for value in values)
    return 2 * 1.2533 * deviation / len(values) ** 0.5


def judged(name, value, limit, noise, difference, unit, reason, **details):
    """At most `limit`, which allows for the noise; too much of that lets nothing be concluded but
    that a difference beyond it is one."""
    result = at_most(name, value, limit, unit, reason, of_ref=True, **details)
    if noise > UNSTEADY and difference <= noise:
        why = f"equal runs differ by {100 * noise:.1f} %: too unsteady to compare"
        return dataclasses.replace(result, status=SKIP, reason=why)
    return result


def cost(name, ratio, limit, noise, reason, **details):
    """A ratio of times, with a goal that a measurement without noise would have to meet."""
    return judged(name, ratio, limit + noise, noise, abs(ratio - 1), "x",
                  f"goal {limit:g}; {reason} {100 * noise:.2g} %", **details)


def agree(name, ours, theirs, floor, reason):
    """Two things measured several times each, alike within the floor or what each differs by."""
    noise = max(spread(ours), spread(theirs))
    difference = abs(statistics.mean(ours) / statistics.mean(theirs) - 1)
    return judged(name, 100 * difference, 100 * max(floor, noise), noise, difference, "%", reason,
                  ours=ours, theirs=theirs)
