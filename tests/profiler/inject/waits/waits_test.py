#!/usr/bin/env python3
"""Waits of PyTorch programs within forward and backward, in recordings.

  waits_test.py --python PYTHON --program SHARDSCOPE [-k NAME]     77 where PYTHON has no PyTorch

Nothing here depends on how fast or busy the machine is: recorded times are compared with each other and
with clocks that the program read around the same calls, never with a bound.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import unittest

PYTHON = PROGRAM = ""
SUBJECT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "subject.py")

NAMES = {
    "work": "torch.distributed.Work.wait",
    "future": "torch.futures.Future.wait",
    "functional": "_c10d_functional::wait_tensor",
    "synchronous": "torch.distributed.Work.wait",
}
STEPS = 5  # of the subject
SHORTEST_NS = 5000  # of a wait that is a phase


def long_ones(waits):
    return [(begin, end) for begin, end in waits if end - begin >= SHORTEST_NS]


class WaitsTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def say(self, *arguments, environment=None):
        done = subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600,
                              universal_newlines=True, env={**os.environ, **(environment or {})})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def record(self, kind, capture="full"):
        """(what each rank says, recording)"""
        output = os.path.join(self.folder.name, kind + "_" + capture)
        launch = [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", SUBJECT, kind]
        self.say("record", "-f", "--capture", capture, "-o", output + ".sscope", "--", *launch, environment={
            "OMP_NUM_THREADS": "1", "XDG_STATE_HOME": self.folder.name, "OUT": output})
        said = []
        for rank in (0, 1):
            with open("%s.%d" % (output, rank)) as file:
                said.append(json.load(file))
        return said, output + ".sscope"

    def query(self, recording, sql):
        answer = json.loads(self.say("query", recording, sql, "--json"))
        return [dict(zip(answer["columns"], row)) for row in answer["rows"]]

    def waits(self, recording, kind, rank):
        """(begin, end) of each within steps, as spans of the thread that waits."""
        rows = self.query(recording, "SELECT start_ns, end_ns FROM operators WHERE name = '%s' AND rank = %d AND "
                                     "step < %d ORDER BY start_ns" % (NAMES[kind], rank, STEPS))
        return [(row["start_ns"], row["end_ns"]) for row in rows]

    def wait_phases(self, recording, rank):
        rows = self.query(recording, "SELECT start_ns, end_ns FROM phases WHERE phase = 'wait' AND rank = %d AND "
                                     "step < %d ORDER BY start_ns" % (rank, STEPS))
        return [(row["start_ns"], row["end_ns"]) for row in rows]

    def check_ledger(self, recording, rank, waits):
        """Waits for a collective are no part of what the rank computed."""
        ledger = json.loads(self.say("analyze", recording, "steps", "--json"))["ranks"][rank]
        self.assertEqual(ledger["rank"], rank)
        parts = {name: value for name, value in ledger.items()
                 if name.endswith("_ns") and name not in ("wall_ns", "blocked_reduction_ns")}
        self.assertEqual(sum(parts.values()), ledger["wall_ns"])
        collectives = self.query(recording, "SELECT start_ns, end_ns FROM collectives WHERE rank = %d" % rank)
        for_collectives = [(begin, end) for begin, end in waits
                           if any(each["start_ns"] < end and each["end_ns"] > begin for each in collectives)]
        worked = sum(parts[name] for name in ("compute_ns", "optimizer_ns", "data_ns"))
        phases = self.query(recording, "SELECT sum(duration_ns) AS time FROM phases WHERE rank = %d AND step < %d"
                            % (rank, STEPS))[0]["time"]
        self.assertLessEqual(worked, phases - sum(end - begin for begin, end in for_collectives))

    def test_waits_within_backward(self):
        for kind in NAMES:
            with self.subTest(kind):
                said, recording = self.record(kind)
                for rank in (0, 1):
                    waits = self.waits(recording, kind, rank)
                    self.assertEqual(len(waits), STEPS)
                    # Its clock was read around each of them.
                    self.assertLessEqual(sum(end - begin for begin, end in waits), said[rank]["waited"])
                    phases = self.wait_phases(recording, rank)
                    self.assertEqual(phases, long_ones(waits))
                    self.check_ledger(recording, rank, phases)
                self.check_late_rank(recording, self.waits(recording, kind, 0))

    def check_late_rank(self, recording, waits):
        """Rank 0 waits at least until rank 1 has come."""
        arrived = self.query(recording, "SELECT issue_ns FROM collectives WHERE rank = 1 AND operation = 'all-reduce' "
                                        "ORDER BY sequence")
        self.assertEqual(len(arrived), STEPS)
        for (_, end), collective in zip(waits, arrived):
            self.assertGreater(end, collective["issue_ns"])

    def test_levels(self):
        for kind in ("work", "functional"):
            with self.subTest(kind):
                said, light = self.record(kind, "light")
                for rank in (0, 1):
                    waits = self.waits(light, kind, rank)
                    self.assertEqual(len(waits), STEPS)
                    self.assertLessEqual(sum(end - begin for begin, end in waits), said[rank]["waited"])
                    self.assertEqual(self.wait_phases(light, rank), long_ones(waits))
        _, steps = self.record("work", "steps")
        self.assertEqual(self.query(steps, "SELECT * FROM operators"), [])
        self.assertEqual(self.query(steps, "SELECT * FROM phases"), [])


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--python", required=True)
    ap.add_argument("--program", required=True)
    args, rest = ap.parse_known_args()
    PYTHON, PROGRAM = args.python, args.program
    found = subprocess.run([PYTHON, "-c", "import torch"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if found.returncode != 0:
        print("skipped: %s has no PyTorch" % PYTHON)
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + rest)
