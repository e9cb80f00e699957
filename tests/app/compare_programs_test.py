#!/usr/bin/env python3
"""`shardscope compare` of two really recorded runs of a user's script: the same command compares without a note on
what differs, another one with it; 77 without PyTorch.

  compare_programs_test.py SHARDSCOPE --python PYTHON

Verdicts on times depend on the machine and are not asked for; what is allocated does not.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SECONDS = 300
SCRIPT = """
import sys, torch
torch.set_num_threads(1)
torch.manual_seed(0)
width = int(sys.argv[1])
model = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(16):
    optimizer.zero_grad()
    model(torch.randn(8, width)).square().mean().backward()
    optimizer.step()
"""


class ComparePrograms(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.held = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.held.name)
        (cls.folder / "train.py").write_text(SCRIPT)
        for name, width in (("first", "64"), ("again", "64"), ("wide", "512")):
            cls.record(name, width)

    @classmethod
    def tearDownClass(cls):
        cls.held.cleanup()

    @classmethod
    def record(cls, name, width):
        subprocess.run(
            [PROGRAM, "record", "-o", cls.folder / f"{name}.sscope", "--", PYTHON, "train.py", width],
            cwd=cls.folder, env=dict(os.environ, XDG_RUNTIME_DIR=str(cls.folder)), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, check=True, timeout=SECONDS)

    def compare(self, first, second):
        done = subprocess.run(
            [PROGRAM, "compare", "--json", self.folder / f"{first}.sscope", self.folder / f"{second}.sscope"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=SECONDS)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout), done.stdout

    def verdict(self, compared, figure):
        return next(each["verdict"] for each in compared["figures"] if each["figure"] == figure)

    def test_the_same_command(self):
        compared, text = self.compare("first", "again")
        step = next(each for each in compared["figures"] if each["figure"] == "step.time_ns")
        self.assertGreater(step["first"], 0)
        self.assertIn(step["verdict"], ("improved", "regressed", "no change", "unknown"))
        self.assertEqual(self.verdict(compared, "memory.peak_bytes"), "no change")
        self.assertNotIn("Commands differ", text)

    def test_another_command(self):
        compared, text = self.compare("first", "wide")
        self.assertIn("Commands differ", text)
        self.assertIn("different models", text)
        self.assertEqual(self.verdict(compared, "memory.peak_bytes"), "regressed")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--python", required=True)
    arguments, rest = parser.parse_known_args()
    PROGRAM, PYTHON = arguments.program, arguments.python
    found = subprocess.run([PYTHON, "-c", "import torch"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if found.returncode != 0:
        print(f"skipped: {PYTHON} has no PyTorch")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + rest)
