"""Runs the checks one after the other; none of them can stop the others."""
from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

from . import checks_agreement, checks_correct, checks_cost, checks_machine, checks_speed
from .commands import USED_UP
from .results import FAIL, SKIP, Failed, Result, Skipped, unjudged


@dataclasses.dataclass
class Check:
    name: str
    usual: float  # seconds, estimated: with fewer left it is not begun
    most: float   # seconds after which it is ended
    run: Callable

    @property
    def about(self) -> str:
        return (self.run.__doc__ or "").strip()


# What must be known comes first. All that is usual leaves a margin of the time for all; not every
# check can take the most it may. A start of a rank takes 5 to 8 s: libraries, driver, NCCL, cuDNN.
CHECKS = [
    Check("libraries", 15, 90, checks_machine.libraries),
    Check("doctor", 6, 30, checks_correct.doctor),
    Check("gpu-tests", 20, 60, checks_correct.gpu_tests),
    Check("verify", 38, 80, checks_correct.verify),
    Check("completeness", 13, 35, checks_correct.completeness),
    Check("kernels-launched", 2, 15, checks_correct.launched),
    Check("bytes", 1, 5, checks_cost.size),
    Check("stop", 1, 5, checks_cost.stop),
    Check("speed", 38, 80, checks_speed.ref_speed),
    Check("kineto", 45, 90, checks_agreement.kineto),
    Check("two-processes", 20, 50, checks_correct.two_processes),
    Check("hta", 3, 15, checks_agreement.hta),
    Check("cost", 50, 120, checks_cost.step_cost),
    Check("idle", 42, 80, checks_cost.idle),
    Check("graphs", 20, 60, checks_speed.graphs),
    Check("peers", 85, 150, checks_speed.peers),
]


PATIENCE = 20  # times the most, where a CPU stands for the device


def run_check(check, session):
    """Its results; an exception becomes one more, and what came before it stays."""
    session.check_name = check.name
    session.check_end = time.monotonic() + check.most * (PATIENCE if session.tiny else 1)
    results = []
    if session.end - time.monotonic() < check.usual:
        return [Result(check.name, None, status=SKIP, reason=USED_UP)]
    try:
        for result in check.run(session):
            results.append(unjudged(result) if session.tiny else result)
    except Skipped as reason:
        results.append(Result(check.name, None, status=SKIP, reason=str(reason)))
    except Failed as reason:
        results.append(Result(check.name, None, status=FAIL, reason=str(reason)))
    except Exception as error:  # a check's own mistake is its failure, not everybody's
        results.append(Result(check.name, None, status=FAIL,
                              reason=f"{type(error).__name__}: {error}"))
    return results


def run_all(checks, session, tell=lambda text, results: None, without=()):
    """`tell` is called after each check, with all results so far."""
    results = []
    for check in checks:
        began = time.monotonic()
        if check.name in without:
            found = [Result(check.name, None, status=SKIP, reason="left out by --without")]
        else:
            found = run_check(check, session)
        results += found
        words = ", ".join(f"{r.name} {r.status}" for r in found)
        tell(f"[{time.monotonic() - session.started:5.0f} s] {check.name} "
             f"({time.monotonic() - began:.0f} s): {words}", results)
    return results
