#!/usr/bin/env python3
"""Runs under a real Slurm, whose nodes are all this machine: by srun within an allocation, and as jobs that are submitted.

  slurm_test.py SHARDSCOPE FAKE_RANK

Exit status 77 where there can be no Slurm, with why.
"""
from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import cluster as slurm  # noqa: E402


def processes_of(recording) -> list[int]:
    """All whose command line names the recording."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(recording).encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def descendants(pid) -> set[int]:
    found = set()
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
        for child in (task / "children").read_text().split():
            found |= {int(child)} | descendants(int(child))
    return found


def alive(pid: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


TOKEN = "a token of sixteen letters"

class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="ssslurm")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.folder.chmod(0o755)  # the user munge goes through it
        (cls.folder / "slurm").mkdir()
        cls.cluster = slurm.Cluster(cls.folder / "slurm")
        cls.addClassCleanup(cls.cluster.remove)

    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (self.place / "text.txt").write_text("a text to train on, line by line\n" * 200)
        self.output = self.place / "run.sscope"
        self.environment = {**self.cluster.environment, "SHARDSCOPE_RANK_PROGRAM": str(FAKE_RANK),
                            "XDG_RUNTIME_DIR": str(self.place), "HOME": str(self.place)}

    def record(self, *arguments):
        return [PROGRAM, "record", "--data", self.place / "text.txt", "--output", self.output,
                *arguments]

    def start(self, words, **environment):
        self.said = open(self.place / "said", "w+")
        self.addCleanup(self.said.close)
        process = subprocess.Popen([str(word) for word in words], cwd=self.place,
                                   env={**self.environment, **environment}, stdout=self.said,
                                   stderr=self.said, stdin=subprocess.DEVNULL)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
            process.wait()
        for job in self.cluster.jobs():
            self.cluster.run("scancel", job, check=False)

    def text(self) -> str:
        return (self.place / "said").read_text()

    def finish(self, process) -> int:
        return process.wait(timeout=slurm.PATIENCE)

    def until(self, process, pattern):
        limit = time.monotonic() + slurm.PATIENCE
        while not re.search(pattern, self.text()):
            self.assertIsNone(process.poll(), self.text())
            self.assertLess(time.monotonic(), limit, self.text())
            time.sleep(0.05)

    def run_to_end(self, words, **environment):
        return self.finish(self.start(words, **environment))

    def query(self, sql):
        answer = subprocess.run([PROGRAM, "query", self.output, sql, "--json"], text=True,
                                capture_output=True, check=True)
        return json.loads(answer.stdout)["rows"]

    def status(self):
        info = subprocess.run([PROGRAM, "info", self.output, "--json"], text=True,
                              capture_output=True, check=True)
        return json.loads(info.stdout)["run"]["status"]

    def running(self):
        """Agents and ranks of the run."""
        found = set()
        for pid in self.tasks():
            found |= descendants(pid)
        return found

    def tasks(self):
        """Of the job; not srun, whose words are the same, nor who follows it."""
        return [pid for pid in processes_of(self.output)
                if pathlib.Path(f"/proc/{pid}/exe").resolve() == PROGRAM.resolve() and
                b"--slurm" not in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]

    def expect_gone(self, pids):
        self.assertTrue(pids)
        limit = time.monotonic() + slurm.PATIENCE
        while any(map(alive, pids)) or processes_of(self.output) or self.cluster.jobs():
            self.assertLess(time.monotonic(), limit, "something is left")
            time.sleep(0.05)

    def test_srun_within_an_allocation_records_a_rank_a_task(self):
        status = self.run_to_end(["srun", "-n", "3", "--overcommit", *self.record("--steps", "5")])
        self.assertEqual(status, 0, self.text())
        self.assertIn("srun has started 3 tasks on 1 host", self.text())
        self.assertEqual(self.text().count("Recorded 5 steps"), 1)
        self.assertEqual(len(self.query("SELECT 1 FROM steps")), 15)

    def test_a_lone_task_has_the_ranks_that_are_asked_for(self):
        status = self.run_to_end(["srun", "-N", "1", "-n", "1", *self.record(
            "--steps", "5", "--ranks", "2", "--launched-by", "slurm")])
        self.assertEqual(status, 0, self.text())
        self.assertEqual(len(self.query("SELECT 1 FROM steps")), 10)

    def test_srun_over_two_nodes_meets_at_the_address_that_is_given(self):
        status = self.run_to_end(["srun", "-p", "both", "-N", "2", "--ntasks-per-node", "2",
                                  *self.record("--steps", "5")], MASTER_ADDR="127.0.0.1",
                                 SHARDSCOPE_TASK_TOKEN=TOKEN)
        self.assertEqual(status, 0, self.text())
        self.assertIn("srun has started 4 tasks on 2 hosts", self.text())
        self.assertEqual(len(self.query("SELECT 1 FROM steps")), 20)

    def test_a_submitted_job_with_one_task_a_node_spreads_its_ranks(self):
        status = self.run_to_end(self.record(
            "--slurm", "--partition both --nodes 2 --ntasks-per-node 1", "--ranks", "4", "--steps",
            "5"), MASTER_ADDR="127.0.0.1")
        self.assertEqual(status, 0, self.text())
        self.assertIn("srun has started 2 tasks on 2 hosts", self.text())
        rows = self.query("SELECT count(*) FROM ranks GROUP BY host")
        self.assertEqual([int(row[0]) for row in rows], [2, 2])

    PROGRAM_WORDS = ("--", "/bin/sh", "-c", "sleep 0.3; echo task $SLURM_PROCID; exit $SLURM_PROCID")

    def test_each_task_of_two_nodes_runs_a_program_that_one_task_records(self):
        status = self.run_to_end(["srun", "-p", "both", "-N", "2", "--ntasks-per-node", "1",
                                  "--kill-on-bad-exit=0", PROGRAM, "record", "-o", self.output,
                                  *self.PROGRAM_WORDS],
                                 MASTER_ADDR="127.0.0.1", SHARDSCOPE_TASK_TOKEN=TOKEN)
        self.assertEqual(status, 1, self.text())
        self.assertIn("task 0\n", self.text())
        self.assertIn("task 1\n", self.text())
        rows = self.query("SELECT exit_code FROM processes WHERE command LIKE '/bin/sh%' ORDER BY 1")
        self.assertEqual([row[0] for row in rows], [0, 1])

    def test_a_program_is_submitted_as_a_job(self):
        status = self.run_to_end([PROGRAM, "record", "--slurm", "--partition both --nodes 2 "
                                  "--ntasks-per-node 1", "-o", self.output, *self.PROGRAM_WORDS],
                                 MASTER_ADDR="127.0.0.1")
        self.assertNotEqual(status, 0, self.text())
        self.assertIn("task 1\n", self.text())
        self.assertEqual(self.status(), "failed")

    def test_a_first_node_without_an_address_is_said(self):
        status = self.run_to_end(["srun", "-p", "both", "-N", "2", "--ntasks-per-node", "1", "-K1",
                                  *self.record("--steps", "5")], SHARDSCOPE_TASK_TOKEN=TOKEN)
        self.assertNotEqual(status, 0)
        self.assertIn("MASTER_ADDR node1: ", self.text())

    def test_tasks_of_two_nodes_without_a_secret_are_told_how_srun_passes_one(self):
        status = self.run_to_end(["srun", "-p", "both", "-N", "2", "--ntasks-per-node", "1",
                                  "--kill-on-bad-exit=0", *self.record("--steps", "5")])
        self.assertEqual(status, 2, self.text())
        self.assertIn("SHARDSCOPE_TASK_TOKEN=$(openssl rand -hex 16)` before srun", self.text())

    def test_a_batch_script_without_srun_is_no_task(self):
        (self.place / "job").write_text("#!/bin/sh\nexec " + " ".join(
            map(str, self.record("--steps", "5", "--ranks", "1"))) + "\n")
        status = self.run_to_end(["sbatch", "--wait", "--ntasks", "2", "--overcommit",
                                  f"--output={self.place}/job.out", self.place / "job"])
        self.assertEqual(status, 0, (self.place / "job.out").read_text())
        self.assertEqual(len(self.query("SELECT 1 FROM steps")), 5)

    def test_a_submitted_job_is_followed_to_its_end(self):
        status = self.run_to_end(self.record("--slurm", "--overcommit --job-name 'a test'", "--ranks",
                                             "3", "--steps", "5"))
        self.assertEqual(status, 0, self.text())
        self.assertRegex(self.text(), r"job \d+: submitted")
        self.assertEqual(self.text().count("Recorded 5 steps"), 1)
        self.assertEqual(len(self.query("SELECT 1 FROM steps")), 15)
        self.assertEqual(len(list(self.place.glob("run.sscope.slurm-*.out"))), 1)

    def test_the_status_of_the_run_is_that_of_the_submission(self):
        status = self.run_to_end(self.record("--slurm", "--overcommit", "--ranks", "2", "--steps", "5"),
                                 FAKE_RANK_MODE="exit")
        self.assertEqual(status, 5, self.text())
        self.assertIn("rank 1 on ", self.text())
        self.assertEqual(self.status(), "failed")

    def test_what_sbatch_refuses_is_said_in_its_words(self):
        status = self.run_to_end(self.record("--slurm", "--partition=nowhere"))
        self.assertEqual(status, 4, self.text())
        self.assertIn("Invalid partition name specified", self.text())
        self.assertFalse(self.output.exists())

    def start_long(self, **environment):
        process = self.start(self.record("--slurm", "--overcommit", "--ranks", "2", "--steps",
                                         "1000000"), FAKE_RANK_STEP_MS="5", **environment)
        self.until(process, r" steps  ")
        self.until(process, r"running on")
        pids = self.running()
        self.assertEqual(len(pids), 3, "an agent and two ranks")
        return process, pids

    def test_an_interrupt_stops_the_run_in_order(self):
        process, pids = self.start_long()
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process), 130, self.text())
        self.assertIn("stopping after this step; once more cancels it", self.text())
        self.expect_gone(pids)
        self.assertEqual(self.status(), "stopped")

    def test_two_interrupts_cancel_the_job(self):
        process, pids = self.start_long(FAKE_RANK_MODE="hang")
        process.send_signal(signal.SIGINT)
        self.until(process, "once more cancels it")
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process), 130, self.text())
        self.expect_gone(pids)

    def test_a_job_that_waits_is_shown_and_cancelled(self):
        process = self.start(self.record("--slurm", "--hold --overcommit", "--steps", "5"))
        self.until(process, r"pending \(JobHeldUser\)")
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process), 130, self.text())
        self.assertEqual(self.cluster.jobs(), [])
        self.assertFalse(self.output.exists())

    def test_a_killed_rank_ends_the_job_with_its_status(self):
        process, pids = self.start_long()
        ranks = [pid for pid in pids
                 if pathlib.Path(f"/proc/{pid}/exe").resolve().name == "fake_rank"]
        self.assertEqual(len(ranks), 2)
        os.kill(ranks[0], signal.SIGKILL)
        self.assertEqual(self.finish(process), 5, self.text())
        self.assertIn("was ended by signal 9 (Killed)", self.text())
        self.expect_gone(pids)
        self.assertEqual(self.status(), "failed")

    def test_a_killed_task_ends_the_job(self):
        process, pids = self.start_long()
        waiting = [pid for pid in self.tasks() if not descendants(pid)]
        self.assertEqual(len(waiting), 1, "the task that is not rank 0's")
        os.kill(waiting[0], signal.SIGKILL)
        self.assertNotEqual(self.finish(process), 0, self.text())
        self.assertRegex(self.text(), r"task 1 on \S+ was lost")
        self.expect_gone(pids)
        self.assertEqual(self.status(), "failed")


if __name__ == "__main__":
    PROGRAM, FAKE_RANK = (pathlib.Path(word) for word in sys.argv[1:3])
    if slurm.why_not():
        print(f"skipped: {slurm.why_not()}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
