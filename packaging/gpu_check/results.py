"""One line of the table each: what was measured, what it should be, and whether it is."""
from __future__ import annotations

import dataclasses

PASS, FAIL, SKIP, INFO = "pass", "fail", "skip", "info"
UNJUDGED = "tiny model: not judged"


class Skipped(Exception):
    """A check cannot be made here; the text says why."""


class Failed(Exception):
    """A check could not be finished; the text says why."""


@dataclasses.dataclass
class Result:
    name: str
    value: float | int | str | None
    unit: str = ""
    goal: str = ""
    status: str = INFO
    reason: str = ""
    details: dict = dataclasses.field(default_factory=dict)
    of_ref: bool = False  # the goal is one for REF on a real device


def at_most(name, value, limit, unit="", reason="", of_ref=False, **details):
    return _judged(name, value, unit, f"<= {limit:g}", value <= limit, reason, details, of_ref)


def at_least(name, value, limit, unit="", reason="", of_ref=False, **details):
    return _judged(name, value, unit, f">= {limit:g}", value >= limit, reason, details, of_ref)


def equal(name, value, wanted, unit="", reason="", **details):
    return _judged(name, value, unit, f"= {wanted}", value == wanted, reason, details)


def info(name, value, unit="", reason="", **details):
    return Result(name, value, unit, "", INFO, reason, details)


def _judged(name, value, unit, goal, good, reason, details, of_ref=False):
    return Result(name, value, unit, goal, PASS if good else FAIL, reason, details, of_ref)


def unjudged(result):
    """As it is for a model that the goal is not for."""
    if not result.of_ref or result.status not in (PASS, FAIL, SKIP):
        return result
    return dataclasses.replace(result, status=INFO, goal="", reason=UNJUDGED)


def _text(value) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.5g}" if abs(value) < 1e5 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def table(results) -> str:
    rows = [("", "check", "value", "unit", "goal", "remark")]
    rows += [(r.status, r.name, _text(r.value), r.unit, r.goal, r.reason) for r in results]
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    lines = []
    for row in rows:
        cells = [row[i].rjust(widths[i]) if i == 2 else row[i].ljust(widths[i]) for i in range(5)]
        lines.append(("  ".join(cells) + "  " + row[5]).rstrip())
    return "\n".join(lines)


def summary(results) -> str:
    count = {status: sum(r.status == status for r in results) for status in (PASS, FAIL, SKIP)}
    return f"{count[PASS]} passed, {count[FAIL]} failed, {count[SKIP]} skipped"
