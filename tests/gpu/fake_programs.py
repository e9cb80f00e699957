"""A bundle whose programs print canned answers, for tests of packaging/gpu-check."""
from __future__ import annotations

import json
import os
import pathlib
import stat
import sys
import textwrap

# `shardscope`: a recording is the JSON of its own arguments. FAKE holds what is to go wrong.
SHARDSCOPE = r'''
import json, os, pathlib, sys, time
fake = json.loads(os.environ.get("FAKE", "{}"))
arguments = sys.argv[1:]

def value(name, default=None):
    return arguments[arguments.index(name) + 1] if name in arguments else default

def record():
    level = value("--device-capture")
    if fake.get("record_hangs"):
        pathlib.Path(fake["record_hangs"]).write_text(str(os.getpid()))
        time.sleep(600)
    if fake.get("record_fails"):
        print("warming up", "shardscope record: out of device memory", sep="\n", file=sys.stderr)
        sys.exit(5)
    rank = os.environ.get("SHARDSCOPE_RANK_PROGRAM")
    if rank:
        text = pathlib.Path(rank).read_text()
        trace = text.split("SHARDSCOPE_KINETO_TRACE=")[1].split("\n")[0].strip("'")
        events = [{"ph": "X", "cat": "kernel", "name": f"gemm{i}", "ts": 10.0 * i,
                   "dur": 5.0 * fake.get("kineto_stretch", 1)} for i in range(fake.get("kineto", 12))]
        events.append({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 2})
        pathlib.Path(trace).write_text(json.dumps({"traceEvents": events}))
    path = pathlib.Path(value("--output"))
    path.write_text(json.dumps({"arguments": arguments, "ended": time.time()}))
    print("recorded\n" + json.dumps({"schema": "shardscope.record/1"}))

def report(recording):
    two = "--share-device" in recording["arguments"]
    print(json.dumps({
        "schema": "shardscope.report/1",
        "throughput": {"tokens_per_s": fake.get("tokens", 400000.0), "step_s_median": 0.04},
        "mfu": {"value": 0.6, "variant": "palm", "peak_flops": 9.89e14, "peak_source": "table",
                "reason": None},
        "overlap": {"ratio": 0.5 if two else None, "communication_ns": 40, "hidden_ns": 20,
                    "exposed_ns": 20, "by_rank": [{"rank": r, "ratio": fake.get("ratio", 0.5)}
                                                  for r in ([0, 1] if two else [0])]},
        "completeness": {"complete": not fake.get("incomplete"), "known": True,
                         "missing": ["rank 0 step 3: a gather"] if fake.get("incomplete") else []},
        "dropped": 0, "events": 1000, "file_bytes": 3000}, indent=2))

def query(recording, sql):
    two = "--share-device" in recording["arguments"]
    level = recording["arguments"][recording["arguments"].index("--device-capture") + 1]
    if "FROM steps WHERE" in sql:
        slow = fake.get("slow", {}).get(level, 1.0)
        rows = [[str(s), str(round(40e6 * slow))] for s in range(4, 24)]
    elif "max(end_ns)" in sql:
        rows = [[str(round((recording["ended"] - fake.get("stop", 0.1)) * 1e9))]]
    elif "FROM chunks" in sql:
        rows = [["1000"]]
    elif "FROM collectives" in sql:
        rows = [[str(r), str(100 * i)] for r in (0, 1) for i in range(4)] if two else []
    elif "SELECT rank, start_ns" in sql:
        rows = [[str(r), str(100 * i)] for r in (0, 1) for i in range(fake.get("joined", 4))]
    elif "count(*)" in sql:
        rows = [[str(fake.get("launches", 12))]]
    elif two:
        rows = [["gemm", "0", "150", "0"], ["ncclDevKernel_AllGather", "100", "200", "0"]]
    else:
        rows = [[f"gemm{i}", str(10000 * i), str(10000 * i + 5000), str(i)] for i in range(12)]
    print(json.dumps({"schema": "shardscope.query/1", "columns": [], "rows": rows}))

if arguments[0] == "--version":
    print("shardscope 0.1.0 (0123456789ab)")
elif arguments[0] == "record":
    record()
elif arguments[0] == "doctor":
    print(json.dumps({"schema": "shardscope.doctor/1", "checks": [
        {"id": "gpu.driver", "status": "missing" if fake.get("no_driver") else "ok",
         "found": "no driver", "remedy": "install one"}],
        "works": {"cpu": True, "cuda": not fake.get("no_driver"), "tracing": True}}, indent=1))
    sys.exit(4 if fake.get("no_driver") else 0)
elif arguments[0] == "verify":
    print(json.dumps({"errors": {"loss": {"value": fake.get("error", 1e-6), "limit": 1e-5,
                                          "pass": True}},
                      "worst_tensor": "wte", "pass": fake.get("error", 0) <= 1e-5}))
    sys.exit(0 if fake.get("error", 0) <= 1e-5 else 1)
elif fake.get("broken"):
    print("shardscope: not a recording", file=sys.stderr)
    sys.exit(3)
else:
    recording = json.loads(pathlib.Path(arguments[1]).read_text())
    report(recording) if arguments[0] == "report" else query(recording, arguments[2])
'''

GPU_TEST = r'''
import json, os, pathlib, sys
fake = json.loads(os.environ.get("FAKE", "{}"))
path = [a.split(":", 1)[1] for a in sys.argv if a.startswith("--gtest_output=json:")][0]
tests = [{"name": f"T{i}", "classname": "Device", "result": fake.get("gpu_result", "COMPLETED")}
         for i in range(3)]
if fake.get("gpu_fails"):
    tests[1]["failures"] = [{"failure": "1 is not 2"}]
pathlib.Path(path).write_text(json.dumps({"testsuites": [{"testsuite": tests}]}))
sys.exit(1 if fake.get("gpu_fails") else 0)
'''

PEER = r'''
import json, sys
print("a warning of torch")
strategy = sys.argv[sys.argv.index("--strategy") + 1]
print(json.dumps({"peer": f"PyTorch {strategy}", "peak_bytes": 1,
                  "tokens_per_s": {"single": 200000.0, "compile": 350000.0}[strategy]}))
'''


def program(path: pathlib.Path, source: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable} -IS\n" + textwrap.dedent(source))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def bundle(root: pathlib.Path) -> dict:
    """Makes it; returns the environment that gpu-check is to run in."""
    program(root / "bin/shardscope", SHARDSCOPE)
    program(root / "bin/shardscope_gpu_test", GPU_TEST)
    program(root / "bin/shardscope-rank", "")
    (root / "bin/libshardscope_kineto_oracle.so").write_text("")
    program(root / "peers/bench_peer.py", PEER)
    (root / "reference").mkdir()
    program(root / "tools/nvidia-smi", "print('NVIDIA H200, 580.65.06, 143771 MiB')")
    (root / "site/torch/lib").mkdir(parents=True)
    (root / "site/torch/__init__.py").write_text("raise ImportError('not to be imported')\n")
    (root / "site/torch/version.py").write_text("__version__ = '2.11.0+cu130'\n")
    for wheel in ("nccl", "cu13"):
        (root / f"site/nvidia/{wheel}/lib").mkdir(parents=True)
    return {**os.environ, "PYTHONPATH": str(root / "site"), "FAKE": "{}",
            "PATH": f"{root / 'tools'}:{os.environ['PATH']}"}


def faking(environment: dict, **wrong) -> dict:
    return {**environment, "FAKE": json.dumps(wrong)}
