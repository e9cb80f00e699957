#!/usr/bin/env python3
"""Times collectives of torch.distributed over Gloo, as `shardscope bench comm` times its own.

  torch_collectives.py --ranks 2 --operations all-reduce,all-gather --bytes 1000000,4000000 \\
      --rounds 5 --warmup 1 --threads 1

Starts its ranks itself. Every round begins with a barrier that does not count; its time is from
the last rank's start to the last rank's end, on the clock that all processes of a host share.
Payloads are fp32, sizes whole payloads. Prints one JSON document: the version, and of each
operation and size the nanoseconds of its rounds. Exit status 3: there is no torch.distributed.
"""
import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time

RANK, PORT = "SHARDSCOPE_PEER_RANK", "SHARDSCOPE_PEER_PORT"


def operation(dist, torch, name, payload, ranks):
    """What a round calls; all memory is there before."""
    result = torch.empty_like(payload)
    part = payload.numel() // ranks
    shard = payload[:part]
    if name == "all-reduce":
        return lambda: dist.all_reduce(payload)
    if name == "all-gather":
        return lambda: dist.all_gather_into_tensor(result, shard)
    if name == "broadcast":
        return lambda: dist.broadcast(payload, 0)
    if name == "reduce-scatter":
        return lambda: dist.reduce_scatter_tensor(result[:part], payload)
    if name == "all-to-all":
        return lambda: dist.all_to_all_single(result, payload)
    raise ValueError(f"{name} is no operation that can be timed")


def times(dist, torch, run, rounds, ranks):
    """Of each round, by rank 0."""
    found = []
    for _ in range(rounds):
        dist.barrier()
        start = time.monotonic_ns()
        run()
        own = torch.tensor([start, time.monotonic_ns()], dtype=torch.int64)
        every = [torch.zeros(2, dtype=torch.int64) for _ in range(ranks)]
        dist.all_gather(every, own)
        found.append(int(max(e[1] for e in every) - max(e[0] for e in every)))
    return found


def measured(dist, torch, args, name, size):
    row = 4 * args.ranks
    payload = torch.ones(max(1, size // row) * args.ranks)
    entry = {"operation": name, "bytes": payload.numel() * 4}
    try:
        run = operation(dist, torch, name, payload, args.ranks)
        times(dist, torch, run, args.warmup, args.ranks)
        entry["ns"] = times(dist, torch, run, args.rounds, args.ranks)
    except (RuntimeError, ValueError, AttributeError) as error:  # Gloo lacks some in some versions
        entry["missing"] = str(error).splitlines()[0]
    return entry


def rank(args):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(args.threads)
    number = int(os.environ[RANK])
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{os.environ[PORT]}",
                            rank=number, world_size=args.ranks)
    rows = [measured(dist, torch, args, name, int(size))
            for name in args.operations.split(",") for size in args.bytes.split(",")]
    if number == 0:
        print(json.dumps({"torch": torch.__version__, "ranks": args.ranks, "rows": rows}))
    dist.barrier()
    dist.destroy_process_group()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(args):
    """Rank 0's output is ours; a rank that fails ends the others, and so does who ends us."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    port = str(free_port())
    ranks = [subprocess.Popen([sys.executable, os.path.abspath(__file__), *sys.argv[1:]],
                              env={**os.environ, RANK: str(number), PORT: port},
                              stdout=None if number == 0 else subprocess.DEVNULL)
             for number in range(args.ranks)]
    try:
        while any(each.poll() is None for each in ranks):
            if any(each.poll() for each in ranks):
                break
            time.sleep(0.05)
    finally:
        for each in ranks:
            if each.poll() is None:
                each.kill()
            each.wait()
    return next((each.returncode for each in ranks if each.returncode), 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--operations", required=True)
    parser.add_argument("--bytes", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    if RANK in os.environ:
        rank(args)
        return 0
    try:
        import torch.distributed as dist
    except ImportError as error:
        print(f"no torch.distributed in {sys.executable}: {error}", file=sys.stderr)
        return 3
    if not dist.is_available() or not dist.is_gloo_available():
        print(f"torch.distributed in {sys.executable} has no Gloo", file=sys.stderr)
        return 3
    return start(args)


if __name__ == "__main__":
    sys.exit(main())
