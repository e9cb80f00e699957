#!/usr/bin/env python3
"""Runs whose tasks torchrun has started on hosts with addresses and names of their own (its variables are
set as it sets them), over links that are cut, and with a stranger on their network (attacker.py).

  tasks_namespaces_test.py SHARDSCOPE FAKE_RANK [RANK]

Exit status 77 where such hosts cannot be made, with why.
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

import namespaces  # noqa: E402

PATIENCE = 120
PORT = 29500
TOKEN = "a token of sixteen letters"
ATTACKER = pathlib.Path(__file__).resolve().parent / "attacker.py"


def alive(pid: int) -> bool:
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def processes_of(recording) -> dict[int, str]:
    """Those whose command line names the recording, by what they run."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(recording).encode() in (entry / "cmdline").read_bytes():
                found[int(entry.name)] = (entry / "exe").resolve().name
        except OSError:
            pass
    return found


def children(pid) -> list[int]:
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
        found += map(int, (task / "children").read_text().split())
    return found


class Tasks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="sstasks")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.hosts = namespaces.Hosts(cls.folder)
        cls.addClassCleanup(cls.hosts.remove)

    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (self.place / "text.txt").write_text("a text to train on, line by line\n" * 200)
        self.output = self.place / "run.sscope"
        self.tasks = []
        self.addCleanup(self.end)

    def start(self, ranks, *arguments, fake=True, step=5, token=TOKEN, met_at=None):
        """Tasks of two a host; the first of all on node-a, and met there unless it is said where."""
        for rank in ranks:
            node = self.hosts.nodes[rank // 2]
            variables = {
                "PATH": "/usr/bin:/bin", "HOME": self.place, "XDG_RUNTIME_DIR": self.place,
                "RANK": rank, "WORLD_SIZE": 4, "LOCAL_RANK": rank % 2, "LOCAL_WORLD_SIZE": 2,
                "GROUP_RANK": rank // 2, "GROUP_WORLD_SIZE": 2, "TORCHELASTIC_RUN_ID": "none",
                "TORCHELASTIC_RESTART_COUNT": 0, "TORCHELASTIC_USE_AGENT_STORE": False,
                "MASTER_ADDR": met_at or self.hosts.nodes[0].address, "MASTER_PORT": PORT,
                "FAKE_RANK_STEP_MS": step}
            if token:
                variables["SHARDSCOPE_TASK_TOKEN"] = token
            if fake:
                variables["SHARDSCOPE_RANK_PROGRAM"] = PROGRAMS[1]
            words = [PROGRAMS[0], "record", "--data", self.place / "text.txt", "--output",
                     self.output, *arguments]
            with open(self.place / f"said{rank}", "w") as said:
                self.tasks.append(subprocess.Popen(
                    node.command(words), stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                    env={name: str(value) for name, value in variables.items()}))

    def end(self):
        for pid in processes_of(self.output):
            os.kill(pid, signal.SIGKILL)
        for task in self.tasks:
            task.wait()

    def said(self, rank=0) -> str:
        path = self.place / f"said{rank}"
        return path.read_text() if path.exists() else ""

    def statuses(self):
        return [task.wait(timeout=PATIENCE) for task in self.tasks]

    def until(self, holds):
        limit = time.monotonic() + PATIENCE
        while not holds():
            self.assertLess(time.monotonic(), limit, self.said())
            time.sleep(0.05)

    def query(self, sql):
        answer = subprocess.run([PROGRAMS[0], "query", self.output, sql, "--json"], text=True,
                                capture_output=True, check=True)
        return json.loads(answer.stdout)["rows"]

    def shardscopes(self):
        """Of the tasks themselves, by rank."""
        by_rank = {}
        for pid, name in processes_of(self.output).items():
            if name == PROGRAMS[0].name:
                variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode()
                by_rank[int(re.search(r"(?:^|\0)RANK=(\d)", variables)[1])] = pid
        return by_rank

    def start_long(self):
        self.start(range(4), "--steps", "1000000")
        self.until(lambda: " steps  " in self.said())
        tasks = self.shardscopes()
        agents = children(tasks[0]) + children(tasks[2])
        left = agents + [rank for agent in agents for rank in children(agent)]
        self.assertEqual(len(left), 6, "two agents and four ranks")
        self.assertTrue(all(map(alive, left)), "alive before")
        return tasks, left

    def expect_gone(self, pids):
        self.until(lambda: not any(map(alive, pids)))

    def test_tasks_of_two_hosts_are_recorded_with_their_hosts(self):
        self.start(range(4), "--steps", "5")
        self.assertEqual(self.statuses(), [0] * 4, self.said())
        rows = self.query("SELECT name, clock_error_ns FROM hosts ORDER BY host")
        self.assertEqual([row[0] for row in rows], ["node-a", "node-b"])
        self.assertGreater(int(rows[1][1]), 0)
        self.assertEqual(len(self.query("SELECT 1 FROM steps")), 20)
        self.assertEqual([self.said(rank) for rank in (1, 2, 3)], [""] * 3)

    def test_only_the_address_that_was_named_is_listened_on_and_only_until_all_are_there(self):
        self.start([0], "--steps", "1000000")
        node = self.hosts.nodes[0]
        self.until(lambda: 0 in self.shardscopes())
        first = self.shardscopes()[0]
        # The namespace has an ssh server of the test.
        ours = lambda: [place for place in namespaces.listening(first) if not place.endswith(":22")]  # noqa: E731
        self.until(ours)
        self.assertEqual(ours(), [f"{node.address}:{PORT}"])
        self.start([1, 2, 3], "--steps", "1000000")
        self.until(lambda: " steps  " in self.said())
        self.assertNotIn(f"{node.address}:{PORT}", namespaces.listening(first))
        os.kill(first, signal.SIGTERM)
        self.assertEqual(self.statuses(), [130] * 4)

    def test_a_cut_beyond_the_lease_ends_the_run_on_both_sides(self):
        _, left = self.start_long()
        self.hosts.cut(self.hosts.nodes[1])
        try:
            self.assertEqual(self.statuses(), [4] * 4, self.said())
            self.expect_gone(left)  # those behind the cut too
        finally:
            self.hosts.join(self.hosts.nodes[1])
        self.assertIn("was lost", self.said())
        self.assertIn("rank 0's task was lost", self.said(2))
        self.assertGreater(len(self.query("SELECT 1 FROM steps")), 3)

    def test_a_killed_task_of_any_kind_ends_the_run_everywhere(self):
        for killed in range(4):
            with self.subTest(killed=killed):
                self.setUp()
                tasks, left = self.start_long()
                os.kill(tasks[killed], signal.SIGKILL)
                statuses = self.statuses()
                self.assertEqual([statuses[i] for i in range(4) if i != killed], [4] * 3)
                self.expect_gone(left)
                opened = namespaces.run(PROGRAMS[0], "info", self.output)
                self.assertIn("4 ranks", opened.stdout)

    def attack(self, host, mode, *more):
        """A stranger on that host, listening where rank 0's task is looked for."""
        attacker = subprocess.Popen(
            host.command([sys.executable, ATTACKER, mode, host.address, PORT, *more]), text=True,
            stdout=subprocess.PIPE)

        def end():
            attacker.kill()
            attacker.wait()
            attacker.stdout.close()
        self.addCleanup(end)
        self.assertEqual(attacker.stdout.readline(), "ready\n")
        return end

    def test_without_a_secret_tasks_of_several_hosts_are_refused(self):
        self.start(range(4), token=None)
        self.assertEqual(self.statuses(), [2] * 4)
        self.assertIn("set SHARDSCOPE_TASK_TOKEN to the same random word on every host", self.said())
        self.assertFalse(self.output.exists())

    def test_a_stranger_in_rank_zeros_place_has_nothing_run_and_keeps_no_task(self):
        marker = self.place / "pwned"
        end = self.attack(self.hosts.nodes[0], "impostor", marker)
        self.start([2, 3], "--steps", "5")
        self.until(lambda: len(self.shardscopes()) == 2)
        time.sleep(3)  # a dozen tries of each
        self.assertEqual([task.poll() for task in self.tasks], [None, None], self.said(2))
        self.assertFalse(marker.exists())
        end()
        self.start([0, 1], "--steps", "5")
        self.assertEqual(self.statuses(), [0] * 4, self.said())
        self.assertEqual(len(self.query("SELECT 1 FROM steps")), 20)
        self.assertFalse(marker.exists())

    def test_where_the_network_is_trusted_a_strangers_program_is_not_run_either(self):
        marker = self.place / "pwned"
        self.attack(self.hosts.nodes[0], "impostor", marker)
        self.start([2], "--trust-network", token=None)
        self.until(lambda: len(self.shardscopes()) == 1)
        time.sleep(3)
        self.assertFalse(marker.exists())

    def test_a_flood_from_many_addresses_does_not_keep_the_true_tasks_out(self):
        head = self.hosts.head
        sources = [f"{namespaces.NETWORK}.{100 + i}" for i in range(100)]
        for source in sources:
            namespaces.run("ip", "-n", head.namespace, "addr", "add", f"{source}/24", "dev", "bridge")
        self.attack(head, "flood", self.hosts.nodes[0].address, *sources)
        self.start(range(4), "--steps", "5")
        self.assertEqual(self.statuses(), [0] * 4, self.said())

    def test_who_passes_everything_on_is_a_longer_wire_and_no_more(self):
        for mode, statuses in (("relay", [0] * 4), ("inject", None), ("alter", None)):
            with self.subTest(mode=mode):
                self.setUp()
                marker = self.place / "pwned"
                head = self.hosts.head
                end = self.attack(head, mode, self.hosts.nodes[0].address, marker)
                self.start([0, 1], "--steps", "5")
                self.start([2, 3], "--steps", "5", met_at=head.address)
                ended = self.statuses()
                if statuses:
                    self.assertEqual(ended, statuses, self.said())
                else:
                    self.assertNotIn(0, ended, self.said())
                    self.assertIn("was changed, or put in, on its way", self.said(2) + self.said())
                self.assertFalse(marker.exists())
                end()

    def test_real_ranks_train_across_the_link(self):
        if not REAL:
            self.skipTest("no engine was built")
        self.start(range(4), "--model", "tiny", "--vocabulary", "256", "--steps", "4",
                   "--no-calibrate", fake=False)
        self.assertEqual(self.statuses(), [0] * 4, self.said())
        self.assertEqual(len(self.query("SELECT 1 FROM steps")), 16)
        losses = self.query("SELECT value FROM metrics WHERE name = 'loss' ORDER BY step")
        self.assertLess(float(losses[-1][0]), float(losses[0][0]))


if __name__ == "__main__":
    PROGRAMS = [pathlib.Path(word).resolve() for word in sys.argv[1:3]]
    REAL = len(sys.argv) > 3
    if namespaces.why_not():
        print(f"skipped: {namespaces.why_not()}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
