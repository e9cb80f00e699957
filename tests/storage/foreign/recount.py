"""Recounts a Chrome trace from its text alone, by the meaning of the format: recount(bytes) -> Facts.

Nothing here is shared with the product. Durations are nanoseconds; a half rounds up.
"""
import math
from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

from chrome_text import events_of
from facts import Facts
from intervals import use_of_device
from memory import block, peak
from names import COPY, KERNEL, communicates, step_of, without_duration, xla_device
from pairs import KINDS, pairs


def ns(value):
    """Of microseconds; None for what is no number, or beyond any clock."""
    try:
        exact = Decimal(str(value)) * 1000
        rounded = int(exact.quantize(Decimal(1), ROUND_HALF_UP))
    except (InvalidOperation, OverflowError, ValueError):
        return None
    return rounded if abs(rounded) < 1 << 61 else None


def add(table, key, value):
    table[key][0] += 1
    table[key][1] += value


class Recount:
    def __init__(self, events, rejected):
        self.facts = Facts(rejected=rejected)
        self.events = events
        self.steps = defaultdict(list)
        self.memory = defaultdict(list)
        self.marking = set()  # processes that mark steps
        self.calling = set()  # processes that launch work
        self.ran = defaultdict(lambda: ([], []))  # device: ranges of compute, of communication
        self.processes, self.threads = {}, {}

    def run(self):
        for event in self.events:
            args = event.get("args") or {}
            if event.get("ph") == "M" and event.get("name") == "process_name":
                self.processes[str(event.get("pid"))] = str(args.get("name"))
            if event.get("ph") == "M" and event.get("name") == "thread_name":
                self.threads[str(event.get("pid")), str(event.get("tid"))] = str(args.get("name"))
        placed = [(ns(e.get("ts")), e) for e in self.events if e.get("ph") != "M"]
        self.facts.rejected += sum(1 for time, event in placed if time is None)
        placed = self.with_time([(time, event) for time, event in placed if time is not None])
        for time, event in placed:
            self.single(time, event)
        for begin, end, key_of, which in KINDS:
            self.join(*pairs(placed, begin, end, key_of, which))
        self.finish()
        return self.facts

    def with_time(self, placed):
        """Without what stands at 0 in a trace of wall-clock times: the profiler lost its time."""
        day = 86_400 * 10**9
        if not any(time > 10_000 * day for time, _ in placed):
            return placed
        self.facts.rejected += sum(1 for time, _ in placed if time == 0)
        return [(time, event) for time, event in placed if time != 0]

    def single(self, time, event):
        phase, args = event.get("ph"), event.get("args") or {}
        if phase == "X":
            duration = ns(event.get("dur"))
            if duration is None:
                self.facts.rejected += 1
            else:
                self.span(time, max(duration, 0), event, args)
        elif phase == "C":
            self.counter(event, args)
        elif phase in ("i", "I", "R", "n") and event.get("name") == "[memory]":
            if not str(event.get("cat")).startswith("Reserved"):  # of Paddle's allocator, no block
                self.remember(time, *block(args))
        elif phase in ("i", "I", "R", "n", "T", "p"):
            self.facts.instants[str(event.get("name", ""))] += 1
        elif phase in ("s", "t", "f"):
            self.facts.flows[{"s": "start", "t": "step", "f": "end"}[phase]] += 1

    def join(self, found, lost):
        self.facts.rejected += lost
        for (start, first), (time, last) in found:
            self.span(start, time - start, first, {**(first.get("args") or {}), **(last.get("args") or {})})

    def remember(self, time, device, size, total):
        if size:
            self.memory[device].append((time, size, total))
        else:
            self.facts.rejected += 1

    def span(self, time, duration, event, args):
        name, category = without_duration(str(event.get("name", "")), duration), event.get("cat")
        add(self.facts.spans, name, duration)
        device = self.device(event, args, category)
        if "runtime" in str(category):
            self.calling.add(str(event.get("pid")))
        if device is None:
            mark = (0, int(args["step_num"])) if "step_num" in args else step_of(name)
            if mark and "cuda" not in str(category):
                self.steps[mark[0]].append((time, duration))
                self.marking.add(str(event.get("pid")))
        elif category in COPY or name.startswith(("MemcpyH", "MemcpyD", "Memset")):
            add(self.facts.copies, device, duration)
        elif communicates(name) or "Collective name" in args or category == "collective_comm":
            add(self.facts.communication, device, duration)
            self.ran[device][1].append((time, time + duration))
        else:
            add(self.facts.kernels, device, duration)
            self.ran[device][0].append((time, time + duration))

    def device(self, event, args, category):
        """Its number as a text; None of what does not run on a device, or is an annotation of one."""
        if category in KERNEL or category in COPY:
            process = str(event.get("pid"))
            return str(args.get("device", process)) if process.isdigit() else process
        row = self.threads.get((str(event.get("pid")), str(event.get("tid"))), "")
        if self.processes.get(str(event.get("pid"))) == "Ascend Hardware" and "Task Type" in args:
            return "Ascend Hardware"
        number = xla_device(self.processes.get(str(event.get("pid"))))
        return str(number) if number is not None and row.startswith("Stream #") else None

    def counter(self, event, args):
        any_number = False
        for key, value in args.items():
            try:
                number = float(value) if isinstance(value, (int, str, Decimal)) else math.nan
            except (ValueError, OverflowError):
                number = math.nan
            if math.isfinite(number) and not isinstance(value, bool):
                series = (str(event.get("pid")), event.get("name"), str(event.get("id", "")), key)
                add(self.facts.counters, series, number)
                any_number = True
        self.facts.rejected += not any_number

    def finish(self):
        naming = min(self.steps, default=None)
        steps = sorted(self.steps.get(naming, []))
        # Of several processes it is open which of them a rank stands for, and whose steps are its.
        one = len(self.marking | self.calling) < 2
        self.facts.steps = [duration for _, duration in steps] if one else None
        marked = [(begin, begin + duration) for begin, duration in steps]
        self.facts.use = {device: use_of_device(*ran, marked) for device, ran in self.ran.items()} if one else None
        self.facts.peaks = {device: peak(blocks) for device, blocks in self.memory.items()}


def recount(data):
    return Recount(*events_of(data)).run()
