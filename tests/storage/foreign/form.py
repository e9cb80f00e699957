"""A trace as some tool writes it, and how events of one are written."""
import gzip
import json
import random
from dataclasses import dataclass

RANDOM = random.Random(45)


@dataclass
class Form:
    name: str
    data: bytes
    whole: bytes = None   # what counts, where data is damaged or written in a way of its own
    rejected: int = 0     # elements that cannot count
    refused: str = None   # a word of the refusal, where nothing can be imported
    ending: str = ".json"

    def counted(self):
        return self.data if self.whole is None else self.whole


def X(name, ts, dur, cat=None, pid=10, tid=11, args=None, **more):
    event = {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur}
    event.update({"cat": cat} if cat else {})
    event.update({"args": args} if args is not None else {})
    return {**event, **more}


def P(phase, name, ts, pid=10, tid=11, **more):
    return {"ph": phase, "name": name, "pid": pid, "tid": tid, "ts": ts, **more}


def M(kind, pid, value, tid=0, key="name"):
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {key: value}}


def gpu(name, ts, dur, device=0, stream=7, correlation=0, cat="kernel", **args):
    own = {"device": device, "stream": stream, **args}
    own.update({"correlation": correlation} if correlation else {})
    return X(name, ts, dur, cat, device, stream, own)


def launch(ts, correlation, pid=10, tid=11, name="cudaLaunchKernel", cat="cuda_runtime"):
    return X(name, ts, 2, cat, pid, tid, {"correlation": correlation})


def text(events, indent=None, **top):
    return json.dumps({**top, "traceEvents": events}, indent=indent, ensure_ascii=False).encode()


def array(events):
    return json.dumps(events).encode()


def packed(data):
    return gzip.compress(data, mtime=0)


def work(count=12, start=0, pid=10, tid=11, cat="cpu_op"):
    """Operators one behind the other, of lengths that only their sum would not give away."""
    events, at = [], start
    for i in range(count):
        dur = RANDOM.randint(1, 40) + RANDOM.randint(0, 999) / 1000
        events.append(X(f"aten::op{i % 5}", round(at, 3), round(dur, 3), cat, pid, tid))
        at += dur + RANDOM.randint(0, 5)
    return events


def training(steps=3, device=0, pid=10, first=0, start=0, correlation=1):
    """Steps of 1000 us: two kernels, a collective and a copy each, all launched."""
    events = []
    for i in range(steps):
        at = start + i * 1000
        events.append(X(f"ProfilerStep#{first + i}", at, 990, "user_annotation", pid, pid + 1))
        for n, (name, cat, dur) in enumerate((
                ("void gemm<float>(int)", "kernel", 100), ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "kernel", 40),
                ("void add<float>(int)", "kernel", 11.125), ("Memcpy HtoD (Pinned -> Device)", "gpu_memcpy", 5.5))):
            number = correlation + i * 4 + n
            events.append(launch(at + 10 + 20 * n, number, pid, pid + 1))
            stream = 20 if n == 1 else 7
            events.append(gpu(name, at + 30 + 150 * n, dur, device, stream, number, cat))
            events.append(P("s", "ac2g", at + 10 + 20 * n, pid, pid + 1, id=number, cat="ac2g"))
            events.append(P("f", "ac2g", at + 30 + 150 * n, device, stream, id=number, cat="ac2g", bp="e"))
    return events
