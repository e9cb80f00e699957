"""Tokens a second and MFU of REF, beside PyTorch in the same run."""
from __future__ import annotations

import statistics
import sys

from . import queries, workloads
from .repeats import spread
from .results import (FAIL, INFO, PASS, Failed, Result, Skipped, at_least, at_most, equal,
                      info)

# name: batch, micro-steps, precision
VARIANTS = {"micro-4": (4, 8, "bf16"), "fused-32": (32, 1, "bf16"), "tf32": (4, 8, "tf32")}
MFU_GOALS = {"micro-4": 0.45, "fused-32": 0.55}
EAGER_GOAL, COMPILE_GOAL = 1.5, 1.1
# A loss in parts of itself: cuBLAS has another workspace inside a graph and may choose other
# kernels, which bf16 shows in its third digit.
LOSS_WITHIN = 2e-3


def arguments(session, name, level="untraced"):
    batch, accumulate, precision = VARIANTS[name]
    return workloads.single(session, level, 25, batch, accumulate, precision,
                            calibrate=level == "untraced")


def _ours(session, name):
    return session.report(session.shared_recording(f"speed-{name}", arguments(session, name)))


def _mfu(name, report, goal):
    mfu = report["mfu"]
    status = INFO if goal is None else PASS if (mfu["value"] or 0) >= goal else FAIL
    return Result(name, mfu["value"], mfu["variant"], "" if goal is None else f">= {goal}", status,
                  mfu["reason"] or mfu["peak_source"], {"peak_flops": mfu["peak_flops"]},
                  of_ref=True)


def ref_speed(session):
    """tokens a second and MFU of the engine"""
    for name, (batch, accumulate, precision) in VARIANTS.items():
        report = _ours(session, name)
        yield info(f"ref-{name}", report["throughput"]["tokens_per_s"], "tokens/s",
                   f"{precision}, {batch} x {accumulate}")
        yield _mfu(f"ref-{name}-mfu", report, MFU_GOALS.get(name))


def _losses(session, recording):
    return [float(value) for value, in session.query(recording, queries.LOSSES)
            if value is not None]


def graphs(session):
    """micro-steps as CUDA graphs against launches one by one"""
    made = arguments(session, "micro-4")
    without = session.shared_recording("speed-micro-4", made)
    captured = session.record("speed-graphs", [*made, "--graphs", *session.attention(without)])
    losses = [_losses(session, recording) for recording in (without, captured)]
    yield equal("graphs-steps", len(losses[1]), len(losses[0]), "steps")
    if not losses[0] or len(losses[0]) != len(losses[1]):
        raise Failed("the losses of the two runs cannot be compared")
    apart = max(abs(ours / other - 1) for other, ours in zip(*losses))
    yield at_most("graphs-loss", apart, LOSS_WITHIN, "x", "largest difference of a step's loss, in "
                  "parts of it", without=losses[0], captured=losses[1])
    traced = session.record("graphs-traced", [*arguments(session, "micro-4", "full"), "--graphs",
                                              *session.attention(without)])
    reports = [session.report(recording) for recording in (without, captured, traced)]
    speeds = [report["throughput"]["tokens_per_s"] for report in reports]
    if not all(speeds):
        raise Failed("one of the runs has no tokens/s")
    yield info("graphs-speed", speeds[1] / speeds[0], "x",
               f"{speeds[1]:,.0f} tokens/s, {speeds[0]:,.0f} without", tokens_per_s=speeds)
    yield _mfu("graphs-mfu", reports[1], MFU_GOALS["micro-4"])
    yield info("graphs-cost-full", speeds[1] / speeds[2], "x",
               f"{speeds[2]:,.0f} tokens/s with everything recorded")


def _peer(session, strategy):
    batch, accumulate, _ = VARIANTS["micro-4"]
    return session.json(
        [sys.executable, session.peers / "bench_peer.py", "--config",
         "tiny" if session.tiny else "ref", "--strategy", strategy, "--device", "cuda", "--dtype",
         "bf16", "--batch", batch, "--accumulate", accumulate, "--steps", 20], ours=False)


def _compared(peer, ours, name, goal):
    speed = statistics.mean(ours)
    yield info(f"pytorch-{name}", peer["tokens_per_s"], "tokens/s", peer["peer"],
               peak_bytes=peer["peak_bytes"])
    yield at_least(f"ref-against-{name}", speed / peer["tokens_per_s"], goal, "x",
                   f"ours {speed:,.0f} tokens/s, runs differ by {100 * spread(ours):.1f} %",
                   of_ref=True, ours=ours)


def peers(session):
    """the same model in PyTorch, eager and compiled"""
    if session.peers is None or not (session.peers / "bench_peer.py").exists():
        raise Skipped("bench_peer.py was not found; name its folder with --peers")
    if session.torch is None:
        raise Skipped("this Python has no torch")
    before = _ours(session, "micro-4")
    eager = _peer(session, "single")
    after = session.report(session.record("speed-again", arguments(session, "micro-4")))
    ours = [report["throughput"]["tokens_per_s"] for report in (before, after)]
    if not all(ours):
        raise Failed("the engine's run has no tokens/s to compare with")
    yield from _compared(eager, ours, "eager", EAGER_GOAL)
    try:
        compiled = _peer(session, "compile")
    except Failed as reason:  # it needs a C compiler and Python's headers
        raise Skipped(f"PyTorch could not compile the model: {reason}")
    yield from _compared(compiled, ours, "compile", COMPILE_GOAL)
