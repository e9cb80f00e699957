#!/usr/bin/env python3
"""No writer replaces what is none of its own, nor writes through a symbolic link, with --force or without.

  outside_files_test.py SHARDSCOPE FAKE_RANK [--desktop PROGRAM] [--rank PROGRAM]

Each writer meets each kind of what may lie where its output goes: it refuses by name, and what lies
there keeps its kind, its inode and its bytes. Where nothing lies it writes, so that no other error
counts as a refusal.
"""
import argparse
import json
import os
import pathlib
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import unittest

PARSER = argparse.ArgumentParser()
PARSER.add_argument("program")
PARSER.add_argument("fake_rank")
PARSER.add_argument("--desktop")
PARSER.add_argument("--rank")
GIVEN = PARSER.parse_args()
SECONDS = 300
# Neither text nor JSON nor anything that a verb writes.
PRECIOUS = b"precious\n\0\1\2 words\n\xff\n"

KINDS = ("other", "link to other", "dangling link", "link to own", "folder", "FIFO", "socket")


class Writer:
    """`words` with OUTPUT for the output; `file`: below it, where that is a folder that may be there."""

    def __init__(self, output, *words, file=None, unasked=False, **environment):
        self.output, self.words, self.file, self.environment = output, words, file, environment
        self.unasked = unasked  # replaces its own without --force

    def __str__(self):
        return f"{' '.join(self.words[:5])} -> {self.output}{'/' + self.file if self.file else ''}"


def facts(path):
    """What must stay as it is, of what lies there and of what it leads to."""
    there = os.lstat(path)
    kept = [there.st_mode, there.st_ino, there.st_nlink]
    if stat.S_ISLNK(there.st_mode):
        kept.append(os.readlink(path))
        if os.path.exists(path):
            kept += facts(os.path.realpath(path))
    if stat.S_ISREG(there.st_mode):
        kept.append(pathlib.Path(path).read_bytes())
    if stat.S_ISDIR(there.st_mode):
        kept.append(sorted(os.listdir(path)))
    return kept


class OutsideFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.held = tempfile.TemporaryDirectory(prefix="of")  # short: a socket's name is
        cls.folder = pathlib.Path(cls.held.name)
        cls.environment = {**os.environ, "XDG_STATE_HOME": cls.held.name, "XDG_CACHE_HOME": cls.held.name,
                           "XDG_CONFIG_HOME": cls.held.name, "SHARDSCOPE_RANK_PROGRAM": GIVEN.fake_rank,
                           "QT_QPA_PLATFORM": "offscreen"}
        cls.text = cls.folder / "text.txt"
        cls.text.write_text("one text, two texts and three texts\n" * 40)
        cls.recording = cls.folder / "in.sscope"
        cls.run_it("record", "--data", str(cls.text), "--ranks", "1", "--strategy", "single", "--steps", "2", "-o", str(cls.recording))
        cls.trace = cls.folder / "trace.json"
        cls.trace.write_text(json.dumps({"traceEvents": [
            {"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 5, "dur": 2},
            {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 6, "s": "t",
             "args": {"Device Type": 1, "Device Id": 0, "Bytes": 512, "Addr": 4096, "Total Allocated": 512, "Total Reserved": 1024}}]}))
        cls.snapshot = cls.folder / "snapshot.sscope"
        cls.run_it("import", str(cls.trace), "-o", str(cls.snapshot))
        cls.tokenizer, cls.tokens = cls.folder / "t.json", cls.folder / "t.bin"
        cls.run_it("tokenize", "--train", "--vocabulary", "260", "-o", str(cls.tokenizer), str(cls.text))
        cls.run_it("tokenize", "--tokenizer", str(cls.tokenizer), "-o", str(cls.tokens), str(cls.text))
        cls.checkpoint = cls.folder / "checkpoint"
        if GIVEN.rank:
            cls.run_it("record", "--model", "tiny", "--ranks", "1", "--strategy", "single", "--steps", "1", "--evaluate-every", "0",
                       "--checkpoint", str(cls.checkpoint), "-o", str(cls.folder / "real.sscope"), SHARDSCOPE_RANK_PROGRAM=GIVEN.rank)

    @classmethod
    def tearDownClass(cls):
        cls.held.cleanup()

    @classmethod
    def run_it(cls, *words, status=0, **environment):
        done = subprocess.run([GIVEN.program, *words], env={**cls.environment, **environment}, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=SECONDS)
        if status is not None and done.returncode != status:
            raise AssertionError((words, done.returncode, done.stderr.decode(errors="replace")))
        return done

    def writers(self):
        run, text, data = str(self.recording), str(self.text), ("--data", str(self.text), "--steps", "2")
        yield Writer("o.sscope", "record", "--output", "OUTPUT", *data)
        yield Writer("o.sscope", "import", str(self.trace), "--output", "OUTPUT")
        yield Writer("o.sscope", "repair", run, "--output", "OUTPUT")
        for form, output in (("sscope", "o.sscope"), ("kineto", "o.json.gz"), ("nsys-sqlite", "o.sqlite"), ("folded", "o.txt"),
                             ("perfetto", "o.pftrace"), ("speedscope", "o.speedscope.json"), ("csv", "o.csv"), ("json", "o.json"),
                             ("memory-snapshot", "o.pickle")):
            more = ("--view", "operators") if form == "csv" else ()
            of = str(self.snapshot) if form == "memory-snapshot" else run
            yield Writer(output, "export", of, "--format", form, "--output", "OUTPUT", *more)
        if GIVEN.rank:
            yield Writer("o.safetensors", "export", str(self.checkpoint), "--format", "safetensors", "--output", "OUTPUT")
        yield Writer("o.json", "tokenize", "--train", "--vocabulary", "260", "--output", "OUTPUT", text)
        yield Writer("o.bin", "tokenize", "--tokenizer", str(self.tokenizer), "--output", "OUTPUT", text)
        for name in ("train.bin", "val.bin", "tokenizer.json"):
            yield Writer("tokens", "tokenize", "--tokenizer", str(self.tokenizer), "--output", "OUTPUT", text, file=name)
        yield Writer("o.txt", "tokenize", "--tokenizer", str(self.tokenizer), "--decode", str(self.tokens), "--output", "OUTPUT")
        yield Writer("tuned", "tune", "--over", "batch=4", "--steps", "2", "--data", text, "--output", "OUTPUT", file="best.toml",
                     unasked=True)
        for name in ("bench.md", "bench.csv", "bench.json", "strategies.svg"):
            yield Writer("bench", "bench", "ddp", "--model", "tiny", "--strategy", "zero1", "--steps", "3", "--repetitions", "1",
                         "--output", "OUTPUT", file=name, unasked=True)
        if GIVEN.desktop:
            for form in ("svg", "png", "pdf"):
                yield Writer("o." + form, "report", run, "--dashboard", "OUTPUT", SHARDSCOPE_DESKTOP_PROGRAM=GIVEN.desktop)

    def write(self, writer, place, force):
        words = [str(place / writer.output) if word == "OUTPUT" else word for word in writer.words]
        return self.run_it(*words, *(["--force"] if force else []), status=None, **writer.environment)

    def test_every_writer(self):
        seen = 0
        for writer in self.writers():
            with self.subTest(str(writer)):
                seen += 1
                self.hold(writer)
        self.assertGreater(seen, 18)

    def hold(self, writer):
        fresh = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        own = fresh / writer.output / (writer.file or "")
        own.parent.mkdir(exist_ok=True)
        beside = [own.with_name(own.name + ending) for ending in (".part", ".new", ".tmp", ".partial", ".err", "~")]
        for path in beside:
            path.write_bytes(PRECIOUS)
        done = self.write(writer, fresh, False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(own.is_file())
        names = self.names(fresh)
        for force in (False, True):
            for kind in KINDS:
                place = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
                path = place / writer.output / (writer.file or "")
                if writer.unasked:  # with all else that is in the folder, which saves work
                    shutil.copytree(own.parent, path.parent)
                    path.unlink()
                path.parent.mkdir(exist_ok=True)
                self.lay(kind, path, own)
                before = facts(path)
                done = self.write(writer, place, force)
                what = (kind, force, done.returncode, done.stderr)
                self.assertIn(done.returncode, (2, 3), what)
                self.assertIn(str(path.name), done.stderr.decode(), what)
                self.assertNotIn(b"exists: choose another name, or replace it", done.stderr, what)
                self.assertEqual(facts(path), before, what)
                self.assertFalse([name for name in self.names(place) if ".part-" in name or ".new-" in name], what)
                self.assertEqual((path.parent / "aim").exists(), kind.startswith("link to"), what)
                shutil.rmtree(place)
        # What it wrote itself: when asked.
        again = self.write(writer, fresh, False)
        if writer.unasked:
            self.assertEqual(again.returncode, 0, again.stderr)
        else:
            self.assertEqual(again.returncode, 2, again.stderr)
            self.assertIn(b"--force", again.stderr)
        self.assertEqual(self.write(writer, fresh, True).returncode, 0)
        self.assertEqual(self.names(fresh), names)
        for path in beside:
            self.assertEqual(path.read_bytes(), PRECIOUS, path)

    def test_what_another_program_writes_beside(self):
        python = self.folder / "python"
        python.write_text("#!/bin/sh\necho '{\"torch\": \"2\", \"rows\": []}'\n")
        python.chmod(0o755)
        words = ("bench", "comm", "--sizes", "1KB", "--steps", "2", "--repetitions", "1", "--ranks", "2", "--output")
        for kind in (None, *KINDS):
            folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
            path = folder / "torch_ranks-2_1.json"
            beside = [path.with_name(path.name + ending) for ending in (".partial", ".err", ".part")]
            for each in beside:
                each.write_bytes(PRECIOUS)
            if kind:
                self.lay(kind, path, python)
                before = facts(path)
            done = self.run_it(*words, str(folder), SHARDSCOPE_PYTHON=str(python))
            if kind:
                self.assertEqual(facts(path), before, (kind, done.stderr))
                self.assertIn(path.name, done.stderr.decode(), kind)
            else:
                self.assertEqual(json.loads(path.read_text())["torch"], "2")
            for each in beside:
                self.assertEqual(each.read_bytes(), PRECIOUS, each)

    @staticmethod
    def names(folder):
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))

    @staticmethod
    def lay(kind, path, own):
        aim = path.parent / "aim"
        if kind == "other":
            path.write_bytes(PRECIOUS)
        elif kind.startswith("link to"):
            aim.write_bytes(own.read_bytes() if kind == "link to own" else PRECIOUS)
            path.symlink_to(aim)
        elif kind == "dangling link":
            path.symlink_to(aim)
        elif kind == "folder":
            path.mkdir()
            (path / "mine").write_bytes(PRECIOUS)
        elif kind == "FIFO":
            os.mkfifo(path)
        else:
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(str(path))
            listener.close()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
