#!/usr/bin/env python3
"""FLOPs that a recording of a PyTorch program has against FlopCounterMode's of the same model, and
the number of its parameters.

  flops_test.py --python PYTHON --program SHARDSCOPE [-k NAME]     77 where PYTHON has no PyTorch
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

PYTHON = PROGRAM = ""
SUBJECTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "subjects.py")

# Of the GPT: 3 layers of 2 x 3 heads of 8, 11 tokens.
SCORES = 2 * (2 * 3) * 11 * 11 * 8
LAYERS = 3


class FlopsTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def record(self, name, ranks=0, options=(), program=SUBJECTS, text=None, **environment):
        """(what FlopCounterMode counted, recording)"""
        if text is not None:
            program = os.path.join(self.folder.name, name + ".py")
            with open(program, "w") as file:
                file.write(text)
        output = os.path.join(self.folder.name, name + ".sscope")
        command = [PYTHON, program, name]
        if ranks:
            command = [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks),
                       program, name]
        done = subprocess.run(
            [PROGRAM, "record", "-f", "-o", output, *options, "--", *command],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=600,
            env={**os.environ, "OMP_NUM_THREADS": "1", "XDG_STATE_HOME": self.folder.name, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        counted = [json.loads(each) for each in re.findall(r"counted (\{.*?\})", done.stdout)]
        return counted[0] if counted else {}, output

    def say(self, *arguments):
        done = subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def efficiency(self, recording):
        return json.loads(self.say("analyze", recording, "efficiency", "--json"))

    def facts(self, recording, rank=0):
        return {each["name"]: each["value"] for each in json.loads(self.say("info", recording, "--json"))["facts"]
                if each["rank"] == rank}

    def rows(self, answer, table):
        self.assertIn(table, answer)
        return answer[table]

    def flops(self, recording):
        """(forward, backward, computed again) of a step, of each rank, all of which are alike."""
        rows = self.rows(self.efficiency(recording), "step_flops")
        found = [(row["forward_flops"], row["backward_flops"], row["again_flops"]) for row in rows]
        for row in rows:
            self.assertEqual(row["unknown_operators"], 0)
            self.assertGreater(row["steps"], 0)
        self.assertEqual(len(set(found)), 1, found)
        return found[0]

    def test_equals_flop_counter(self):
        for name in ("gpt_math", "convolutions", "products"):
            with self.subTest(name):
                counted, recording = self.record(name)
                self.assertEqual(self.flops(recording), (counted["forward"], counted["backward"], 0))
                self.assertGreater(counted["forward"], 0)

    def test_attention_of_cpus_is_not_in_flop_counter(self):
        counted, recording = self.record("gpt")
        forward, backward, again = self.flops(recording)
        # Two products of a layer forward, five backward, one of which computes the scores again.
        self.assertIn(forward - counted["forward"], (LAYERS * 2 * SCORES, 0))
        self.assertIn(backward - counted["backward"], (LAYERS * 5 * SCORES, 0))
        self.assertEqual(again, LAYERS * SCORES)

    def test_weights_of_groups(self):
        counted, recording = self.record("grouped")
        forward, backward, _ = self.flops(recording)
        self.assertEqual(forward, counted["forward"])
        # FlopCounterMode takes the gradient of a weight in 4 groups for that of one without groups.
        # The first layer asks for no gradient of its input.
        weight = 2 * 2 * 17 * 8 * 1 * 3
        self.assertIn(counted["backward"] - backward, (3 * weight, 0))

    def test_what_checkpoints_compute_again(self):
        counted, recording = self.record("checkpoint")
        forward, backward, again = self.flops(recording)
        self.assertEqual(forward, counted["forward"])
        # A checkpoint stops within its last product, as soon as it has what that needs: it has begun, and
        # is not computed.
        last = LAYERS * 2 * 22 * 96 * 24
        self.assertIn(backward - counted["backward"], (last, 0))
        _, plain = self.record("gpt_math")
        self.assertEqual(self.flops(plain)[:2], (forward, backward - again))
        self.assertGreater(again, 0)

    def test_ranks_and_parameters(self):
        alone, recording = self.record("gpt")
        one = self.flops(recording)
        self.assertEqual(self.facts(recording)["parameters"], str(alone["parameters"]))
        for name in ("ddp", "fsdp2"):
            with self.subTest(name):
                counted, recording = self.record(name, ranks=2)
                self.assertEqual(self.flops(recording), one)
                # Tied weights once, and shards of FSDP2 once.
                facts = [self.facts(recording, rank) for rank in (0, 1)]
                whole = alone["parameters"]
                self.assertEqual([each["parameters"] for each in facts], [str(whole)] * 2)
                self.assertEqual([each["parameter_bytes"] for each in facts], [str(4 * whole)] * 2)
                here = [int(each["parameter_bytes_of_rank"]) for each in facts]
                self.assertEqual(sum(here), 4 * whole * (2 if name == "ddp" else 1))

    def test_gradients_of_the_first_step(self):
        counted, recording = self.record("gpt_math")
        said = json.loads(self.say(
            "query", recording, "--json", "SELECT step, sum(size_bytes) AS size FROM memory_events WHERE "
            "category = 'layer gradients' AND action = 'allocate' AND step < 2 GROUP BY step ORDER BY step"))
        rows = said["rows"] if isinstance(said, dict) else said
        sizes = [row["size"] if isinstance(row, dict) else row[1] for row in rows]
        self.assertEqual([int(each) for each in sizes], [4 * counted["parameters"]] * 2)

    def test_tokens_and_peak(self):
        text = """
