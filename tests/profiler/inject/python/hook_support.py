"""What the tests of the start hook share: a stand-in for libshardscope_inject.so, and starting programs
with and without the hook."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
HOOK = os.environ.get("SHARDSCOPE_HOOK_FOLDER") or os.path.normpath(
    os.path.join(HERE, "..", "..", "..", "..", "profiler", "inject", "python")
)
with open(os.path.join(HERE, "..", "..", "..", "..", "profiler", "inject", "inject_api.h"), encoding="utf-8") as api:
    TORCH_START = "torch_start " + re.search(r"SHARDSCOPE_API_VERSION (\d+)", api.read())[1]
OURS = ("SHARDSCOPE_", "FAKE_", "RANK", "WORLD_SIZE", "LOCAL_", "OMPI_", "PMI_", "SLURM_", "PYTHON", "MASTER_")


class Place:
    """A temporary folder with the stand-in, and the programs that tests write."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="shardscope_hook_")
        self.library = os.path.join(self.folder, "libshardscope_inject.so")
        subprocess.run(
            [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-I", os.path.dirname(HOOK)]
            + ["-o", self.library, os.path.join(HERE, "fake_inject.c")],
            check=True,
        )
        self.shims = os.path.join(self.folder, "shims")
        os.mkdir(self.shims)
        self.log = os.path.join(self.folder, "calls.log")

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return path

    def shim(self, name):
        shutil.copy(self.library, os.path.join(self.shims, name))

    def environment(self, hook, path=(), **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
        env["PYTHONPATH"] = os.pathsep.join(([HOOK] if hook else []) + list(path))
        if hook:
            env["SHARDSCOPE_SOCKET"] = os.path.join(self.folder, "socket")
            env["SHARDSCOPE_INJECT"] = self.library
            env["SHARDSCOPE_SHIMS"] = self.shims
            env["FAKE_INJECT_LOG"] = self.log
        env.update({k: v for k, v in more.items() if v is not None})
        for name in [k for k, v in more.items() if v is None]:
            env.pop(name, None)
        return env

    def run(self, command, hook=True, path=(), timeout=300, **more):
        """The finished process; its calls are in .calls, as (pid, text)."""
        if os.path.exists(self.log):
            os.remove(self.log)
        done = subprocess.run(
            command,
            env=self.environment(hook, path, **more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
            timeout=timeout,
            cwd=self.folder,
        )
        done.calls = []
        if os.path.exists(self.log):
            with open(self.log) as file:
                for line in file:
                    pid, text = line.rstrip("\n").split(" ", 1)
                    done.calls.append((int(pid), text))
        done.texts = [text for _, text in done.calls]
        return done


def of_process(done):
    """pid -> its calls, in the order of their first ones"""
    found = {}
    for pid, text in done.calls:
        found.setdefault(pid, []).append(text)
    return found


def python():
    return os.environ.get("HOOK_TEST_PYTHON") or sys.executable
