"""Folded stacks and memory snapshots, and what they hold: (Form, Facts)."""
import pickle

from facts import Facts
from form import Form, packed
from recount import add

STACKS = [("main;train;forward", 7), ("main;train;backward", 11), ("main;data", 3), ("main;train;forward;gemm", 5),
          ("other thread", 2), ("main;train", 4)]


def tree(stacks):
    """A node for each different front of a stack, as long as all samples below it."""
    nodes = {}
    for stack, count in stacks:
        frames = [f for f in stack.split(";") if f]
        for depth in range(1, len(frames) + 1):
            nodes[tuple(frames[:depth])] = nodes.get(tuple(frames[:depth]), 0) + count
    facts = Facts()
    for node, total in nodes.items():
        add(facts.spans, node[-1], total)
    return facts


def lines(stacks, between=" ", end="\n"):
    return "".join(f"{stack}{between}{count}{end}" for stack, count in stacks).encode()


def folded():
    odd = [("thread (12): MainThread;<module> (a b.py:3);f (a b.py:9)", 4), ("[unknown];std::map<int, int>::at(int)", 6)]
    for name, data, stacks in (
            ("folded", lines(STACKS), STACKS), ("folded_crlf", lines(STACKS, end="\r\n"), STACKS),
            ("folded_tab", lines(STACKS, "\t"), STACKS), ("folded_gzip", packed(lines(STACKS)), STACKS),
            ("folded_twice", lines(STACKS + STACKS), STACKS + STACKS),
            ("folded_blanks_in_names", lines(odd), odd), ("folded_no_last_end", lines(STACKS)[:-1], STACKS),
            ("folded_empty_lines", lines(STACKS, end="\n\n"), STACKS),
            ("folded_empty_frames", lines([(s.replace(";", ";;") + ";", c) for s, c in STACKS]), STACKS)):
        yield Form(name, data, ending=".folded"), tree(stacks)


def snapshot(device, events, before=0):
    """Blocks of `events` (address, size; a negative size frees), and one of `before` bytes that outlives them."""
    base, trace, live = 0x700000000000 + device * (1 << 40), [], {}
    for i, (address, size) in enumerate(events):
        trace.append({"action": "alloc" if size > 0 else "free_completed", "addr": base + address, "size": abs(size),
                      "stream": 0, "time_us": 1700000000000000 + i * 10, "frames": [
                          {"name": f"f{i % 3}", "filename": "/a.py", "line": 4}]})
        live[address] = size
    blocks = [{"address": base + a, "size": s, "requested_size": s, "state": "active_allocated", "frames": []}
              for a, s in sorted({**live, **({1 << 30: before} if before else {})}.items()) if s > 0]
    total = sum(b["size"] for b in blocks)
    segment = {"device": device, "address": base, "total_size": 1 << 31, "stream": 0, "segment_type": "large",
               "allocated_size": total, "active_size": total, "blocks": blocks, "frames": []}
    held = peak = before
    for _, size in events:
        held += size
        peak = max(peak, held)
    return trace, segment, peak


def snapshots():
    one = [(0, 1000), (4096, 500), (0, -1000), (8192, 2500), (4096, -500), (0, 64)]
    two = [(0, 7000), (0, -7000), (64, 100)]
    trace, segment, peak = snapshot(0, one)
    facts = Facts(instants=None, peaks={"0": peak})
    for protocol in range(6):
        whole = {"segments": [segment], "device_traces": [trace], "allocator_settings": {"expandable": False}}
        yield Form(f"snapshot_protocol_{protocol}", pickle.dumps(whole, protocol), ending=".pickle"), facts
    held, with_block, high = snapshot(0, one, 9000)
    yield (Form("snapshot_block_before", pickle.dumps({"segments": [with_block], "device_traces": [held]}),
                ending=".pickle"), Facts(instants=None, peaks={"0": high}))
    second, segment_2, peak_2 = snapshot(1, two)
    yield (Form("snapshot_two_devices", pickle.dumps({"segments": [segment, segment_2], "device_traces": [trace, second]}),
                ending=".pickle"), Facts(instants=None, peaks={"0": peak, "1": peak_2}))
    yield (Form("snapshot_second_device", pickle.dumps({"segments": [segment_2], "device_traces": [[], second]}),
                ending=".pickle"), Facts(instants=None, peaks={"1": peak_2}))


def others():
    yield from folded()
    yield from snapshots()
