"""Tokens a second and MFU of REF, beside PyTorch in the same run."""
from __future__ import annotations

import sys

from . import workloads
from .results import FAIL, INFO, PASS, Failed, Result, Skipped, at_least, info

# name: batch, micro-steps, precision
VARIANTS = {"micro-4": (4, 8, "bf16"), "fused-32": (32, 1, "bf16"), "tf32": (4, 8, "tf32")}
MFU_GOALS = {"micro-4": 0.45, "fused-32": 0.55}
PEER_GOALS = {"single": ("eager", 1.5), "compile": ("compile", 1.1)}


def _ours(session, name):
    batch, accumulate, precision = VARIANTS[name]
    arguments = [*workloads.DEVICE, "--model", "ref", "--precision", precision, "--strategy",
                 "single", "--ranks", "1", "--batch", str(batch), "--accumulate", str(accumulate),
                 *workloads.LEVELS["never"], "--steps", "25"]
    return session.report(session.shared_recording(f"speed-{name}", arguments))


def ref_speed(session):
    """tokens a second and MFU of the engine"""
    for name, (batch, accumulate, precision) in VARIANTS.items():
        report = _ours(session, name)
        tokens, mfu = report["throughput"]["tokens_per_s"], report["mfu"]
        yield info(f"ref-{name}", tokens, "tokens/s", f"{precision}, {batch} x {accumulate}")
        goal, value = MFU_GOALS.get(name), mfu["value"]
        status = INFO if goal is None else PASS if value is not None and value >= goal else FAIL
        yield Result(f"ref-{name}-mfu", value, mfu["variant"], "" if goal is None else f">= {goal}",
                     status, mfu["reason"] or mfu["peak_source"], {"peak_flops": mfu["peak_flops"]})


def peers(session):
    """the same model in PyTorch, eager and compiled"""
    if session.peers is None or not (session.peers / "bench_peer.py").exists():
        raise Skipped("bench_peer.py was not found; name its folder with --peers")
    if session.torch is None:
        raise Skipped("this Python has no torch")
    batch, accumulate, _ = VARIANTS["micro-4"]
    ours = _ours(session, "micro-4")["throughput"]["tokens_per_s"]
    if not ours:
        raise Failed("the engine's run has no tokens/s to compare with")
    for strategy, (name, goal) in PEER_GOALS.items():
        peer = session.json(
            [sys.executable, session.peers / "bench_peer.py", "--config", "ref", "--strategy",
             strategy, "--device", "cuda", "--dtype", "bf16", "--batch", batch, "--accumulate",
             accumulate, "--steps", 20])
        yield info(f"pytorch-{name}", peer["tokens_per_s"], "tokens/s", peer["peer"],
                   peak_bytes=peer["peak_bytes"])
        yield at_least(f"ref-against-{name}", ours / peer["tokens_per_s"], goal, "x",
                       f"ours {ours:,.0f} tokens/s")
