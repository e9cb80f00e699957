#!/usr/bin/env python3
"""Runs over hosts with addresses and names of their own, and over links that are cut.

  remote_namespaces_test.py SHARDSCOPE FAKE_RANK [RANK LIBTORCH]

Exit status 77 where such hosts cannot be made, with why.
"""
from __future__ import annotations

import contextlib
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import namespaces  # noqa: E402

LIBTORCH_NAME = "libtorch-2.11.0"
PATIENCE = 120


def alive(pid: int) -> bool:
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


class Run:
    """`shardscope record` on the first host, driven by JSON lines."""

    def __init__(self, hosts, program, folder, arguments):
        self.output = folder / "run.sscope"
        (folder / "text.txt").write_text("a text to train on, line by line\n" * 200)
        words = [program, "record", "--data", folder / "text.txt", "--output", self.output,
                 "--force", "--hosts", "node-a:2,node-b:2", "--ssh-command",
                 f"ssh -F {hosts.folder}/client", "--control", "stdio", *arguments]
        self.lines = []
        self.process = subprocess.Popen(
            hosts.head.command(words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(folder),
                 "XDG_RUNTIME_DIR": str(folder)})

    def read_until(self, holds):
        for line in self.process.stdout:
            event = json.loads(line)
            self.lines.append(event)
            if holds(event):
                return
        raise AssertionError(f"the run ended: {self.lines[-5:]}")

    def steps(self):
        return [event["step"] for event in self.lines if event["event"] == "step"]

    def pids(self):
        return {event["pid"] for event in self.lines if event["event"] == "rank"}

    def finish(self):
        """What it said last."""
        for line in self.process.stdout:
            self.lines.append(json.loads(line))
        self.close()
        return self.lines[-1]

    def abandon(self):
        """What a test that failed left running."""
        if self.process.poll() is None:
            self.process.kill()
            self.close()

    def close(self):
        for stream in (self.process.stdin, self.process.stdout):
            stream.close()
        self.process.wait(timeout=PATIENCE)


