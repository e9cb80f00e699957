"""Runs the checks one after the other; none of them can stop the others."""
from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

from . import checks_agreement, checks_correct, checks_cost, checks_speed
from .results import FAIL, SKIP, Failed, Result, Skipped


@dataclasses.dataclass
class Check:
    name: str
    seconds: float  # at most
    run: Callable

    @property
    def about(self) -> str:
        return (self.run.__doc__ or "").strip()


# What must be known comes first; the sum is what the whole may take.
CHECKS = [
    Check("doctor", 15, checks_correct.doctor),
    Check("gpu-tests", 45, checks_correct.gpu_tests),
    Check("verify", 45, checks_correct.verify),
    Check("completeness", 25, checks_correct.completeness),
    Check("kernels-launched", 10, checks_correct.launched),
    Check("bytes", 5, checks_cost.size),
    Check("stop", 20, checks_cost.stop),
    Check("speed", 50, checks_speed.ref_speed),
    Check("kineto", 40, checks_agreement.kineto),
    Check("two-processes", 25, checks_correct.two_processes),
    Check("hta", 5, checks_agreement.hta),
    Check("alternating", 20, checks_cost.alternating),
    Check("cost", 125, checks_cost.step_cost),
    Check("peers", 90, checks_speed.peers),
]


def run_check(check, session):
    """Its results; an exception becomes one more, and what came before it stays."""
    session.check_name = check.name
    session.check_end = time.monotonic() + check.seconds
    results = []
    if session.left() < min(2.0, check.seconds):
        return [Result(check.name, None, status=SKIP, reason="the time for all checks is used up")]
    try:
        for result in check.run(session):
            results.append(result)
    except Skipped as reason:
        results.append(Result(check.name, None, status=SKIP, reason=str(reason)))
    except Failed as reason:
        results.append(Result(check.name, None, status=FAIL, reason=str(reason)))
    except Exception as error:  # a check's own mistake is its failure, not everybody's
        results.append(Result(check.name, None, status=FAIL,
                              reason=f"{type(error).__name__}: {error}"))
    return results


def run_all(checks, session, tell=lambda text: None):
    results = []
    for check in checks:
        began = time.monotonic()
        found = run_check(check, session)
        results += found
        words = ", ".join(f"{r.name} {r.status}" for r in found)
        tell(f"[{time.monotonic() - session.started:5.0f} s] {check.name} "
             f"({time.monotonic() - began:.0f} s): {words}")
    return results
