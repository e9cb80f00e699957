#!/usr/bin/env python3
"""Two ranks, the second of which is late before an all-reduce that forward issues and backward waits for.

  subject.py KIND       KIND: work, future, functional, synchronous: what the program waits on
Each rank prints how long its own clock says it was in those waits.
"""
import json
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional

KIND = sys.argv[1]
STEPS = 5
LATE_S = 0.05
waited = 0


def timed(wait):
    global waited
    begun = time.monotonic_ns()
    result = wait()
    waited += time.monotonic_ns() - begun
    return result


def issue(tensor):
    """What is to be called, to have waited."""
    if KIND == "functional":
        pending = functional.all_reduce(tensor, "sum", dist.group.WORLD)
        return lambda: pending.wait() if hasattr(pending, "wait") else functional.wait_tensor(pending)
    if KIND == "synchronous":
        return lambda: dist.all_reduce(tensor)
    work = dist.all_reduce(tensor, async_op=True)
    return work.get_future().wait if KIND == "future" else work.wait


class Exchange(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        if dist.get_rank() == 1:
            time.sleep(LATE_S)
        context.wait = issue(torch.ones(8))
        return x * 2

    @staticmethod
    def backward(context, gradient):
        timed(context.wait)
        return gradient * 2


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    layer = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(STEPS):
        Exchange.apply(layer(torch.ones(4, 8))).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    dist.barrier()
    with open(os.environ["OUT"] + ".%d" % dist.get_rank(), "w") as file:
        json.dump({"waited": waited, "late": STEPS * int(LATE_S * 1e9)}, file)
    dist.destroy_process_group()


main()
