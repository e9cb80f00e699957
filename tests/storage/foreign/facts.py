"""What is counted of a trace. Durations are nanoseconds."""
from collections import Counter, defaultdict
from dataclasses import dataclass, field


def sums():
    return defaultdict(lambda: [0, 0])


@dataclass
class Facts:
    spans: dict = field(default_factory=sums)           # name: [count, ns]
    kernels: dict = field(default_factory=sums)         # device: [count, ns]
    communication: dict = field(default_factory=sums)   # device: [count, ns]
    copies: dict = field(default_factory=sums)          # device: [count, ns]
    steps: list = field(default_factory=list)           # ns of each, in order of time; None: ambiguous
    instants: Counter = field(default_factory=Counter)  # name: count
    counters: dict = field(default_factory=sums)        # series: [count, sum]
    peaks: dict = field(default_factory=dict)           # device or "host": bytes
    flows: Counter = field(default_factory=Counter)     # start, step, end: count
    use: dict = field(default_factory=dict)             # device: see use_of_device, or None
    rejected: int = 0                                   # events that no reader can place
    time_of_ranks: dict = field(default_factory=dict)   # of all spans; of the product alone
