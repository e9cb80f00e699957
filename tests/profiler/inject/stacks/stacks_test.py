#!/usr/bin/env python3
"""Python stacks of operators (--stacks) in recordings of real PyTorch programs.

  stacks_test.py --python PYTHON --program SHARDSCOPE [-k NAME]     77 where PYTHON has no PyTorch

Each operator's frames are what `traceback` said on the same line (subject.py).
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest

PYTHON = PROGRAM = ""
SUBJECT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "subject.py")
MOST_FRAMES = 32
LEFT_OUT = ["(outer frames are left out)", "", 0]


def frames_of(arguments):
    return [[each["name"], each["filename"], each["line"]] for each in json.loads(arguments or "{}").get("frames", [])]


class StacksTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.output = os.path.join(self.folder.name, "run.sscope")
        self.environment = {**os.environ, "OMP_NUM_THREADS": "1", "XDG_STATE_HOME": self.folder.name,
                            "OUT": os.path.join(self.folder.name, "said")}

    def run_here(self, *command):
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600,
                              universal_newlines=True, env=self.environment)

    def say(self, *arguments):
        done = self.run_here(PROGRAM, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def said(self):
        """What the processes of the subject said, those with most to expect first."""
        said = []
        for path in glob.glob(self.environment["OUT"] + ".*"):
            with open(path) as file:
                said.append(json.load(file))
            os.remove(path)
        return sorted(said, key=lambda each: -len(each["expected"]))

    def record(self, *command, options=("--stacks",)):
        self.say("record", "-f", *options, "-o", self.output, "--", PYTHON, *command)
        return self.said()

    def query(self, sql):
        answer = json.loads(self.say("query", self.output, sql, "--json"))
        return [dict(zip(answer["columns"], row)) for row in answer["rows"]]

    def negations(self):
        """Number of the place: frames of each time it was passed."""
        found = {}
        for row in self.query("SELECT arguments FROM operators WHERE name = 'aten::neg' ORDER BY start_ns"):
            number = json.loads(row["arguments"])["shapes"][0][0]
            found.setdefault(number, []).append(frames_of(row["arguments"]))
        return found

    def check(self, expected, numbers):
        """As many stacks of each place as given, each the one that traceback saw. PyTorch 2.7 negates one
        number itself where it loads Dynamo."""
        found = {number: [each for each in stacks if not each or "_dynamo" not in each[0][1]]
                 for number, stacks in self.negations().items()}
        for number, times in numbers.items():
            frames = expected[str(number)]
            if len(frames) > MOST_FRAMES:
                frames = frames[:MOST_FRAMES] + [LEFT_OUT]
            self.assertEqual(found.get(number), [frames] * times, "place %d" % number)

    def test_are_those_of_traceback(self):
        expected = self.record(SUBJECT, "situations")[0]["expected"]
        times = {number: 1 for number in (1, 2, 3, 4, 5, 8, 10, 11, 15, 16, 20, 21, 22, 23, 30)}
        self.check(expected, {**times, 6: 3, 40: 200, 41: 200, 42: 200, 43: 200})
        self.assertEqual(len(expected["16"]) > MOST_FRAMES, True)
        held = self.query("SELECT arguments FROM operators WHERE name = 'aten::select' AND depth = 0")
        self.assertIn(expected["50"], [frames_of(row["arguments"]) for row in held])
        nodes = self.query("SELECT arguments FROM operators WHERE name = 'NegatedBackward'")
        self.assertEqual([frames_of(row["arguments"])[-2:] for row in nodes][0], expected["31"][-2:])
        facts = self.query("SELECT value FROM facts WHERE name = 'stacks'")
        self.assertEqual([row["value"] for row in facts], ["recorded"])
        self.check_flame(expected["8"])

    def check_flame(self, frames):
        """Functions stand around the operator in what flame graphs are made of."""
        stacks = [row["stack"] for row in json.loads(self.say("analyze", self.output, "flame", "--json"))["stacks"]]
        name, path, line = frames[0]
        wanted = "%s(%d): %s;aten::neg" % (path, line, name)
        self.assertTrue(any(stack.endswith(wanted) for stack in stacks), wanted)
        self.assertTrue(any(stack.endswith("%s(%d): %s" % (frames[-1][1], frames[-1][2], frames[-1][0])) is False
                            and wanted in stack and "<module>" in stack for stack in stacks))

    def test_inner_operators_have_none_of_their_own(self):
        self.record(SUBJECT, "train")
        rows = self.query("SELECT name, depth, arguments FROM operators ORDER BY start_ns")
        inner = [row for row in rows if row["name"] == "aten::addmm"]
        self.assertTrue(inner)
        self.assertEqual([frames_of(row["arguments"]) for row in inner], [[]] * len(inner))
        outer = [row for row in rows if row["depth"] == 0 and row["name"] == "aten::linear"]
        self.assertTrue(outer)
        self.assertNotIn([], [frames_of(row["arguments"]) for row in outer])

    def test_of_a_script_given_with_c(self):
        self.record("-c", "import torch\nx = torch.ones(7)\ndef f():\n    return x.neg()\nf()\n"
                    "torch.optim.SGD([torch.ones(1, requires_grad=True)], 0.1).step()")
        self.assertEqual(self.negations()[7], [[["f", "<string>", 4], ["<module>", "<string>", 5]]])

    def test_of_a_child_of_fork(self):
        expected = self.record(SUBJECT, "forked")
        self.check(expected[-1]["expected"], {35: 1})

    def test_torch_compile_traces_as_before(self):
        self.record(SUBJECT, "compiled")
        for stacks in self.negations().get(60, []):
            for name, path, line in stacks:
                self.assertNotIn("symbolic_convert", path)

    def test_results_are_bit_identical(self):
        plain = self.run_here(PYTHON, SUBJECT, "train")
        self.assertEqual(plain.returncode, 0, plain.stderr)
        without = self.said()[0]["losses"]
        self.assertEqual(self.record(SUBJECT, "train")[0]["losses"], without)
        self.assertEqual(len(without), 20)

    def test_there_are_none_unless_asked(self):
        self.record(SUBJECT, "situations", options=())
        self.assertEqual(self.query("SELECT count(*) AS n FROM operators WHERE arguments LIKE '%frames%'")[0]["n"], 0)
        self.assertEqual(self.query("SELECT value FROM facts WHERE name = 'stacks'"), [])

    def test_why_there_are_none_is_said(self):
        self.record("-c", "import sys\nsys.implementation.name = 'other'\nimport torch\n"
                    "torch.optim.SGD([torch.ones(1, requires_grad=True)], 0.1).step()")
        said = self.query("SELECT message, remedy FROM diagnostics WHERE code = 'no-stacks'")
        self.assertEqual(len(said), 1)
        self.assertIn("this Python is other", said[0]["message"])
        self.assertIn("--kineto --stacks", said[0]["remedy"])

    def test_options_that_do_not_go_with_it_are_refused(self):
        for options, word in ((["--stacks", "--capture", "light", "--", "true"], "--capture full"),
                              (["--stacks"], "--stacks is about a program")):
            done = self.run_here(PROGRAM, "record", "-f", "-o", self.output, *options)
            self.assertEqual(done.returncode, 2, options)
            self.assertIn(word, done.stderr)


def main():
    global PYTHON, PROGRAM
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--program", required=True)
    options, rest = parser.parse_known_args()
    PYTHON, PROGRAM = options.python, os.path.abspath(options.program)
    if subprocess.run([PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode != 0:
        print("%s has no PyTorch" % PYTHON)
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + rest)


if __name__ == "__main__":
    main()
