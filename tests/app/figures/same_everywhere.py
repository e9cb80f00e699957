#!/usr/bin/env python3
"""Holds each figure of a recording against itself, wherever it is said.

  tests/app/figures/same_everywhere.py BIN FOLDER [--desktop] [NAME...]

FOLDER is filled by record_kinds.py. Read are `report` and its JSON, every question of `analyze`
(whole, by step and of one step), `compare`, `info`, `export` and, with --desktop, the window's
dashboard. Prints each difference; exit status 1 when there is one.
"""
import argparse
import collections
import concurrent.futures
import html
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

QUESTIONS = ["steps", "breakdown", "overlap", "collectives", "late", "bounds", "efficiency", "memory",
             "work", "training", "trust"]
# Of single steps only: what the kernel counted, of which the ledger's part is what lies in compute.
STEP_ONLY = {"core_wait_ns"}


def close(a, b, within=1e-9):
    if a is None or b is None:
        return a is b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return abs(a - b) <= within * max(abs(a), abs(b), 1e-300)
    return a == b


class Walk:
    """One recording: what was asked, and what differs."""

    def __init__(self, binaries, path):
        self.program, self.desktop, self.path = binaries / "shardscope", binaries / "shardscope-desktop", path
        self.differences, self.compared = [], 0
        self.report = self.json("report", path, "--json")
        self.answers = {each: self.json("analyze", path, each, "--json") for each in QUESTIONS}

    def text(self, *words, statuses=(0,)):
        done = subprocess.run([str(word) for word in (self.program, *words)], capture_output=True, text=True)
        if done.returncode not in statuses:
            raise RuntimeError(f"{' '.join(map(str, words))}: {done.returncode}: {done.stderr[-300:]}")
        return done.stdout

    def json(self, *words):
        return json.loads(self.text(*words))

    def same(self, what, a, b, within=1e-9):
        self.compared += 1
        if not close(a, b, within):
            self.differences.append(f"{what}: {a} and {b}")

    def answer(self, question, *words):
        return self.json("analyze", self.path, question, "--json", *words)


def rows_by(rows, *keys):
    return {tuple(row[key] for key in keys): row for row in rows or []}


def columns(row):
    return [key for key, value in row.items()
            if key.endswith("_ns") and isinstance(value, int) and key not in STEP_ONLY]


def check_throughput(walk):
    throughput, efficiency = walk.report["throughput"], walk.answers["efficiency"]
    walk.same("tokens/s, report and efficiency", throughput["tokens_per_s"], efficiency.get("tokens_per_s"))
    walk.same("tokens/s of the whole run", throughput["whole_run_tokens_per_s"],
              efficiency.get("whole_run_tokens_per_s"))
    mfu = walk.report["mfu"]["value"]
    walk.same("MFU", mfu and mfu * 100, efficiency.get("mfu_pct"))
    use = walk.report["measured_peak_use"]
    walk.same("share of the measured peak", use and use * 100, efficiency.get("measured_peak_pct"))
    bounds = walk.answers["bounds"]
    if not walk.report["detail"]["steps"] or bounds.get("steps") is None:
        return
    if walk.report["detail"]["steps"] == walk.report["detail"]["detailed_steps"]:
        # The question rounds to nanoseconds.
        step = throughput["step_s_median"]
        walk.same("median step, report and bounds", step and round(step * 1e9), bounds["step_ns"], 1e-6)


def check_overlap(walk):
    whole, question = walk.report["overlap"], walk.answers["overlap"]
    for ours, theirs in (("ratio", "hidden_pct"), ("limit", "limit_pct"), ("reached_of_limit", "reached_pct")):
        share = whole[ours]
        walk.same(f"overlap {ours}", share and share * 100, question.get(theirs))
    by_rank = rows_by(question.get("ranks"), "rank")
    breakdown = rows_by(walk.answers["breakdown"].get("ranks"), "rank")
    for row in whole["by_rank"]:
        rank = (row["rank"],)
        if rank not in by_rank:
            walk.same(f"communication of rank {rank[0]}", row["communication_ns"], 0)
            continue
        for key in ("communication_ns", "hidden_ns", "exposed_ns", "waiting_ns"):
            walk.same(f"{key} of rank {rank[0]}", row[key], by_rank[rank][key])
        if rank in breakdown:
            walk.same(f"communication of rank {rank[0]}, breakdown", row["communication_ns"] / 1e3,
                      breakdown[rank]["communication_us"])
            if not walk.report["devices"]:  # whose copies count as non-compute too
                walk.same(f"exposed of rank {rank[0]}, breakdown", row["exposed_ns"] / 1e3,
                          breakdown[rank]["non_compute_us"])
    for key in ("communication_ns", "hidden_ns", "exposed_ns", "waiting_ns", "moving_ns"):
        walk.same(f"sum of {key}", whole[key], sum(row[key] for row in whole["by_rank"]))
    walk.same("hidden and exposed", whole["communication_ns"], whole["hidden_ns"] + whole["exposed_ns"])
    walk.same("waiting and moving", whole["communication_ns"], whole["waiting_ns"] + whole["moving_ns"])


