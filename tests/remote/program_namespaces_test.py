#!/usr/bin/env python3
"""Programs that know nothing of each other, recorded together: on hosts reached through ssh, and in tasks
of a launcher (its variables are set as it sets them).

  program_namespaces_test.py SHARDSCOPE

Exit status 77 where such hosts cannot be made, with why.
"""
from __future__ import annotations

import json
import os
import pathlib
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
STEPS = 5
TRAIN = f"""
import os, sys, time
import shardscope
print("place", os.environ.get("PET_NODE_RANK"), os.environ.get("MASTER_ADDR"), flush=True)
for step in range({STEPS}):
    with shardscope.range("work"):
        time.sleep(0.01)
    shardscope.metric("loss", 1 / (step + 1))
    shardscope.step()
ready = os.environ.get("READY")
wait = os.environ.get("WAIT", "") and os.environ["WAIT"] + "-" + os.uname().nodename
if ready:
    open(ready + "-" + str(os.getpid()), "w").close()
while wait and not os.path.exists(wait):
    time.sleep(0.02)
sys.exit(int(os.environ.get("STATUS_OF_" + os.uname().nodename.replace("-", "_"), 0)))
"""


def alive(pid: int) -> bool:
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="ssprog")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.hosts = namespaces.Hosts(cls.folder)
        cls.addClassCleanup(cls.hosts.remove)

    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        self.output = self.place / "run.sscope"
        self.script = self.place / "train.py"
        self.script.write_text(TRAIN)
        self.started = []
        self.addCleanup(self.end)

    def end(self):
        for process in self.started:
            process.kill()
            process.communicate()

    def start(self, host, variables, *words):
        environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.place,
                       "XDG_RUNTIME_DIR": self.place, **variables}
        process = subprocess.Popen(
            host.command([PROGRAM, "record", "-f", "-o", self.output, *words]), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.place,
            env={name: str(value) for name, value in environment.items()})
        self.started.append(process)
        return process

    def on_hosts(self, *options, names="node-a,node-b"):
        return self.start(self.hosts.head, {}, "--hosts", names, "--ssh-command",
                          f"ssh -F {self.folder}/client", *options, "--", "/usr/bin/python3", self.script)

    def in_tasks(self, ranks, token=TOKEN, **more):
        """Of four, two on each node."""
        started = []
        for rank in ranks:
            variables = {"RANK": rank, "WORLD_SIZE": 4, "LOCAL_RANK": rank % 2, "LOCAL_WORLD_SIZE": 2,
                         "MASTER_ADDR": self.hosts.nodes[0].address, "MASTER_PORT": PORT, **more}
            if token:
                variables["SHARDSCOPE_TASK_TOKEN"] = token
            started.append(self.start(self.hosts.nodes[rank // 2], variables, "--", "/usr/bin/python3",
                                      self.script))
        return started

    def query(self, sql):
        answer = subprocess.run([PROGRAM, "query", self.output, sql, "--json"], text=True,
                                capture_output=True, check=True)
        return json.loads(answer.stdout)["rows"]

    def pids_ready(self, count):
        limit = time.monotonic() + PATIENCE
        while len(found := list(self.place.glob("ready-*"))) < count:
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.05)
        return [int(each.name.partition("-")[2]) for each in found]

    def expect_gone(self, pids):
        limit = time.monotonic() + PATIENCE
        while any(map(alive, pids)):
            self.assertLess(time.monotonic(), limit, "programs are left")
            time.sleep(0.05)

    def test_a_program_runs_on_each_host_and_knows_its_place(self):
        for turn in range(2):
            run = self.on_hosts("--env", "STATUS_OF_node_b=3")
            out, err = run.communicate(timeout=PATIENCE)
            self.assertEqual(run.returncode, 3, err)
            address = self.hosts.nodes[0].address
            self.assertEqual(sorted(out.splitlines()), [f"node-a: place 0 {address}",
                                                        f"node-b: place 1 {address}"], err)
            self.assertEqual([row[0] for row in self.query("SELECT name FROM hosts ORDER BY host")],
                             ["node-a", "node-b"])
            self.assertEqual(self.query("SELECT rank, host FROM ranks ORDER BY rank"), [[0, 0], [1, 1]])
            self.assertEqual(len(self.query("SELECT 1 FROM steps")), 2 * STEPS)
            rows = self.query("SELECT host, exit_code FROM processes ORDER BY host")
            self.assertEqual(rows, [[0, 0], [1, 3]])
        # What Python has compiled there does not make the package another one.
        for node in self.hosts.nodes:
            packages = [each.name for each in (node.folder / "cache/shardscope").iterdir()]
            self.assertEqual(len(packages), 1, packages)

    def test_a_program_that_is_not_there_is_said_by_host(self):
        run = self.on_hosts("--folder", "/nowhere/at/all")
        _, err = run.communicate(timeout=PATIENCE)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("/nowhere/at/all", err)

    def test_an_interrupt_ends_the_programs_everywhere(self):
        run = self.on_hosts("--env", f"READY={self.place}/ready", "--env", f"WAIT={self.place}/never")
        pids = self.pids_ready(2)
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=PATIENCE)
        self.expect_gone(pids)
        self.assertIn("stopped, ", namespaces.run(PROGRAM, "info", self.output).stdout, err)

    def test_a_host_that_is_cut_off_is_named_and_its_program_ended(self):
        run = self.on_hosts("--env", f"READY={self.place}/ready", "--env", f"WAIT={self.place}/go")
        pids = self.pids_ready(2)
        self.hosts.cut(self.hosts.nodes[1])
        try:
            self.expect_lost(run)
            self.expect_gone(pids)
        finally:
            self.hosts.join(self.hosts.nodes[1])

    def expect_lost(self, run):
        limit = time.monotonic() + PATIENCE
        line = ""
        while "node-b was lost" not in line:
            self.assertLess(time.monotonic(), limit)
            line = run.stderr.readline()
        (self.place / "go-node-a").write_text("1")
        _, err = run.communicate(timeout=PATIENCE)
        self.assertIn("failed, ", namespaces.run(PROGRAM, "info", self.output).stdout, err)

    def test_each_task_runs_its_own_program_and_gives_its_status(self):
        tasks = self.in_tasks(range(4), STATUS_OF_node_b=4)
        said = [task.communicate(timeout=PATIENCE) for task in tasks]
        self.assertEqual([task.returncode for task in tasks], [0, 0, 4, 4], said)
        for out, _ in said:
            self.assertTrue(out.startswith("place None"), said)
        self.assertEqual([row[0] for row in self.query("SELECT name FROM hosts ORDER BY host")],
                         ["node-a", "node-b"])
        self.assertEqual(self.query("SELECT rank, host FROM ranks ORDER BY rank"),
                         [[0, 0], [1, 0], [2, 1], [3, 1]])
        self.assertEqual(len(self.query("SELECT 1 FROM steps")), 4 * STEPS)

    def test_nothing_listens_while_the_programs_of_tasks_run(self):
        tasks = self.in_tasks(range(4), READY=self.place / "ready", WAIT=self.place / "go")
        pids = self.pids_ready(4)
        places = {place for pid in pids for place in namespaces.listening(pid)}
        self.assertEqual([place for place in places if not place.endswith(":22")], [])
        for node in self.hosts.nodes:
            (self.place / f"go-{node.name}").write_text("1")
        for task in tasks:
            task.communicate(timeout=PATIENCE)
        self.assertEqual([task.returncode for task in tasks], [0] * 4)

    def test_a_task_without_the_program_is_said_and_the_others_run(self):
        missing = self.hosts.nodes[1].folder / "only-on-a"
        tasks = []
        for rank in (0, 1):
            variables = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1,
                         "MASTER_ADDR": self.hosts.nodes[0].address, "MASTER_PORT": PORT,
                         "SHARDSCOPE_TASK_TOKEN": TOKEN}
            words = ("/bin/sh", "-c", "exit 6") if rank == 0 else (missing,)
            tasks.append(self.start(self.hosts.nodes[rank], variables, "--", *words))
        said = [task.communicate(timeout=PATIENCE)[1] for task in tasks]
        self.assertEqual([task.returncode for task in tasks], [6, 127], said)
        self.assertIn(f"task 1 on node-b: {missing}", said[0])
        self.assertIn(f"{missing}", said[1])

    def test_options_that_are_wrong_end_all_tasks_at_once(self):
        variables = {"WORLD_SIZE": 2, "MASTER_ADDR": self.hosts.nodes[0].address, "MASTER_PORT": PORT,
                     "SHARDSCOPE_TASK_TOKEN": TOKEN}
        tasks = [self.start(self.hosts.nodes[rank], {**variables, "RANK": rank, "LOCAL_RANK": 0,
                                                     "LOCAL_WORLD_SIZE": 1},
                            *(("--steps", "5") if rank == 0 else ()), "--", "/bin/true")
                 for rank in (1, 0)]
        said = [task.communicate(timeout=PATIENCE)[1] for task in tasks]
        self.assertEqual([task.returncode for task in tasks], [2, 2], said)

    def test_tasks_of_several_hosts_need_a_secret(self):
        tasks = self.in_tasks(range(4), token=None)
        said = [task.communicate(timeout=PATIENCE)[1] for task in tasks]
        self.assertEqual([task.returncode for task in tasks], [2] * 4)
        self.assertIn("SHARDSCOPE_TASK_TOKEN", said[0])
        self.assertFalse(self.output.exists())


if __name__ == "__main__":
    PROGRAM = pathlib.Path(sys.argv[1]).resolve()
    if namespaces.why_not():
        print(f"skipped: {namespaces.why_not()}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
