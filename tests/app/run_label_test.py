#!/usr/bin/env python3
"""What a user calls a run (--name, --tag): recorded by every kind of `record`, shown by info, report, compare and query.

  run_label_test.py SHARDSCOPE FAKE_RANK
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM, FAKE_RANK = sys.argv[1:3]
SECONDS = 120
NAME, TAGS = "wide batch <b>", ["lr=3e-4", "zwölf"]
LABEL = ["--name", NAME, *(word for tag in TAGS for word in ("--tag", tag))]


class RunLabel(unittest.TestCase):
    def setUp(self):
        self.held = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.held.name)
        self.environment = {**os.environ, "SHARDSCOPE_RANK_PROGRAM": FAKE_RANK, "XDG_CACHE_HOME": self.held.name,
                            "XDG_STATE_HOME": self.held.name, "XDG_CONFIG_HOME": self.held.name}
        (self.folder / "text.txt").write_text("some short text\n" * 100)

    def tearDown(self):
        self.held.cleanup()

    def run_it(self, *words, status=0, **environment):
        done = subprocess.run([PROGRAM, *map(str, words)], env={**self.environment, **environment}, cwd=self.folder,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS)
        self.assertEqual(done.returncode, status, (words, done.stderr))
        return done

    def train(self, output, *more):
        self.run_it("record", "--data", "text.txt", "--steps", "3", "--output", output, *more)
        return output

    def label(self, recording):
        run = json.loads(self.run_it("info", recording, "--json").stdout)["run"]
        return run["name"], run["tags"]

    def test_own_training(self):
        run = self.train("own.sscope", *LABEL)
        self.assertEqual(self.label(run), (NAME, TAGS))
        line = json.loads(self.run_it("info", run, "--json").stdout)["run"]["command_line"]
        self.assertTrue(line.endswith("--name 'wide batch <b>' --tag lr=3e-4 --tag 'zwölf'"), line)
        text = self.run_it("info", run).stdout
        self.assertRegex(text, r"(?m)^name +wide batch <b>$")
        self.assertRegex(text, r"(?m)^tags +lr=3e-4, zwölf$")
        report = self.run_it("report", run).stdout
        self.assertTrue(report.startswith("Report of wide batch <b> (own.sscope)\nTags: lr=3e-4, zwölf\n"), report[:200])
        said = json.loads(self.run_it("report", run, "--json").stdout)["run"]
        self.assertEqual((said["name"], said["tags"]), (NAME, TAGS))
        self.assertNotIn("name", said["config"])
        rows = self.run_it("query", run, "SELECT name, value FROM facts WHERE host = -1 ORDER BY name", "--json").stdout
        self.assertEqual(json.loads(rows)["rows"], [["name", NAME], *(["tag:" + tag, tag] for tag in TAGS)])
        self.run_it("info", "--verify", run)

    def test_without(self):
        run = self.train("plain.sscope")
        self.assertEqual(self.label(run), (None, []))
        self.assertNotRegex(self.run_it("info", run).stdout, r"(?m)^(name|tags) ")
        self.assertTrue(self.run_it("report", run).stdout.startswith("Report of plain.sscope\n"))

    def test_run_file(self):
        (self.folder / "run.toml").write_text('name = "from the file"\ntags = ["a", "b"]\nsteps = 3\ndata = "text.txt"\n')
        self.run_it("record", "run.toml", "--output", "file.sscope")
        self.assertEqual(self.label("file.sscope"), ("from the file", ["a", "b"]))
        self.run_it("record", "run.toml", "--output", "flags.sscope", "--name", "of the flags")
        self.assertEqual(self.label("flags.sscope"), ("of the flags", ["a", "b"]))
        for text, fault in (('name = ""\n', "run.toml:1:8: name is empty"), ("name = 3\n", "name must be text in quotes"),
                            ('tags = "a"\n', "run.toml:1:8: tags must be a list"), ('tags = ["\\n"]\n', "cannot be printed")):
            (self.folder / "run.toml").write_text(text)
            self.assertIn(fault, self.run_it("record", "run.toml", status=2).stderr)

    def test_programs(self):
        self.run_it("record", "-o", "program.sscope", *LABEL, "--", "true")
        self.assertEqual(self.label("program.sscope"), (NAME, TAGS))
        self.run_it("record", "-o", "task.sscope", *LABEL, "--", "true", OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="1",
                    OMPI_COMM_WORLD_LOCAL_RANK="0", OMPI_COMM_WORLD_LOCAL_SIZE="1")
        self.assertEqual(self.label("task.sscope"), (NAME, TAGS))
        self.run_it("record", "-o", "hosts.sscope", *LABEL, "--hosts", "localhost", "--", "true")
        self.assertEqual(self.label("hosts.sscope"), (NAME, TAGS))

    def test_slurm_passes_them_on(self):
        binaries = self.folder / "bin"
        binaries.mkdir()
        (binaries / "sbatch").write_text("#!/bin/sh\ncat > script\nexit 1\n")
        (binaries / "sbatch").chmod(0o755)
        path = f"{binaries}:{os.environ['PATH']}"
        for more in ((), ("--", "true")):
            self.run_it("record", "-o", "slurm.sscope", *LABEL, "--slurm", "", *more, status=4, PATH=path)
            script = (self.folder / "script").read_text()
            for words in ("'--name' 'wide batch <b>'", "'--tag' 'lr=3e-4'", "'--tag' 'zwölf'"):
                self.assertEqual(script.count(words), 1, script)

    def test_refusals(self):
        kinds = (["record"], ["record", "--kineto", "--", "true"], ["record", "--", "true"], ["attach"])
        for kind in kinds:
            for words, fault in ((["--name", ""], "is empty"), (["--tag", " "], "is empty"), (["--name", "a\x1bb"], "cannot be printed"),
                                 (["--name", "x" * 201], "has 201 bytes"), (["--tag", "a"] * 21, "the run has 21 tags")):
                said = self.run_it(kind[0], *words, *kind[1:], status=2).stderr
                self.assertIn(fault, said, kind)
                self.assertNotIn("\x1b", said)

    def test_copies_keep_them(self):
        run = self.train("own.sscope", *LABEL)
        self.run_it("export", run, "--format", "sscope", "--steps", "0-1", "--output", "part.sscope")
        self.assertEqual(self.label("part.sscope"), (NAME, TAGS))
        self.run_it("repair", run, "--output", "again.sscope")
        self.assertEqual(self.label("again.sscope"), (NAME, TAGS))

    def test_compare(self):
        first, second = self.train("a.sscope", "--name", "base"), self.train("b.sscope", "--name", "wide", "--tag", "lr=1")
        plain = self.train("c.sscope")

        def said(*words):
            return self.run_it("compare", *words, "--anyway").stdout.splitlines()[0]

        self.assertEqual(said(first, second), "First: base; second: wide.")
        self.assertEqual(said(first, first), "First: a.sscope; second: a.sscope.")
        self.assertEqual(said(first, plain), "First: a.sscope; second: c.sscope.")
        self.assertEqual(said(first, first, second), "First: a.sscope, a.sscope; second: b.sscope.")
        # What they are called is no difference in what they did.
        text = self.run_it("compare", plain, second).stdout
        self.assertIsNone(re.search(r"name|lr=1", text.split("\n", 1)[1].split("\n\n")[0]), text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
