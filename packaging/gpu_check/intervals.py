"""Unions of half-open intervals, in the time unit of the caller.

HTA's definitions (hta/analyzers/communication_analysis.py): compute and communication are unions
of kernel intervals of one rank; the overlap is the share of communication that compute hides.
"""
from __future__ import annotations

import re

# HTA's classes: communication by name, memory operations in neither.
COMMUNICATION = re.compile(r"^nccl|^hip|^hccl|ncclKernel")
MEMORY = re.compile(r"^mem(cpy|set)|^dma|^copy |^set ", re.IGNORECASE)


def union(intervals):
    """Sorted, disjoint; touching ones become one."""
    merged = []
    for start, end in sorted(i for i in intervals if i[1] > i[0]):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return [tuple(i) for i in merged]


def length(intervals):
    return sum(end - start for start, end in intervals)


def intersection(a, b):
    """Of two unions."""
    found, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        start, end = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if start < end:
            found.append((start, end))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return found


def difference(a, b):
    """What of the union `a` is not in the union `b`."""
    if not a:
        return []
    edges = [a[0][0], *(edge for interval in b for edge in interval), a[-1][1]]
    return intersection(a, union(zip(edges[::2], edges[1::2])))


def classes(kernels):
    """(name, start, end) -> unions of compute and of communication kernels."""
    compute, communication = [], []
    for name, start, end in kernels:
        if COMMUNICATION.search(name):
            communication.append((start, end))
        elif not MEMORY.search(name):
            compute.append((start, end))
    return union(compute), union(communication)


def overlap(kernels, within=None):
    """HTA's ratio, of the union `within` where it is given. None without communication."""
    compute, communication = classes(kernels)
    if within is not None:
        communication = intersection(communication, within)
    total = length(communication)
    return length(intersection(compute, communication)) / total if total else None
