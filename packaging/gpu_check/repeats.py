"""What two measurements of the same thing differ by, and what may be concluded in spite of it."""
from __future__ import annotations

import statistics

from .results import Skipped, at_most

UNSTEADY = 0.05  # beyond it a difference between runs says nothing


def spread(values) -> float:
    """Of equal runs, in parts of their mean."""
    return (max(values) - min(values)) / statistics.mean(values)


def error_of_median(values) -> float:
    """Two standard errors, from the median's distances: single outliers do not count."""
    centre = statistics.median(values)
    deviation = 1.4826 * statistics.median(abs(value - centre) for value in values)
    return 2 * 1.2533 * deviation / len(values) ** 0.5


def skip_unsteady(noise, difference):
    """A difference beyond the noise is one, however large that is."""
    if noise > UNSTEADY and difference <= noise:
        raise Skipped(f"equal runs differ by {100 * noise:.1f} %: too unsteady to compare")


def agree(name, ours, theirs, floor, reason):
    """Two things measured several times each, alike within the floor or what each differs by."""
    noise = max(spread(ours), spread(theirs))
    difference = abs(statistics.mean(ours) / statistics.mean(theirs) - 1)
    skip_unsteady(noise, difference)
    beyond = max(0.0, noise - floor)
    return at_most(name, 100 * difference, 100 * floor, "%", reason, noise=100 * beyond,
                   of_ref=True, ours=ours, theirs=theirs)
