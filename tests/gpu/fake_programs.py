"""A bundle whose programs print canned answers, for tests of packaging/gpu-check."""
from __future__ import annotations

import json
import os
import pathlib
import sys
import textwrap

# `shardscope`: a recording is the JSON of its own arguments. FAKE holds what is to go wrong.
# Unfriendly as the real one: kernels before the first step and after the last one, kernels that
# know no step, Kineto's clock 7 ms off.
SHARDSCOPE = r'''
import json, os, pathlib, sys, time
fake = json.loads(os.environ.get("FAKE", "{}"))
arguments = sys.argv[1:]
STEP, BEGIN = 40_000_000, 5_000_000_000

def value(name, default=None):
    return arguments[arguments.index(name) + 1] if name in arguments else default

def kernels(steps, factor):
    ends = int(steps) * STEP + BEGIN
    found = [["before", 1000, 9000], ["before", 20000, 25000], ["after", ends + 3000, ends + 4000]]
    for step in range(int(steps)):
        for i in range(3):
            start = BEGIN + step * STEP + 2_000_000 + 12_000_000 * i
            found.append([f"gemm{i}", start, start + round(10_000_000 * factor)])
    return sorted(found, key=lambda kernel: kernel[1])

def trace(path, steps, factor, started):
    base = started - 1_000_000_000_000
    events = [{"ph": "X", "cat": "kernel", "name": name, "dur": (end - start) / 1e3,
               "ts": (start + started - base + 7_000_000) / 1e3}
              for name, start, end in kernels(steps, factor * fake.get("kineto_stretch", 1))]
    del events[20:20 + fake.get("kineto_loses", 0)]
    events.append({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 2})
    pathlib.Path(path).write_text(json.dumps({"traceEvents": events, "baseTimeNanoseconds": base}))

def drift(path):
    "What this run's times are multiplied by: equal runs are not equal."
    count = path.with_suffix(".count")
    run = int(count.read_text()) if count.exists() else 0
    count.write_text(str(run + 1))
    listed = fake.get("drift", {}).get(path.stem, [1.0])
    return listed[run % len(listed)]

def record():
    if "--help-all" in arguments:
        print("  --steps N", *fake.get("options", ["  --attention WORD  kernels"]), sep="\n")
        return
    if fake.get("record_hangs"):
        pathlib.Path(fake["record_hangs"]).write_text(str(os.getpid()))
        time.sleep(600)
    if fake.get("record_fails"):
        print("warming up", "shardscope: out of device memory", "Kept 0 steps, 2 events.",
              "Next: shardscope report x", sep="\n", file=sys.stderr)
        print(json.dumps({"schema": "shardscope.record/1", "message": "out of device memory"}))
        sys.exit(5)
    path, steps = pathlib.Path(value("--output")), value("--steps")
    factor, end = drift(path), BEGIN + int(steps) * STEP
    started = round((time.time() - fake.get("stop", 0.1)) * 1e9) - end
    rank = os.environ.get("SHARDSCOPE_RANK_PROGRAM")
    if rank:
        text = pathlib.Path(rank).read_text()
        trace(text.split("SHARDSCOPE_KINETO_TRACE=")[1].split("\n")[0].strip("'"), steps, factor,
              started)
    path.write_text(json.dumps({"arguments": arguments, "factor": factor, "started": started}))
    print("recorded\n" + json.dumps({"schema": "shardscope.record/1"}))

def report(two):
    ranks = [0, 1] if two else [0]
    print(json.dumps({
        "schema": "shardscope.report/1",
        "throughput": {"tokens_per_s": fake.get("tokens", 400000.0), "step_s_median": 0.04},
        "mfu": {"value": 0.6, "variant": "palm", "peak_flops": 9.89e14, "peak_source": "table",
                "reason": None},
        "devices": [{"rank": r, "communication_ns": 100 if two else 0,
                     "hidden_ns": 100 * fake.get("ratio", 0.5) if two else 0}
                    for r in ranks],
        # Of phases, which hide more than kernels do.
        "overlap": {"ratio": 0.7 if two else None, "communication_ns": 40, "hidden_ns": 20,
                    "exposed_ns": 20, "by_rank": [{"rank": r, "ratio": 0.7} for r in ranks]},
        "completeness": {"complete": not fake.get("incomplete"), "known": True,
                         "missing": ["rank 0 step 3: a gather"] if fake.get("incomplete") else []},
        "dropped": 0, "events": 1000, "file_bytes": 3000}, indent=2))

def step_rows(slow, factor):
    for step in range(int(value("--steps"))):
        slower = slow if step % 2 == 0 or "--alternate-capture" not in arguments else 1
        start = BEGIN + step * STEP
        yield [step, start, start + round(39_000_000 * slower * factor)]

def kernel_rows(two, level, factor):
    if two:
        late = BEGIN + 3 * STEP
        return [["gemm", 0, 100, None, 1], ["ncclDevKernel_Broadcast", 1000, 5000, None, 2],
                ["gemm", BEGIN, BEGIN + 150, 0, 3],
                ["ncclDevKernel_AllGather", BEGIN + 100, BEGIN + 200, None, 4],
                ["ncclDevKernel_AllReduce", late + 1000, late + 2000, 3, 5]]  # of an evaluation
    found = kernels(value("--steps"), factor)
    # No launch knows its step below `launches`, none between phases ever does.
    def step(kernel):
        if level == "kernels" or kernel[1] < BEGIN or kernel[0] == "gemm2":
            return None
        return (kernel[1] - BEGIN) // STEP

    return [[*k, step(k), i + 1 if i >= fake.get("without_launch", 0) else 0]
            for i, k in enumerate(found)]

def query(recording, sql):
    two = "--share-device" in arguments
    level = value("--device-capture")
    kernels = kernel_rows(two, level, recording["factor"])
    if "FROM steps" in sql:
        rows = list(step_rows(fake.get("slow", {}).get(level, 1.0), recording["factor"]))
    elif "started_unix_ns" in sql:
        rows = [[recording["started"]]]
    elif "SELECT tracing" in sql:
        rows = [["not traced: switched off" if level == "never" else
                 fake.get("tracing", "CUPTI 130001")]]
    elif "FROM metrics" in sql:
        apart = fake.get("graphs_apart", 1) if "--graphs" in arguments else 1
        rows = [[5.0 * apart] for _ in range(int(value("--steps")))]
        rows = rows[fake.get("graphs_lose", 0) if "--graphs" in arguments else 0:]
    elif "FROM devices" in sql:
        rows = [[fake.get("attention", "cudnn")]]
    elif "FROM detail" in sql:
        less = "--alternate-capture" in arguments and not fake.get("never_less")
        rows = [[s, s] for s in range(1, int(value("--steps")), 2)] if less else []
    elif "FROM phases" in sql:
        rows = [[BEGIN + 3 * STEP + 500, BEGIN + 3 * STEP + 3000]] if two else []
    elif "FROM chunks" in sql:
        rows = [[1000]]
    elif "FROM collectives" in sql:
        rows = [[r, 100 * i, "all-gather", "forward"] for r in (0, 1) for i in range(4)]
    elif sql.startswith("SELECT rank, start_ns"):
        rows = [[r, 100 * i] for r in (0, 1) for i in range(fake.get("joined", 4))]
    elif "role='runtime'" in sql:
        # A call that launches through another one is recorded twice.
        rows = [[k[4]] for k in kernels if k[4]] * fake.get("calls", 2)
        rows += [[9999]] * fake.get("more_launches", 0)
    else:
        rows = kernels
    print(json.dumps({"schema": "shardscope.query/1", "columns": [], "rows": rows}))

def doctor():
    # Its probe is too slow the first time.
    if value("--device") != "cuda":
        fake["no_driver"] = True  # which is a note then, and no reason
    tried = pathlib.Path("doctor.tried")
    cuda = not fake.get("no_driver") and (tried.exists() or not fake.get("slow_probe"))
    tried.write_text("")
    print(json.dumps({"schema": "shardscope.doctor/1", "checks": [
        {"id": "gpu.driver", "status": "ok" if cuda else "missing", "found": "no driver",
         "remedy": "install one"},
        {"id": "tools.desktop", "status": "missing", "found": "not built", "remedy": None}],
        "works": {"cpu": True, "cuda": cuda, "tracing": True}}, indent=1))
    sys.exit(0 if cuda else 4)

if arguments[0] == "--version":
    print("shardscope 0.1.0 (0123456789ab)")
elif arguments[0] == "record":
    record()
elif arguments[0] == "doctor":
    doctor()
elif arguments[0] == "verify":
    print(json.dumps({"errors": {"loss": {"value": fake.get("error", 1e-6), "limit": 1e-5,
                                          "pass": True}},
                      "worst_tensor": "wte", "pass": fake.get("error", 0) <= 1e-5}))
    sys.exit(0 if fake.get("error", 0) <= 1e-5 else 1)
elif fake.get("broken"):
    print("shardscope: not a recording", file=sys.stderr)
    sys.exit(3)
else:
    verb, sql = arguments[0], arguments[2]
    recording = json.loads(pathlib.Path(arguments[1]).read_text())
    arguments = recording["arguments"]
    report("--share-device" in arguments) if verb == "report" else query(recording, sql)
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
import json, os, sys
fake = json.loads(os.environ.get("FAKE", "{}"))
print("a warning of torch")
if "/lib" in os.environ.get("LD_LIBRARY_PATH", ""):
    sys.exit("libz.so.1: of another machine")
strategy = sys.argv[sys.argv.index("--strategy") + 1]
if strategy == "compile" and fake.get("no_compiler"):
    sys.exit("RuntimeError: Failed to find C compiler")
print(json.dumps({"peer": f"PyTorch {strategy}", "peak_bytes": 1,
                  "tokens_per_s": {"single": 200000.0, "compile": 350000.0}[strategy]}))
'''


