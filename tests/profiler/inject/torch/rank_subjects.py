"""Subjects of two ranks over Gloo: see subjects.py."""
import collections
import hashlib
import time

import torch
import torch.distributed as dist
from subjects import LIGHT, OFF, STEPS, FULL, Call, Small, expect, make_step
from torch import nn


def calls(shim):
    """What was issued, in order, and how each ended: D, F, or None."""
    issued, ends = [], collections.defaultdict(list)
    for e in shim.events():
        if e[0] == "C":
            issued.append(Call(e[4], e[5], e[6], int(e[7]), int(e[8]), *map(int, e[9:13])))
        elif e[0] in "DF":
            ends[int(e[8])].append(e[0])
    for each in issued:
        expect(len(ends[each.number]) <= 1, f"{each} ended {len(ends[each.number])} times")
    return issued, {each.number: (ends[each.number] or [None])[0] for each in issued}


def every_kind(rank):
    """Name, bytes and function of each collective, and whether rank 0 needs the other rank for its end."""
    peer = 1 - rank
    t, pair = torch.full((10,), float(rank + 1)), [torch.zeros(10) for _ in range(2)]
    wide, halves = torch.zeros(20), [torch.full((10,), 1.0), torch.full((10,), 2.0)]
    root = rank == 0
    start = [
        ("allreduce_", 40, lambda: dist.all_reduce(t, async_op=True), True),
        ("broadcast_", 40, lambda: dist.broadcast(t, 0, async_op=True), False),
        ("reduce_", 40, lambda: dist.reduce(t, 1, async_op=True), False),
        ("allgather_", 80, lambda: dist.all_gather(pair, t, async_op=True), True),
        ("_allgather_base_", 80, lambda: dist.all_gather_into_tensor(wide, t, async_op=True), True),
        ("gather_", 80, lambda: dist.gather(t, pair if root else None, async_op=True), True),
        ("scatter_", 80, lambda: dist.scatter(t, pair if root else None, async_op=True), False),
        ("reduce_scatter_", 80, lambda: dist.reduce_scatter(t, halves, async_op=True), True),
        ("_reduce_scatter_base_", 80, lambda: dist.reduce_scatter_tensor(t, wide, async_op=True), True),
        ("alltoall_base_", 80, lambda: dist.all_to_all_single(wide, torch.cat(halves), async_op=True), True),
        ("alltoall_", 80, lambda: dist.all_to_all(pair, halves, async_op=True), True),
        ("allreduce_coalesced_", 120, lambda: dist.all_reduce_coalesced([t, wide], async_op=True), True),
        ("barrier", 0, lambda: dist.barrier(async_op=True), True),
        ("send" if root else "recv_", 40, lambda: dist.isend(t, peer) if root else dist.irecv(t, peer), False),
        ("recv_" if root else "send", 40, lambda: dist.irecv(t, peer) if root else dist.isend(t, peer), True),
        ("recv_any_source_" if root else "send", 40,
         lambda: dist.irecv(t) if root else dist.isend(t, peer), True),
        ("monitored_barrier_", 0, dist.monitored_barrier, False),
    ]
    yield from start
    print(f"result: {t.tolist()} {wide.tolist()}", flush=True)


def begin_ranks():
    dist.init_process_group("gloo")
    return dist.get_rank()


def collectives(shim, level=FULL):
    rank = begin_ranks()
    shim.level(level)
    dist.barrier()
    shim.fake.fake_clear()
    expected, refused = [], set()
    for name, size, start, _ in every_kind(rank):
        expected.append((name, size))
        try:
            work = start()
            if work is not None:
                work.wait()
        except (RuntimeError, ValueError) as refusal:
            expect("support" in str(refusal) or "implemented" in str(refusal), f"{name}: {refusal}")
            refused.add(name)
    group = dist.new_group([0, 1])
    from torch.distributed import _functional_collectives
    value = _functional_collectives.all_reduce(torch.ones(5, dtype=torch.float64), "sum", group) + 0
    expect(value.tolist() == [2.0] * 5, "a functional collective is wrong")
    shim.level(OFF)
    if shim.loaded:
        issued, ends = calls(shim)
        plain = [each for each in issued if each.group != issued[-1].group]
        # new_group() itself gathers or waits, as the version has it.
        expect([(c.operation, c.bytes) for c in plain][:len(expected)] == expected,
               f"issued {[(c.operation, c.bytes) for c in plain]}, expected {expected}")
        last = issued[-1]
        expect((last.operation, last.bytes, last.dtype) == ("allreduce_", 40, 7), f"the functional one is {last}")
        for each in issued:
            want = "F" if each.operation in refused else "D"
            expect(ends[each.number] == want, f"{each} ended with {ends[each.number]}, not {want}")
            expect((each.backend, each.rank, each.size) == ("gloo", rank, 2), f"place of {each}")
            expect(each.peer == (1 - rank if each.operation in ("send", "recv_") else -1), f"peer of {each}")
    shim.balanced()
    dist.destroy_process_group()


