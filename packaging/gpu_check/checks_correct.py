"""Whether what the engine computes and the profiler records is right and complete."""
from __future__ import annotations

import collections
import json

from . import queries, workloads
from .results import FAIL, PASS, Failed, Result, Skipped, at_least, equal, info


def gpu_tests(session):
    """the tests labelled gpu"""
    listed = session.work / "gpu_test.json"
    program = session.program("shardscope_gpu_test")
    session.run([program, f"--gtest_output=json:{listed}"], accept=(0, 1))
    try:
        suites = json.loads(listed.read_text())["testsuites"]
    except (OSError, ValueError) as error:
        raise Failed(f"the test program wrote no result: {error}")
    tests = [test for suite in suites for test in suite["testsuite"]]
    failed = [f"{t['classname']}.{t['name']}" for t in tests if t.get("failures")]
    skipped = sum(t.get("result") == "SKIPPED" for t in tests)
    if tests and skipped == len(tests):
        raise Skipped("every test was skipped: no device")
    reason = f"{skipped} skipped" if skipped else ""
    if failed:
        reason = "failed: " + ", ".join(failed)
    good = not failed and bool(tests)
    yield Result("gpu-tests", len(tests) - skipped - len(failed), "passed", "0 failed",
                 PASS if good else FAIL, reason)


def doctor(session):
    """what the program itself says of driver, device and libraries"""
    for _ in range(2):  # its probe has a time limit, which a first load of the libraries may pass
        # Exit statuses up to 5 are verdicts.
        found = session.shardscope("doctor", "--device", "cuda", accept=range(6))
        works = [part for part in ("cpu", "cuda", "tracing") if found["works"][part]]
        good = "cuda" in works and "tracing" in works
        if good:
            break
    wrong = [f"{c['id']}: {c['found']}" for c in found["checks"]
             if c["status"] in ("missing", "problem") and not c["id"].startswith("tools.")]
    yield Result("doctor", ", ".join(works) or "nothing", "works", "cuda, tracing",
                 PASS if good else FAIL, "" if good else "; ".join(wrong), found)


def verify(session):
    """loss, gradients and weights against the reference"""
    if session.reference is None or not session.reference.is_dir():
        raise Skipped("no reference folder; name one with --reference")
    for strategy, precision, *more in (("single", "fp32"), ("zero3", "fp32"), ("single", "bf16"),
                                       ("zero3", "bf16"),
                                       ("zero3", "fp32", "--vocabulary-pieces", "3"),
                                       ("zero3", "bf16", "--offload", "gradients")):
        # One rank: most machines with a GPU have one.
        answer = session.shardscope("verify", session.reference, "--device", "cuda", "--precision",
                                    precision, "--strategy", strategy, "--ranks", "1", *more,
                                    accept=(0, 1))
        worst = max(e["value"] / e["limit"] for e in answer["errors"].values())
        form = "-".join([strategy, precision, *(word.lstrip("-") for word in more)])
        yield Result(f"verify-{form}", worst, "of limit", "<= 1",
                     PASS if answer["pass"] else FAIL, f"worst tensor {answer.get('worst_tensor')}",
                     answer["errors"])


def completeness(session):
    """the certificate of a fully traced run"""
    report = session.report(session.shared_recording("traced", workloads.traced(session)))
    complete = report["completeness"]
    yield equal("completeness", bool(complete["complete"]), True,
                reason="; ".join(map(str, complete["missing"])), **complete)
    yield equal("dropped-events", report["dropped"], 0, "events")


def launched(session):
    """kernels on the device against launches on the host"""
    recording = session.shared_recording("traced", workloads.traced(session))
    kernels = session.kernels(recording)
    if not kernels:
        raise Failed("the recording holds no kernel")
    calls = {int(row[0]) for row in session.query(recording, queries.LAUNCHES.format(rank=0))}
    numbers = {kernel.correlation for kernel in kernels}
    launched = sum(kernel.correlation in calls for kernel in kernels)
    yield equal("kernels-launched", launched, len(kernels), "kernels",
                f"{len(kernels)} kernels, {len(calls)} launch calls")
    if not calls:
        return
    yield equal("launches-run", len(calls & numbers), len(calls), "calls",
                "launch calls that have a kernel")


def two_processes(session):
    """two ranks that share the device: only for counting and joining, not for timing"""
    recording = session.shared_recording("two", workloads.two_processes(session))
    report = session.report(recording)
    ratio = report["overlap"]["ratio"]
    yield info("two-process-overlap", ratio, "ratio", "shared device: ranks take turns",
               **{k: v for k, v in report["overlap"].items() if k != "by_rank"})
    collectives = session.query(recording, queries.COLLECTIVES)
    kernels = {tuple(map(int, row)) for row in
               session.query(recording, queries.COLLECTIVE_KERNELS)}
    if not collectives:
        raise Failed("two ranks recorded no collective")
    if not kernels:
        raise Skipped("no NCCL kernel was recorded: the ranks did not communicate by NCCL")
    alone = collections.Counter(f"{operation} of {cause}" for rank, start, operation, cause in
                                collectives if (int(rank), int(start)) not in kernels)
    joined = 1 - sum(alone.values()) / len(collectives)
    without = "; without: " + ", ".join(f"{n} {what}" for what, n in alone.most_common(3))
    yield at_least("collective-join-rate", 100 * joined, 100, "%",
                   f"{len(collectives)} collectives, {len(kernels)} NCCL kernels"
                   + (without if alone else ""), without=dict(alone))