SMI = """
import os, sys
if "/lib" in os.environ.get("LD_LIBRARY_PATH", ""):
    sys.exit("libz.so.1: of another machine")
print("NVIDIA H200, 580.65.06, 143771 MiB")
"""

# Slow to import, and only to be imported in a process of its own.
TORCH = """
import json, os, sys
from . import version
from .version import __version__
if "gpu-check" in sys.argv[0]:
    raise ImportError("not to be imported")
fake = json.loads(os.environ.get("FAKE", "{}"))


class cuda:
    is_available = staticmethod(lambda: True)
    device_count = staticmethod(lambda: 1)
    get_device_name = staticmethod(lambda index=0: "NVIDIA H200")


def zeros(*shape, device="cpu"):
    if fake.get("torch_fails"):
        raise RuntimeError("Found no NVIDIA driver on your system.")
"""


def program(path: pathlib.Path, source: str, python: str = sys.executable) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{python} -IS\n" + textwrap.dedent(source))
    path.chmod(0o755)


def stub_torch(site: pathlib.Path) -> None:
    """A package without libraries."""
    (site / "torch").mkdir(parents=True)
    (site / "torch/__init__.py").write_text(TORCH)
    (site / "torch/version.py").write_text("__version__ = '2.11.0+cu130'\ncuda = '13.0'\n")


def bundle(root: pathlib.Path) -> dict:
    """Makes it; returns the environment that gpu-check is to run in."""
    program(root / "bin/shardscope", SHARDSCOPE)
    program(root / "bin/shardscope_gpu_test", GPU_TEST)
    program(root / "bin/shardscope-rank", "")
    (root / "bin/libshardscope_kineto_oracle.so").write_text("")
    program(root / "peers/bench_peer.py", PEER)
    (root / "reference").mkdir()
    program(root / "tools/nvidia-smi", SMI)
    stub_torch(root / "site")
    for folder in ("torch", "nvidia/nccl", "nvidia/cu13"):
        (root / "site" / folder / "lib").mkdir(parents=True)
    (root / "site/torch/lib/libtorch_cuda.so").write_text("0" * 1000)
    inherited = {key: text for key, text in os.environ.items() if key != "LD_LIBRARY_PATH"}
    return {**inherited, "PYTHONPATH": str(root / "site"), "FAKE": "{}",
            "PATH": f"{root / 'tools'}:{os.environ['PATH']}"}


def faking(environment: dict, **wrong) -> dict:
    return {**environment, "FAKE": json.dumps(wrong)}
