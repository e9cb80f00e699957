"""A machine for a dry run of packaging/gpu-check: a bundle, a stub of PyTorch, and no GPU.

The bundle is what packaging/gpu-bundle makes of real programs, with a module whose device is host
memory (tests/engine/gpu_rank). What only exists with nvcc is canned.
"""
from __future__ import annotations

import dataclasses
import pathlib
import shutil
import subprocess

import fake_programs

PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "packaging"
PYTHON = "/usr/bin/python3"
CANNED = ("shardscope_gpu_test", "libshardscope_kineto_oracle.so")

# In front of the real rank. The first start is slower than doctor's patience. Under Kineto, with
# the preloaded library away, it leaves the trace that a tracer would: kernels of 20 us all 50 us,
# from before the first step to after the last one, with a clock 3 ms off.
RANK = r'''
import json, os, pathlib, subprocess, sys, time
real = str(pathlib.Path(__file__).resolve().parent / "shardscope-rank-real")
started = pathlib.Path(os.environ["HOME"], "started")
if not started.exists():
    started.write_text("")
    time.sleep(12)
trace = os.environ.pop("SHARDSCOPE_KINETO_TRACE", None)
if trace is None:
    os.execv(real, [real, *sys.argv[1:]])
begin = time.time_ns()
status = subprocess.run([real, *sys.argv[1:]], close_fds=False).returncode
base = begin - 5_000_000_000
events = [{"ph": "X", "cat": "kernel", "name": "gemm", "dur": 20.0,
           "ts": (ns - base + 3_000_000) / 1e3} for ns in range(begin, time.time_ns(), 50_000)]
pathlib.Path(trace).write_text(json.dumps({"baseTimeNanoseconds": base, "traceEvents": events}))
sys.exit(status)
'''


@dataclasses.dataclass
class Built:
    shardscope: pathlib.Path
    rank: pathlib.Path
    module: pathlib.Path
    libtorch: pathlib.Path  # holds torch/lib

    def missing(self) -> list[str]:
        found = [str(path) for path in (self.shardscope, self.rank, self.module,
                                        self.libtorch / "torch/lib/libtorch_cpu.so",
                                        pathlib.Path(PYTHON)) if not path.exists()]
        return found + [name for name in ("strip", "readelf", "ldd") if shutil.which(name) is None]


def _build_folder(built: Built, folder: pathlib.Path) -> None:
    """As build/release would be; gpu-bundle strips, so that what is canned is a library yet."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/shardscope").symlink_to(built.shardscope)
    (folder / "bin/shardscope-rank").symlink_to(built.rank)
    for name in ("libshardscope_cuda.so", *CANNED):
        (folder / "bin" / name).symlink_to(built.module)


def _can(bundle: pathlib.Path) -> None:
    (bundle / "bin/shardscope-rank").rename(bundle / "bin/shardscope-rank-real")
    fake_programs.program(bundle / "bin/shardscope-rank", RANK, PYTHON)
    fake_programs.program(bundle / "bin/shardscope_gpu_test", fake_programs.GPU_TEST, PYTHON)


def make_bundle(built: Built, reference: pathlib.Path | None, root: pathlib.Path) -> pathlib.Path:
    _build_folder(built, root / "build")
    fake_programs.program(root / "canned/bench_peer.py", fake_programs.PEER, PYTHON)
    bundle = root / "bundle"
    subprocess.run([PYTHON, PACKAGING / "gpu-bundle", bundle, "--build", root / "build", "--peers",
                    root / "canned", *(["--reference", reference] if reference else [])],
                   check=True, capture_output=True, text=True)
    _can(bundle)
    return bundle


def make_site(libtorch: pathlib.Path, root: pathlib.Path) -> dict[str, pathlib.Path]:
    """A stub of PyTorch in site/, nvidia-smi in tools/; returns what belongs where in site/."""
    fake_programs.stub_torch(root / "site")
    fake_programs.program(root / "tools/nvidia-smi", fake_programs.SMI, PYTHON)
    wheels = {"nvidia": libtorch / "nvidia"} if (libtorch / "nvidia").is_dir() else {}
    return {"torch/lib": libtorch / "torch/lib", **wheels}