import shardscope, torch
model = shardscope.model(torch.nn.Linear(8, 16), tokens_per_step=40)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    model(torch.ones(40, 8)).sum().backward(); optimizer.step(); optimizer.zero_grad()
"""
        _, recording = self.record("tokens", text=text)
        answer = self.efficiency(recording)
        variants = {row["variant"]: row for row in self.rows(answer, "variants")}
        self.assertEqual(list(variants), ["operators", "6N"])
        self.assertAlmostEqual(variants["6N"]["flops_per_token"], 6 * (8 * 16 + 16))
        self.assertEqual(variants["operators"]["flops_per_step"], 2 * 2 * 40 * 8 * 16)
        self.assertTrue(any("shardscope calibrate" in each for each in answer["unknown"]), answer["unknown"])
        # Below full, 6 N x tokens is what there is.
        _, recording = self.record("tokens", text=text, options=("--capture", "steps"))
        answer = self.efficiency(recording)
        self.assertEqual([row["variant"] for row in self.rows(answer, "variants")], ["6N"])

    def covered(self, recording, begin, end):
        """Of the time from `begin` to `end`, what operators of any thread cover; ranges are none."""
        spans = json.loads(self.say(
            "query", recording, "--json", "SELECT start_ns, end_ns FROM operators WHERE name NOT LIKE 'Optimizer.%%' "
            "AND start_ns < %d AND end_ns > %d ORDER BY start_ns" % (end, begin)))["rows"]
        until, time = begin, 0
        for start, stop in spans:
            time += max(0, min(stop, end) - max(start, until))
            until = max(until, min(stop, end))
        return time

    def test_each_step_and_what_lies_outside_of_operators(self):
        text = """
import time, torch
class Looping(torch.optim.SGD):
    def step(self, closure=None):
        with torch.no_grad():
            for each in self.param_groups[0]["params"]:
                time.sleep(0.004)
                each.add_(each.grad, alpha=-0.1)
model = torch.nn.Linear(8, 16)
optimizer = Looping(model.parameters(), lr=0.1)
for step in range(8):
    model(torch.ones(40, 8)).sum().backward(); optimizer.step(); optimizer.zero_grad()
"""
        _, recording = self.record("looping", text=text)
        answer = json.loads(self.say("analyze", recording, "efficiency", "--per-step", "--json"))
        rows = self.rows(answer, "mfu_by_step")
        steps = json.loads(self.say("query", recording, "--json",
                                    "SELECT step, start_ns, end_ns FROM steps ORDER BY step"))["rows"]
        self.assertEqual([row["step"] for row in rows], [step for step, _, _ in steps])
        for row, (_, begin, end) in zip(rows, steps):
            self.assertEqual(row["flops"], 2 * 2 * 40 * 8 * 16)
            self.assertIsNone(row["mfu_pct"])  # this host was not calibrated
            self.assertAlmostEqual(row["outside_pct"], 100 * (1 - self.covered(recording, begin, end) / (end - begin)))
            # An optimizer that loops in Python is outside between its operators: 2 parameters.
            self.assertGreater(row["outside_pct"] / 100 * row["time_ns"], 0.99 * 2 * 4e6)
        _, recording = self.record("looping", text=text, options=("--capture-steps", "4-5"))
        rows = self.rows(json.loads(self.say("analyze", recording, "efficiency", "--per-step", "--json")), "mfu_by_step")
        known = {row["step"]: row["flops"] for row in rows if row["flops"] is not None}
        self.assertEqual(set(known), {4, 5})
        for row in rows:
            if row["step"] not in known:
                self.assertIn("--capture full records operators", row["why"])

    def test_says_how_to_get_what_is_missing(self):
        _, recording = self.record("gpt", options=("--capture", "steps"))
        unknown = " ".join(self.efficiency(recording)["unknown"])
        self.assertIn("--capture full", unknown)
        self.assertIn("tokens_per_step", unknown)
        report = self.say("report", recording)
        self.assertIn("--capture full", report)


def main():
    global PYTHON, PROGRAM
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True)
    parser.add_argument("--program", required=True)
    options, rest = parser.parse_known_args()
    PYTHON, PROGRAM = options.python, os.path.abspath(options.program)
    found = subprocess.run([PYTHON, "-c", "import torch; print(torch.__version__)"], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, universal_newlines=True)
    if found.returncode != 0:
        print("skipped: %s has no PyTorch" % PYTHON)
        sys.exit(77)
    print("PyTorch", found.stdout.strip())
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
