"""Where the programs are, and the recordings that are made with them."""
from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import os
import pathlib
import random
import time

from . import queries
from .commands import Commands
from .kernels import Kernel, Step
from .results import Failed, Skipped


@dataclasses.dataclass
class Recording:
    path: pathlib.Path
    seconds: float       # of the command
    ended_unix: float    # when it had ended


def torch_folder():
    """Found without importing it, which takes seconds. None: no PyTorch."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        return None
    return pathlib.Path(spec.submodule_search_locations[0])


def library_folders(bundle_lib, torch):
    """Our libraries, LibTorch's, and those of all NVIDIA wheels beside it."""
    folders = [bundle_lib] if bundle_lib.is_dir() else []
    if torch is not None:
        folders.append(torch / "lib")
        folders += sorted((torch.parent / "nvidia").glob("*/lib"))
    return folders


class Session(Commands):
    def __init__(self, bin_folder, work, peers=None, reference=None, budget=520.0, tiny=False):
        super().__init__(work, budget)
        self.bin = pathlib.Path(bin_folder)
        # Absolute: programs run in the working folder.
        self.peers = pathlib.Path(peers).absolute() if peers else None
        self.reference = pathlib.Path(reference).absolute() if reference else None
        self.tiny = tiny
        self.torch = torch_folder()
        self.libraries = library_folders(self.bin.parent / "lib", self.torch)
        inherited = os.environ.get("LD_LIBRARY_PATH", "")
        self.environment["LD_LIBRARY_PATH"] = ":".join(
            filter(None, [*map(str, self.libraries), inherited]))
        self._recordings = {}
        self._help = None

    def program(self, name):
        path = self.bin / name
        if not path.exists():
            raise Skipped(f"{name} is not in {self.bin}")
        return path

    def shardscope(self, *arguments, **more):
        return self.json([self.program("shardscope"), *arguments, "--json"], **more)

    def has_option(self, name):
        """Of `record`: not every build has every one."""
        if self._help is None:
            self._help = self.run([self.program("shardscope"), "record", "--help-all"])
        return name in self._help.replace(",", " ").split()

    def text(self):
        """Something to train on: a bundle has no source tree. The same words every time."""
        path = self.work / "text.txt"
        if not path.exists():
            draw = random.Random(0)
            words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9)))
                     for _ in range(2000)]
            path.write_text("".join(" ".join(draw.choices(words, k=12)) + ".\n"
                                    for _ in range(20000)))
        return path

    def record(self, name, arguments, environment=None) -> Recording:
        path = self.work / f"{name}.sscope"
        began = time.monotonic()
        self.run([self.program("shardscope"), "record", *arguments, "--data", self.text(),
                  "--output", path, "--force", "--json"], environment=environment)
        return Recording(path, time.monotonic() - began, time.time())

    def shared_recording(self, name, arguments) -> Recording:
        """Made once for all checks that look at it; so is its failure."""
        if name not in self._recordings:
            try:
                self._recordings[name] = self.record(name, arguments)
            except Failed as reason:
                self._recordings[name] = reason
        made = self._recordings[name]
        if isinstance(made, Failed):
            raise made
        return made

    def report(self, recording):
        return self.shardscope("report", recording.path)

    def query(self, recording, sql):
        """Rows as `shardscope query` gives them; null is None."""
        return self.shardscope("query", recording.path, sql)["rows"]

    def steps(self, recording, rank=0) -> list[Step]:
        return [Step(*map(int, row))
                for row in self.query(recording, queries.STEPS.format(rank=rank))]

    def kernels(self, recording, rank=0) -> list[Kernel]:
        return [Kernel.of(row) for row in self.query(recording, queries.KERNELS.format(rank=rank))]

    def attention(self, recording):
        """`--attention` with what this run chose, for runs that are compared with each other."""
        chosen = ""
        with contextlib.suppress(IndexError):
            chosen = self.query(recording, queries.ATTENTION)[0][0] or ""
        known = chosen in ("cudnn", "flash") and self.has_option("--attention")
        return ["--attention", chosen] if known else []
