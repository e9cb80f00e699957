#!/usr/bin/env python3
"""HTA's own numbers of exported traces against those of `shardscope report --json`.

  hta_compare.py SHARDSCOPE FOLDER RECORDING...    RECORDING may be a Kineto trace, which is imported

Exports each recording twice: with --hta (whole microseconds), and as it is, which HTA reads with
HTA_DISABLE_NS_ROUNDING=1. Exit status 77 when HTA is not installed.
"""
import json
import logging
import math
import os
import pathlib
import shutil
import subprocess
import sys
import warnings

# HTA asks for it at every trace; set for good here, because whole microseconds need no rounding.
os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
warnings.simplefilter("ignore")
try:
    from hta.trace_analysis import TraceAnalysis
except ImportError as error:
    print(f"skipped: HolisticTraceAnalysis is not installed ({error})")
    sys.exit(77)
logging.disable(logging.CRITICAL)

CATEGORIES = ("host_wait", "kernel_wait", "other")
compared = 0


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def same(what, hta, ours, tolerance):
    global compared
    compared += 1
    if ours is None:
        if not math.isnan(hta):
            sys.exit(f"{what}: HTA says {hta}, shardscope nothing")
    elif not abs(hta - ours) <= tolerance:
        sys.exit(f"{what}: HTA says {hta}, shardscope {ours}")


def compare(folder, numbers, keep_last, whole):
    """Times of HTA are doubles of microseconds; those near 2^42 carry an error of 0.5 ns each."""
    tolerance = 0 if whole else 0.5
    analysis = TraceAnalysis(trace_dir=str(folder), include_last_profiler_step=keep_last)
    ours = {row["rank"]: row for row in numbers
            if row["whole_microseconds"] == whole and row["last_step_kept"] == keep_last}
    assert sorted(ours) == sorted(analysis.t.traces), (sorted(ours), sorted(analysis.t.traces))
    where = f"{folder.name}{' keeping the last step' if keep_last else ''}"
    overlap = analysis.get_comm_comp_overlap(visualize=False).set_index("rank")
    breakdown = analysis.get_temporal_breakdown(visualize=False).set_index("rank")
    for rank, row in ours.items():
        name = f"{where} rank {rank}"
        same(f"{name} overlap", overlap.loc[rank, "comp_comm_overlap_pctg"],
             row["comp_comm_overlap_pctg"], 0 if whole else 0.0101)
        for key in ("idle_time", "compute_time", "non_compute_time", "kernel_time"):
            same(f"{name} {key}", breakdown.loc[rank, key + "(us)"], row[key + "_ns"] / 1000, tolerance)
        idle = analysis.get_idle_time_breakdown(ranks=[rank], visualize=False)[0]
        theirs = {(r.stream, r.idle_category): r.idle_time for r in idle.itertuples()}
        mine = {(s["stream"], c): s[c + "_ns"] / 1000 for s in row["idle_by_stream"] for c in CATEGORIES}
        assert set(theirs) <= set(mine), (theirs, mine)
        for key, value in mine.items():
            same(f"{name} idle {key}", theirs.get(key, 0), value, max(tolerance, 0.0051))


def check(program, folder, recording):
    if recording.name.endswith((".json", ".json.gz")):
        imported = folder / (recording.name.split(".")[0] + ".sscope")
        run(program, "import", str(recording), "--output", str(imported), "--force")
        recording = imported
    report = json.loads(run(program, "report", str(recording), "--json", "--hta"))
    for whole in (True, False):
        traces = folder / f"{recording.stem}{'_hta' if whole else ''}"
        shutil.rmtree(traces, ignore_errors=True)
        run(program, "export", str(recording), "--format", "kineto", "--output", str(traces),
            *(["--hta"] if whole else []))
        for keep_last in (False, True):
            compare(traces, report["hta_compatible"], keep_last, whole)


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[3:]:
        recording = pathlib.Path(name)
        if not recording.exists():
            print(f"left out: there is no {recording.name}")
            continue
        before = compared
        check(program, folder, recording)
        print(f"{recording.name}: {compared - before} numbers are equal")
    if compared == 0:
        sys.exit(77)


main()