def collectives_steps(shim):
    collectives(shim, STEPS)


def delayed(shim):
    """A collective ends when it has ended, not when it was asked for."""
    rank = begin_ranks()
    seen = 0
    for level in (STEPS, LIGHT, FULL):
        for name, _, start, waits in every_kind(rank):
            if not waits:
                continue
            dist.monitored_barrier()
            shim.level(level)
            shim.fake.fake_clear()
            if rank == 1:
                time.sleep(0.1)
            try:
                work = start()
            except (RuntimeError, ValueError):  # not of this backend
                shim.level(OFF)
                continue
            if rank == 0 and shim.loaded:
                _, ends = calls(shim)
                expect(set(ends.values()) == {None}, f"{name} at level {level} ended before the other rank began")
                seen += 1
            work.wait()
            if shim.loaded:
                issued, ends = calls(shim)
                expect(set(ends.values()) == {"D"}, f"{name} at level {level}: {issued}, ends {ends}")
            shim.level(OFF)
    expect(rank == 1 or not shim.loaded or seen > 20, f"only {seen} were looked at")
    dist.destroy_process_group()


def digest(model):
    total = hashlib.sha256()
    for each in model.parameters():
        each = each.detach()
        total.update((each.to_local() if hasattr(each, "to_local") else each).contiguous().numpy().tobytes())
    return total.hexdigest()[:16]


def train(shim, wrap):
    rank = begin_ranks()
    torch.manual_seed(0)
    model = wrap(Small())
    step = make_step(model)
    per_step, sequences = [], []
    for at, level in enumerate((OFF, OFF, STEPS, LIGHT, FULL, FULL)):
        shim.level(level)
        shim.fake.fake_clear()
        step(3 * at + rank)
        dist.barrier()
        shim.level(OFF)
        if shim.loaded:
            issued, ends = calls(shim)
            expect(set(ends.values()) <= {"D"}, f"ends at level {level}: {ends}")
            per_step.append(issued)
            sequences.append([(c.operation, c.group, c.bytes, c.dtype) for c in issued])
            shim.balanced()
    print(f"result: {rank} {digest(model)}", flush=True)
    if shim.loaded:
        everyones = [None, None]
        dist.all_gather_object(everyones, sequences)
        expect(everyones[0] == everyones[1], f"the ranks' collectives differ: {everyones}")
        expect(not sequences[0] and not sequences[1], "there are collectives at level off")
        expect(len(sequences[2]) > 1 and all(each == sequences[2] for each in sequences[2:]),
               f"collectives differ from step to step: {sequences}")
    dist.destroy_process_group()
    return model, per_step


def ddp(shim):
    def wrap(model):
        return nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=False)
    model, per_step = train(shim, wrap)
    # Two forwards per step, one reduction of all gradients.
    grads = sum(each.numel() * 4 for each in model.parameters())
    for issued in per_step[2:]:
        found = sum(c.bytes for c in issued if c.operation == "allreduce_")
        expect(found == grads, f"{found} bytes were reduced, gradients have {grads}")


def fsdp2(shim):
    try:
        from torch.distributed.fsdp import fully_shard
    except ImportError:
        print("not tested: this version has no torch.distributed.fsdp.fully_shard")
        return

    def wrap(model):
        for each in model.layers:
            fully_shard(each)
        return fully_shard(model)
    _, per_step = train(shim, wrap)
    names = {c.operation for issued in per_step for c in issued}
    if per_step:
        expect("_allgather_base_" in names and any("reduce_scatter" in each for each in names),
               f"only {names}")