class Remote(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="ssns")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.hosts = namespaces.Hosts(cls.folder)
        cls.addClassCleanup(cls.hosts.remove)
        cls.fake = cls.place("fake", PROGRAMS[1])
        cls.place_libtorch(LIBTORCH)

    @classmethod
    def place(cls, name, rank):
        """A folder with the program and what is to be its rank."""
        folder = cls.folder / name
        folder.mkdir()
        shutil.copy(PROGRAMS[0], folder / "shardscope")
        shutil.copy(rank, folder / "shardscope-rank")
        return folder / "shardscope"

    @classmethod
    def place_libtorch(cls, folder):
        """In the cache of each host; without one a fake rank has nothing to load."""
        for node in cls.hosts.nodes:
            cache = node.folder / "cache/shardscope"
            cache.mkdir(parents=True)
            if folder:
                (cache / LIBTORCH_NAME).symlink_to(folder)
            else:
                torch = cache / LIBTORCH_NAME / "torch/lib"
                torch.mkdir(parents=True)
                (torch / "libtorch_cpu.so").write_text("")

    def start(self, *arguments, program=None):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        run = Run(self.hosts, program or self.fake, folder, arguments)
        self.addCleanup(run.abandon)
        return run

    def query(self, run, sql):
        answer = subprocess.run([PROGRAMS[0], "query", run.output, sql, "--json"], text=True,
                                capture_output=True, check=True)
        return json.loads(answer.stdout)["rows"]

    def expect_gone(self, pids, seconds):
        until = time.monotonic() + seconds
        while any(map(alive, pids)):
            self.assertLess(time.monotonic(), until, "ranks are left")
            time.sleep(0.05)

    def test_hosts_have_their_names_and_reach_each_other(self):
        run = self.start("--steps", "5")
        end = run.finish()
        self.assertEqual((end["status"], end["message"]), ("finished", ""))
        rows = self.query(run, "SELECT name, clock_error_ns FROM hosts ORDER BY host")
        self.assertEqual([row[0] for row in rows], ["node-a", "node-b"])
        self.assertTrue(all(0 < int(row[1]) < 1_000_000_000 for row in rows), rows)
        self.assertEqual(len(self.query(run, "SELECT 1 FROM steps")), 20)

    def test_real_ranks_train_across_the_link(self):
        if RANK is None:
            self.skipTest("no engine was built")
        run = self.start("--model", "tiny", "--vocabulary", "256", "--steps", "4",
                         "--no-calibrate", program=self.place("real", RANK))
        end = run.finish()
        self.assertEqual((end["status"], end["message"]), ("finished", ""))
        self.assertEqual(len(self.query(run, "SELECT 1 FROM steps")), 16)

    def answering(self, places):
        """Those that take a connection from the first host."""
        program = ("import socket, sys\n"
                   "for place in sys.argv[1:]:\n"
                   "    address, port = place.split(':')\n"
                   "    with socket.socket() as end:\n"
                   "        end.settimeout(1)\n"
                   "        if end.connect_ex((address, int(port))) == 0:\n"
                   "            print(place)\n")
        words = self.hosts.head.command([sys.executable, "-c", program, *places])
        return set(subprocess.run(words, text=True, capture_output=True, check=True).stdout.split())

    def expect_only_ssh_servers_answer(self, *arguments):
        run = self.start("--model", "tiny", "--vocabulary", "256", "--steps", "1000000",
                         "--no-calibrate", *arguments, program=self.real())
        run.read_until(lambda event: event["event"] == "step" and event["step"] >= 2)
        places = {place for pid in run.pids() for place in namespaces.listening(pid)}
        self.assertEqual(self.answering(places), {f"{node.address}:22" for node in self.hosts.nodes})
        self.assertEqual(len(places), 6, "each rank's Gloo keeps its port, which does not answer")
        shown = b""
        for pid in self.hosts.processes():
            for name in ("cmdline", "environ"):
                with contextlib.suppress(OSError):  # it has ended meanwhile
                    shown += pathlib.Path(f"/proc/{pid}/{name}").read_bytes()
        run.process.send_signal(signal.SIGINT)
        end = run.finish()
        self.assertEqual(end["status"], "stopped")
        shown += run.output.read_bytes() + json.dumps(run.lines).encode()
        for table in ("run", "meta", "hosts", "ranks", "diagnostics"):
            shown += json.dumps(self.query(run, f"SELECT * FROM {table}")).encode()
        for known in (b"node-a:2,node-b:2", b"shardscope-rank", b"checksum.run"):
            self.assertTrue(known in shown, known)
        self.assertEqual(re.findall(rb"[0-9a-f]{64}", shown), [], "a key of the run is shown")

    def test_only_ssh_servers_answer_while_ranks_train(self):
        self.expect_only_ssh_servers_answer()

    def test_only_ssh_servers_answer_while_ranks_encrypt(self):
        self.expect_only_ssh_servers_answer("--encrypt")

    def measure(self, verb, *arguments):
        """What it prints, of real ranks on both hosts."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        words = [self.real(), *verb, "--hosts", "node-a:1,node-b:1", "--ssh-command",
                 f"ssh -F {self.hosts.folder}/client", "--json", *arguments]
        done = subprocess.run(self.hosts.head.command(words), text=True, capture_output=True, cwd=folder,
                              env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(folder),
                                   "XDG_RUNTIME_DIR": str(folder)})
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def real(self):
        if RANK is None:
            self.skipTest("no engine was built")
        there = self.folder / "measuring"
        return there / "shardscope" if there.is_dir() else self.place("measuring", RANK)

    def test_collectives_are_measured_across_the_link(self):
        found = self.measure(("bench", "comm"), "--sizes", "4kB,256kB", "--operations", "all-reduce",
                             "--steps", "20", "--repetitions", "1")
        rows = found["collectives"]
        self.assertEqual({row["hosts"] for row in rows}, {2})
        self.assertEqual({row["ranks"] for row in rows}, {2})
        self.assertEqual({row["size_bytes"] for row in rows}, {4_000, 256_000})
        # Unknown where the hosts' clocks are further apart than it took, as on a busy machine.
        known = [row["time_ns"] for row in rows if row["rounds"] > 0]
        self.assertTrue(known and all(time > 0 for time in known), rows)
        self.assertTrue(all(row["time_ns"] is None for row in rows if row["rounds"] == 0), rows)

    def test_hosts_are_calibrated_together(self):
        found = self.measure(("calibrate",), "--quick")
        self.assertEqual(found["host"], "node-a")
        self.assertEqual({cost["hosts"] for cost in found["collectives"]}, {2})
        self.assertEqual({cost["ranks"] for cost in found["collectives"]}, {2})
        self.assertIn("matmul", {rate["figure"] for rate in found["machine"]})

    def test_hosts_that_do_not_reach_each_other_are_named(self):
        # head reaches both; what they send each other goes nowhere.
        for node, other in zip(self.hosts.nodes, reversed(self.hosts.nodes)):
            namespaces.run("ip", "-n", node.namespace, "route", "add", "blackhole",
                           f"{other.address}/32")
        try:
            end = self.start("--steps", "5").finish()
        finally:
            for node, other in zip(self.hosts.nodes, reversed(self.hosts.nodes)):
                namespaces.run("ip", "-n", node.namespace, "route", "del", "blackhole",
                               f"{other.address}/32")
        self.assertEqual(end["exit_code"], 4)
        self.assertIn("node-b", end["message"])
        self.assertIn("interface", end["message"])

    def test_a_cut_of_five_seconds_is_survived_without_loss(self):
        run = self.start("--steps", "300")
        run.read_until(lambda event: event["event"] == "step" and event["step"] >= 10)
        self.hosts.cut(self.hosts.nodes[1])
        time.sleep(5)
        self.hosts.join(self.hosts.nodes[1])
        end = run.finish()
        self.assertEqual((end["status"], end["message"]), ("finished", ""))
        self.assertEqual(len(self.query(run, "SELECT 1 FROM steps")), 4 * 300)
        self.assertEqual(run.steps(), list(range(300)))

    def test_over_a_slow_link_steps_come_first_and_events_are_fetched(self):
        self.hosts.set_environment("FAKE_RANK_SPANS=40000")
        self.addCleanup(self.hosts.set_environment, "")
        steps = 30
        run = self.start("--steps", str(steps))
        run.read_until(lambda event: event["event"] == "host" and event["state"] == "ready"
                       and event["name"] == "node-b")
        if not self.hosts.slow(self.hosts.nodes[1], "2mbit"):
            run.process.kill()
            run.close()
            self.skipTest("no token bucket (tbf)")
        self.addCleanup(self.hosts.quick, self.hosts.nodes[1])
        end = run.finish()
        self.assertEqual((end["status"], end["message"]), ("finished", ""))
        fetching = [i for i, event in enumerate(run.lines)
                    if event["event"] == "host" and event["state"] == "fetching"]
        told = [i for i, event in enumerate(run.lines) if event["event"] == "step"]
        self.assertTrue(fetching, "the link was not too slow")
        self.assertEqual(len(told), steps)
        self.assertLess(told[-1], fetching[0], "steps waited behind events")
        self.assertEqual(self.query(run, "SELECT sum(count) FROM chunks WHERE kind = 1"),
                         [[4 * steps * 40000]])

    def test_a_cut_beyond_the_lease_ends_the_run_on_both_sides(self):
        run = self.start("--steps", "1000000")
        run.read_until(lambda event: event["event"] == "step" and event["step"] >= 10)
        pids = run.pids()
        self.assertEqual(len(pids), 4)
        self.assertTrue(all(map(alive, pids)))
        self.hosts.cut(self.hosts.nodes[1])
        try:
            end = run.finish()
            self.expect_gone(pids, 30)  # those behind the cut too
        finally:
            self.hosts.join(self.hosts.nodes[1])
        self.assertEqual((end["status"], end["exit_code"]), ("failed", 4))
        self.assertIn("node-b was lost", end["message"])
        self.assertGreater(len(self.query(run, "SELECT 1 FROM steps")), 20)

    def test_a_link_that_is_lost_one_way_between_two_hosts_is_named(self):
        for node, other in (self.hosts.nodes, self.hosts.nodes[::-1]):
            run = self.start("--steps", "1000000", "--model", "tiny", "--vocabulary", "256",
                             "--threads", "1", "--no-calibrate", "--collective-timeout", "5",
                             program=self.real())
            run.read_until(lambda event: event["event"] == "step" and event["step"] >= 10)
            pids = run.pids()
            self.hosts.lose(node, other)
            try:
                end = run.finish()
            finally:
                self.hosts.find(node, other)
            self.expect_gone(pids, 30)
            self.assertEqual((end["status"], end["exit_code"]), ("failed", 5))
            self.assertRegex(end["message"], "^the network between node-[ab] and node-[ab] is down")
            rows = self.query(run, "SELECT code, rank FROM diagnostics WHERE severity = 3")
            self.assertEqual(rows, [["run-failed", None]])

    def test_a_killed_recorder_leaves_nothing_anywhere(self):
        run = self.start("--steps", "1000000")
        run.read_until(lambda event: event["event"] == "step" and event["step"] >= 10)
        pids = run.pids()
        self.assertTrue(all(map(alive, pids)))
        run.process.send_signal(signal.SIGKILL)
        run.close()
        self.expect_gone(pids, 15)


if __name__ == "__main__":
    PROGRAMS = [pathlib.Path(word) for word in sys.argv[1:3]]
    RANK = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
    LIBTORCH = pathlib.Path(sys.argv[4]) if len(sys.argv) > 4 else None
    if namespaces.why_not():
        print(f"skipped: {namespaces.why_not()}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
