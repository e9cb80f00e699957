#!/usr/bin/env python3
"""packaging/fetch-libtorch with small wheels of its own: no network."""
from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile
import unittest
import zipfile

PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "packaging"
FILES = {
    "nvidia_cuda_runtime": ["nvidia/cu13/lib/libcudart.so.13", "nvidia/cu13/include/cuda.h"],
    "torch": ["torch/lib/libtorch_cpu.so", "torch/lib/libtorch_cuda.so", "torch/include/a/b.h",
              "torch/lib/libtorch_python.so"],
    "nvidia_nccl_cu13": ["nvidia/nccl/lib/libnccl.so.2", "nvidia/nccl/include/nccl.h"],
    "nvidia_cublas": ["nvidia/cu13/lib/libcublas.so.13"],
}


class Fetch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.wheels = self.root / "wheels"
        self.wheels.mkdir()
        sums = {name: self.wheel(name) for name in FILES}
        (self.root / "packaging").mkdir()
        shutil.copy(PACKAGING / "fetch-libtorch", self.root / "packaging")
        (self.root / "packaging/dependencies.env").write_text(f'''
LIBTORCH_VERSION=2.11.0
LIBTORCH_PYTHON=3.11
LIBTORCH_PLATFORMS=none
LIBTORCH_WHEELS="
nvidia-cuda-runtime==1 {sums["nvidia_cuda_runtime"]} nvidia/cu13/include/cuda.h nvidia/cu13/lib/libcudart.so.13
torch==2.11.0 {sums["torch"]} torch/lib/libtorch_cpu.so torch/include/*"
LIBTORCH_LINK_WHEELS="
torch==2.11.0 {sums["torch"]} torch/lib/libtorch_cuda.so"
LIBTORCH_NCCL_VERSION=2.28.9
LIBTORCH_NCCL_WHEELS="
nvidia-nccl-cu13==1 {sums["nvidia_nccl_cu13"]} nvidia/nccl/lib/libnccl.so.2 nvidia/nccl/include/*"
LIBTORCH_RUN_WHEELS="
nvidia-cublas==1 {sums["nvidia_cublas"]} nvidia/cu13/lib/libcublas.so.13"
''')
        self.target = self.root / "cache/shardscope/libtorch-2.11.0"

    def wheel(self, name):
        path = self.wheels / f"{name}-1-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for file in FILES[name]:
                archive.writestr(file, f"{file} of {name}\n")
        return hashlib.sha256(path.read_bytes()).hexdigest()

    def toolkit(self, nccl=None):
        root = self.root / "cuda"
        (root / "bin").mkdir(parents=True, exist_ok=True)
        nvcc = root / "bin/nvcc"
        nvcc.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.88'\n")
        nvcc.chmod(nvcc.stat().st_mode | stat.S_IXUSR)
        if nccl:
            (root / "include").mkdir()
            (root / "lib64").mkdir()
            (root / "lib64/libnccl.so.2").write_text("")
            names = zip(("MAJOR", "MINOR", "PATCH"), nccl.split("."))
            (root / "include/nccl.h").write_text(
                "".join(f"#define NCCL_{name} {number}\n" for name, number in names))
        return root

    def fetch(self, *options, cuda=None, first="/usr/bin"):
        cuda = cuda or self.toolkit()
        path = f"{cuda / 'bin'}:{first}:/usr/bin:/bin"
        done = subprocess.run(
            ["bash", self.root / "packaging/fetch-libtorch", *options], capture_output=True,
            text=True, timeout=60,
            env={"PATH": path, "HOME": str(self.root), "CUDA_HOME": str(cuda),
                 "XDG_CACHE_HOME": str(self.root / "cache"), "SHARDSCOPE_WHEELS": str(self.wheels),
                 "PIP_NO_INDEX": "1", "LC_ALL": "C"})
        return done.returncode, done.stdout + done.stderr

    def files(self):
        return {str(p.relative_to(self.target)) for p in self.target.rglob("*") if p.is_file()}

    CPU = {"nvidia/cu13/lib/libcudart.so.13", "nvidia/cu13/include/cuda.h",
           "torch/lib/libtorch_cpu.so", "torch/include/a/b.h"}
    LINK = {"torch/lib/libtorch_cuda.so"}
    NCCL = {"nvidia/nccl/lib/libnccl.so.2", "nvidia/nccl/include/nccl.h"}

    def test_cpu_part_only_when_told_so(self):
        status, text = self.fetch("--cpu", cuda=self.toolkit())
        self.assertEqual((status, self.files()), (0, self.CPU), text)

    def test_the_module_is_linked_where_nvcc_is(self):
        status, text = self.fetch(cuda=self.toolkit())
        self.assertEqual((status, self.files()), (0, self.CPU | self.LINK | self.NCCL), text)

    def test_the_toolkits_nccl_does_when_it_is_the_same(self):
        self.assertEqual(self.fetch(cuda=self.toolkit(nccl="2.28.9"))[0], 0)
        self.assertEqual(self.files(), self.CPU | self.LINK)

    def test_another_nccl_does_not(self):
        self.assertEqual(self.fetch(cuda=self.toolkit(nccl="2.27.3"))[0], 0)
        self.assertEqual(self.files(), self.CPU | self.LINK | self.NCCL)

    def test_everything_that_a_gpu_needs(self):
        self.assertEqual(self.fetch("--cuda")[0], 0)
        self.assertEqual(self.files(), self.CPU | self.LINK | self.NCCL |
                         {"nvidia/cu13/lib/libcublas.so.13"})

    def test_completes_an_older_folder_and_then_has_nothing_to_do(self):
        self.fetch("--cpu")
        before = (self.target / "torch/lib/libtorch_cpu.so").stat().st_mtime_ns
        status, text = self.fetch(cuda=self.toolkit())
        self.assertEqual((status, self.files()), (0, self.CPU | self.LINK | self.NCCL), text)
        self.assertNotIn("libtorch_cpu.so", text)
        self.assertEqual((self.target / "torch/lib/libtorch_cpu.so").stat().st_mtime_ns, before)
        shutil.rmtree(self.wheels)
        self.assertEqual(self.fetch(cuda=self.toolkit())[0], 0)

    def test_takes_up_what_was_interrupted(self):
        self.fetch("--cpu")
        (self.target / "torch/lib/libtorch_cpu.so").unlink()
        (self.target / "torch/include/a/b.h").write_text("half")
        self.assertEqual(self.fetch("--cpu")[0], 0)
        self.assertEqual((self.target / "torch/include/a/b.h").read_text(),
                         "torch/include/a/b.h of torch\n")

    def test_a_wheel_with_another_sum_is_not_used(self):
        with zipfile.ZipFile(self.wheels / "torch-1-py3-none-any.whl", "a") as archive:
            archive.writestr("torch/more", "")
        status, text = self.fetch("--cpu")
        self.assertEqual(status, 1)
        self.assertIn("torch==2.11.0 could not be downloaded", text)
        self.assertNotIn("torch/lib/libtorch_cpu.so", self.files())
        self.assertEqual(list((self.root / "cache/shardscope").glob("fetch.*")), [])

    def test_a_folder_of_before_headers_were_fetched_gets_them(self):
        self.fetch("--cpu")
        (self.target / "nvidia/cu13/include/cuda.h").unlink()
        self.assertEqual(self.fetch("--cpu")[0], 0)
        self.assertEqual(self.files(), self.CPU)

    def test_headers_of_cupti_are_in_the_wheels_that_are_fetched(self):
        text = (PACKAGING / "dependencies.env").read_text()
        cpu_part = text.split('LIBTORCH_WHEELS="')[1].split('"')[0]
        for name, header in [("cupti", "cupti.h"), ("runtime", "cuda.h")]:
            line = next(each for each in cpu_part.splitlines() if f"nvidia-cuda-{name}==" in each)
            self.assertEqual(line.split()[2], f"nvidia/cu13/include/{header}")
            self.assertIn("nvidia/cu13/include/*", line.split())

    def test_only_downloads(self):
        folder = self.root / "elsewhere"
        status, text = self.fetch("--cpu", "--download", str(folder))
        self.assertEqual(status, 1, text)  # there is no index to download from
        self.assertIn("could not be downloaded", text)
        self.assertEqual(list(folder.iterdir()), [])
        for wheel in self.wheels.iterdir():
            shutil.copy(wheel, folder)
        status, text = self.fetch("--cpu", "--download", str(folder))
        self.assertEqual((status, self.files()), (0, set()), text)
        self.assertEqual({f.name for f in folder.iterdir()}, {f.name for f in self.wheels.iterdir()})
        self.assertEqual(self.fetch("--download")[0], 2)

    def test_downloads_what_is_missing(self):
        index = self.root / "index"
        index.mkdir()
        shutil.copy(next(self.wheels.glob("nvidia_cuda_runtime-*")), index)
        (self.root / "bin").mkdir()
        python = self.root / "bin/python3"  # python3 -m pip download ... -d DIR REQUIREMENT
        python.write_text(f'#!/bin/sh\nwhile [ $# -gt 2 ]; do shift; done\ncp {index}/* "$1"\n')
        python.chmod(0o755)
        folder = self.root / "elsewhere"
        folder.mkdir()
        shutil.copy(next(self.wheels.glob("torch-*")), folder)
        status, text = self.fetch("--cpu", "--download", str(folder), first=self.root / "bin")
        self.assertEqual(status, 0, text)
        self.assertEqual({f.name.split("-")[0] for f in folder.iterdir()},
                         {"nvidia_cuda_runtime", "torch"})

    def test_says_what_would_keep_it_from_fetching(self):
        cache = self.root / "cache/shardscope"
        status, text = self.fetch("--cpu", "--check")
        self.assertEqual((status, list(cache.iterdir())), (0, []), text)
        next(self.wheels.glob("torch-*")).unlink()
        status, text = self.fetch("--cpu", "--check")  # there is no index to ask
        self.assertEqual(status, 1)
        self.assertIn("pip does not get nvidia-cuda-runtime==1 from its package index: ERROR", text)
        self.assertEqual(list(cache.iterdir()), [])

    def test_says_which_programs_are_missing(self):
        bare = self.root / "bare"
        bare.mkdir()
        for program in ("bash", "dirname", "sha256sum", "mkdir", "mktemp", "rm", "paste", "python3"):
            (bare / program).symlink_to(shutil.which(program, path="/usr/bin:/bin") or
                                        shutil.which(program))
        done = subprocess.run(
            [bare / "bash", self.root / "packaging/fetch-libtorch", "--cpu", "--check"],
            capture_output=True, text=True, timeout=60,
            env={"PATH": str(bare), "HOME": str(self.root), "LC_ALL": "C",
                 "XDG_CACHE_HOME": str(self.root / "cache")})
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no unzip", done.stderr)

    def test_one_at_a_time_in_a_folder(self):
        cache = self.root / "cache/shardscope"
        (cache / "fetch.killed").mkdir(parents=True)
        holder = subprocess.Popen(["flock", cache / ".fetch-lock", "sh", "-c", "echo got; read x"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.stdout.close)
        self.assertEqual(holder.stdout.readline(), "got\n")
        second = subprocess.Popen(
            ["bash", self.root / "packaging/fetch-libtorch", "--cpu"], stdout=subprocess.PIPE, text=True,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.root), "LC_ALL": "C",
                 "XDG_CACHE_HOME": str(self.root / "cache"), "SHARDSCOPE_WHEELS": str(self.wheels)})
        self.addCleanup(second.wait)
        self.addCleanup(second.stdout.close)
        self.assertEqual(second.stdout.readline(), "waiting for another fetch-libtorch\n")
        self.assertFalse(self.target.exists())
        holder.stdin.close()
        self.assertEqual(second.wait(60), 0)
        self.assertEqual(self.files(), self.CPU)
        self.assertEqual([each.name for each in cache.glob("*fetch.*")], [])

    def test_options(self):
        self.assertEqual(self.fetch("--help")[0], 0)
        self.assertEqual(self.fetch("--gpu")[0], 2)


if __name__ == "__main__":
    unittest.main()