def check_ledger(walk):
    sums = collections.defaultdict(collections.Counter)
    for row in walk.report["ledger"]:
        rank = sums[row["rank"]]
        rank["steps"] += 1
        rank["wall_ns"] += row["wall_ns"]
        parts = {**row["parts"], **row.get("reductions", {})}
        rank.update(parts)
        whole = sum(value for key, value in row["parts"].items())
        walk.same(f"parts of step {row['step']} of rank {row['rank']}", whole, row["wall_ns"])
    rows = rows_by(walk.answers["steps"].get("ranks"), "rank")
    for rank, parts in sums.items():
        row = rows.get((rank,), {})
        for key, value in parts.items():
            walk.same(f"ledger {key} of rank {rank}", value, row.get(key))


def check_steps(walk):
    """--per-step, and --steps N of some of them."""
    for question, table in (("steps", "steps"), ("overlap", "steps")):
        per_step = walk.answer(question, "--per-step")
        for key, value in walk.answers[question].items():
            if key != table and isinstance(value, (int, float)):
                walk.same(f"{question} --per-step, {key}", value, per_step.get(key))
        rows = per_step.get(table)
        if not isinstance(rows, list) or not rows:
            continue
        steps = sorted({row["step"] for row in rows})
        for step in {steps[0], steps[len(steps) // 2], steps[-1]}:
            one = walk.answer(question, "--steps", str(step))
            of_step = [row for row in rows if row["step"] == step]
            if question == "steps":
                alone = rows_by(one.get("ranks"), "rank")
                for row in of_step:
                    for key in columns(row):
                        walk.same(f"{question}, step {step}, rank {row['rank']}, {key}", row[key],
                                  alone.get((row["rank"],), {}).get(key))
                continue
            for key in ("communication_ns", "hidden_ns"):
                walk.same(f"{question}, step {step}, {key}", sum(row[key] for row in of_step),
                          sum(row[key] for row in one.get("ranks", [])))


def check_ranks(walk):
    ranks = [row["rank"] for row in walk.answers["steps"].get("ranks", [])]
    for rank in ranks[:1] + ranks[-1:] if len(ranks) > 1 else ():
        for question in ("steps", "breakdown", "overlap", "memory"):
            whole = rows_by(walk.answers[question].get("ranks"), "rank").get((rank,))
            alone = rows_by(walk.answer(question, "--ranks", str(rank)).get("ranks"), "rank").get((rank,))
            for key, value in (whole or {}).items():
                walk.same(f"{question} --ranks {rank}, {key}", value, (alone or {}).get(key))
        # A collective is what it is for all of its ranks, whichever is asked about.
        table = walk.answer("collectives", "--ranks", str(rank)).get("operations", [])
        alone = rows_by(table, "operation", "group")
        for row in walk.answers["collectives"].get("operations", []):
            if row["group"] == "all":
                walk.same(f"collectives --ranks {rank}, {row['operation']}", row,
                          alone.get((row["operation"], row["group"])))


def check_memory(walk):
    rows = rows_by(walk.answers["memory"].get("ranks"), "rank")
    categories = rows_by(walk.answers["memory"].get("categories"), "rank", "category")
    for row in walk.report["memory"]:
        # Without memory events the question says so, and gives no rows.
        if row["peak_bytes"] is None:
            walk.same(f"memory of rank {row['rank']}", (row["rank"],) in rows, False)
            continue
        other = rows.get((row["rank"],), {})
        for ours, theirs in (("peak_bytes", "peak_bytes"), ("peak_time_ns", "peak_time_ns"),
                             ("theory_bytes", "theory_bytes")):
            walk.same(f"memory {ours} of rank {row['rank']}", row.get(ours), other.get(theirs))
        for category, size in (row["by_category"] or {}).items():
            found = categories.get((row["rank"], category))
            walk.same(f"memory, {category} of rank {row['rank']}", size, found["bytes"] if found else 0)


def check_waiting(walk):
    """Who was waited for: the report's rows are those of the collectives' table, all steps."""
    # The steps of an import are cut by time, a collective's on each rank by itself.
    if not walk.report["waiting_known"] or not walk.report["run"]["model"]:
        return
    late, table = collections.Counter(), walk.answers["collectives"].get("collectives")
    if not table:
        return
    for row in table:
        if row["step"] is not None and row["late_rank"] is not None and row["waited_ns"]:
            late[row["late_rank"]] += row["waited_ns"]
    for row in walk.report["waiting"]:
        walk.same(f"waited for rank {row['late_rank']}", row["waited_ns"], late[row["late_rank"]])


def check_events(walk):
    info = walk.json("info", walk.path, "--json")
    ranks = rows_by(info["ranks"], "rank")
    for row in walk.answers["trust"].get("ranks", []):
        for key in ("emitted", "dropped"):
            walk.same(f"{key} of rank {row['rank']}, trust and info", row[key], ranks[(row["rank"],)][key])
    walk.same("dropped", walk.report["dropped"], sum(row["dropped"] or 0 for row in info["ranks"]))
    walk.same("finalised", walk.report["run"]["finalised"], info["finalised"])
    walk.same("model", walk.report["run"]["model"], info["run"]["model"])


def check_compare(walk):
    compared = walk.json("compare", walk.path, walk.path, "--json", "--anyway")
    figures = {row["figure"]: row for row in compared["figures"]}
    for row in compared["figures"]:
        walk.same(f"compare with itself, {row['figure']}", row["first"], row["second"])
        if row["verdict"] in ("improved", "regressed"):
            walk.differences.append(f"compare with itself: {row['figure']} {row['verdict']}")
    first = lambda key: figures.get(key, {}).get("first")
    step = walk.report["throughput"]["step_s_median"]
    walk.same("median step, report and compare", step and step * 1e9, first("step.time_ns"))
    walk.same("tokens/s, report and compare", walk.report["throughput"]["tokens_per_s"],
              first("throughput.tokens_per_s"))
    peaks = [row["peak_bytes"] for row in walk.report["memory"] if row["peak_bytes"] is not None]
    walk.same("peak memory, report and compare", max(peaks) if peaks else None,
              first("memory.peak_bytes"))
    steady = steady_steps(walk)
    by_step = collections.defaultdict(list)
    for row in walk.report["ledger"]:
        if row["step"] in steady:
            by_step[row["step"]].append(row["parts"])
    for key in ("compute_ns", "waiting_ns", "no_core_ns", "other_ns"):
        found = first(f"ledger.{key}")
        if found is None or not by_step:
            continue
        means = [sum(parts[key] for parts in ranks) / len(ranks) for ranks in by_step.values()]
        walk.same(f"median {key} per step", statistics.median(means), found, 1e-6)


def steady_steps(walk):
    """With detail: those whose paths `bounds` gives."""
    return {row["step"] for row in walk.answer("bounds", "--per-step").get("step_paths", [])}


# What a number's last place may be off, written with four significant digits; 2.9 % has two.
WRITTEN = 5e-4
UNITS = {"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "B": 1, "KiB": 1 << 10,
         "MiB": 1 << 20, "GiB": 1 << 30, "%": 1, "": 1}
QUANTITY = r"([\d,]+(?:\.\d+)?(?:e[+-]?\d+)?) ?(%|ns|us|µs|ms|min|s|B|KiB|MiB|GiB)?"


def written_in(text, before, after=""):
    """A quantity between two texts, in ns, bytes or %, and by how much it may be rounded; None: none."""
    found = re.search(before + QUANTITY + after, text)
    if not found:
        return None
    digits = found[1].replace(",", "")
    unit = UNITS[found[2] or ""]
    step = 10.0 ** -len(digits.partition(".")[2]) if "e" not in digits else float(digits) * WRITTEN
    return float(digits) * unit, max(0.5 * step * unit, float(digits) * unit * WRITTEN)


def same_as_written(walk, what, value, written):
    """A figure that is unknown is not written at all."""
    walk.compared += 1
    if value is None or written is None:
        if (value is None) != (written is None):
            walk.differences.append(f"{what}: {value}, and written {written}")
        return
    if abs(value - written[0]) > written[1] * 1.001:
        walk.differences.append(f"{what}: {value}, and written {written[0]}")


def check_printed(walk):
    """The report as it is printed. Of a measuring run other figures are."""
    text = walk.text("report", walk.path, "--all")
    if (walk.report["run"]["config"] or {}).get("work") == "measuring":
        return
    throughput, overlap = walk.report["throughput"], walk.report["overlap"]
    step, mfu = throughput["step_s_median"], walk.report["mfu"]["value"]
    same_as_written(walk, "printed tokens/s", throughput["tokens_per_s"],
                    written_in(text, r"throughput +", r" tokens/s"))
    same_as_written(walk, "printed median step", step and step * 1e9,
                    written_in(text, r"step, median +"))
    same_as_written(walk, "printed MFU", mfu and mfu * 100, written_in(text, r"\n  MFU +"))
    for key, words in (("communication_ns", "communication"), ("hidden_ns", "hidden by compute"),
                       ("exposed_ns", "exposed: not under compute"),
                       ("waiting_ns", "waiting for the last rank")):
        printed = written_in(text, rf"\n  {words} +", " +")
        same_as_written(walk, f"printed {words}", overlap[key] if overlap["communication_ns"] else None,
                        printed)


def check_dashboard(walk):
    """The line below its title, in the picture that is written without a display."""
    with tempfile.TemporaryDirectory() as folder:
        picture = pathlib.Path(folder, "dashboard.svg")
        subprocess.run([walk.desktop, walk.path, "--dashboard", picture], check=True, capture_output=True,
                       env=dict(os.environ, QT_QPA_PLATFORM="offscreen"))
        words = [html.unescape(each) for each in
                 re.findall(r"<text[^>]*>([^<]*)</text>", picture.read_text())]
    line = next((each for each in words[1:3] if " · " in each or "tok/s" in each or "median step" in each), "").replace("\u2009", " ")
    throughput, mfu = walk.report["throughput"], walk.report["mfu"]["value"]
    step, loss = throughput["step_s_median"], walk.report["loss"]["last"]
    peaks = [row["peak_bytes"] for row in walk.report["memory"] if row["peak_bytes"] is not None]
    # Three significant digits and more.
    for what, value, written in (
            ("tokens/s", throughput["tokens_per_s"], written_in(line, "", " tok/s")),
            ("median step", step and step * 1e9, written_in(line, "median step ")),
            ("MFU", mfu and mfu * 100, written_in(line, "MFU ")),
            ("peak memory", max(peaks) if peaks else None, written_in(line, "peak memory ")),
            ("loss", loss, written_in(line, "loss "))):
        if written:
            written = (written[0], max(written[1], written[0] * 5e-3))
        same_as_written(walk, f"dashboard, {what}", value, written)


def check_export(walk):
    with tempfile.TemporaryDirectory() as folder:
        written = f"{folder}/report.json"
        walk.text("export", walk.path, "--format", "json", "--report", "overview", "-o", written)
        exported = json.loads(pathlib.Path(written).read_text())
        for key, value in walk.report.items():
            walk.same(f"export --report overview, {key}", exported.get(key), value)
        copy = f"{folder}/copy.sscope"
        walk.text("export", walk.path, "--format", "sscope", "-o", copy)
        again = walk.json("report", copy, "--json")
        for key in ("throughput", "cores", "mfu", "overlap", "ledger", "memory", "waiting", "detail",
                    "devices", "loss"):
            walk.same(f"{key} of an exported copy", walk.report.get(key), again.get(key))


CHECKS = [check_throughput, check_overlap, check_ledger, check_steps, check_ranks, check_memory,
          check_waiting, check_events, check_compare, check_printed, check_export]


def walked(binaries, path, checks):
    try:
        walk = Walk(binaries, path)
    except (RuntimeError, ValueError) as failure:
        return path, [f"asking: {failure}"], 0
    for check in checks:
        try:
            check(walk)
        except (RuntimeError, ValueError, KeyError, TypeError) as failure:
            walk.differences.append(f"{check.__name__}: {type(failure).__name__} {failure}")
    return path, walk.differences, walk.compared


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    ap.add_argument("binaries", type=pathlib.Path)
    ap.add_argument("folder", type=pathlib.Path)
    ap.add_argument("names", nargs="*")
    ap.add_argument("--desktop", action="store_true", help="the dashboard as well")
    args = ap.parse_args()
    checks = CHECKS + [check_dashboard] * args.desktop
    paths = [path for path in sorted(args.folder.glob("*.sscope"))
             if not args.names or path.stem in args.names]
    differ = total = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for path, differences, compared in pool.map(lambda each: walked(args.binaries, each, checks), paths):
            print(f"{path.stem}: {compared} figures, {len(differences)} differ")
            for difference in differences[:12]:
                print("   ", difference[:400])
            differ += len(differences)
            total += compared
    print(f"{len(paths)} recordings, {total} figures compared, {differ} differ")
    sys.exit(1 if differ or not total else 0)


if __name__ == "__main__":
    main()
