"""What the product makes of a trace, asked with its own commands."""
import json
import subprocess
from collections import Counter
from dataclasses import dataclass, field

from facts import Facts, sums

GROUPS = ("SELECT kind, rank, lane, name, role, correlation<>0, point, count(*), total(duration_ns), total(value)"
          " FROM events GROUP BY kind, rank, lane, name, role, correlation<>0, point")


@dataclass
class Imported:
    status: int
    message: str
    account: dict = field(default_factory=dict)
    facts: Facts = None

    @property
    def rejected(self):
        return self.account["events"]["rejected"]


def ask(program, *words):
    answer = subprocess.run([program, *words], capture_output=True, text=True, errors="replace", check=True)
    return json.loads(answer.stdout)


def bring_in(program, files, recording):
    answer = subprocess.run([program, "import", *map(str, files), "-o", str(recording), "--force", "--json"],
                            capture_output=True, text=True, errors="replace", timeout=100)
    if answer.returncode != 0:
        return Imported(answer.returncode, answer.stderr)
    return Imported(0, answer.stderr, json.loads(answer.stdout), facts_of(program, str(recording)))


def add(table, key, count, total):
    table[key][0] += count
    table[key][1] += total


def facts_of(program, recording):
    facts = Facts()
    for kind, rank, lane, name, role, correlated, point, count, time, value in ask(
            program, "query", "--json", recording, GROUPS)["rows"]:
        count, time = int(count), int(float(time))
        if kind == "span":
            add(facts.spans, name, count, time)
            facts.time_of_ranks[rank] = facts.time_of_ranks.get(rank, 0) + time
            table = {"compute": facts.kernels if int(correlated) else None, "communication": facts.communication,
                     "copy": facts.copies}.get(role)
            if table is not None:
                add(table, rank, count, time)
        elif kind == "instant":
            facts.instants[name] += count
        elif kind == "flow":
            facts.flows[point] += count
        elif kind == "counter":
            facts.counters[lane, rank, name] = [count, float(value)]
    steps = ask(program, "query", "--json", recording,
                "SELECT r.rank, s.duration_ns FROM ranks r LEFT JOIN steps s ON s.rank=r.rank ORDER BY 1, s.start_ns")
    facts.steps = {}
    for rank, duration in steps["rows"]:
        facts.steps.setdefault(rank, []).extend([] if duration is None else [int(duration)])
    report = ask(program, "report", "--json", recording)
    facts.peaks = {m["rank"]: m["peak_bytes"] for m in report["memory"] if m["peak_bytes"]}
    facts.use = {d["rank"]: d for d in report["devices"]}
    facts.flows, facts.instants = Counter(facts.flows), Counter(facts.instants)
    del facts.instants["[memory]"]  # blocks of the host beside a device, whose sums are counters
    return facts
