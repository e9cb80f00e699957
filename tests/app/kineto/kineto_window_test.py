#!/usr/bin/env python3
"""`record --kineto` and `attach` with processes that ask for work as PyTorch's profiler library does.

  kineto_window_test.py SHARDSCOPE

No PyTorch: fake_rank_of_kineto.py is what the program's processes run. Nothing depends on how long
anything takes, but for a limit after which a test has failed.
"""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = sys.argv[1]
FAKE = str(pathlib.Path(__file__).with_name("fake_rank_of_kineto.py"))
SECONDS = 120


class Window(unittest.TestCase):
    def setUp(self):
        self.held = tempfile.TemporaryDirectory(prefix="kw", dir="/tmp")
        self.folder = pathlib.Path(self.held.name)
        self.output = self.folder / "run.sscope"
        self.processes = []
        self.note = self.folder / "note"  # where the program's processes look for their daemon

    def tearDown(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()
        self.held.cleanup()

    def check_nothing_is_left(self):
        self.assertTrue(self.note.read_text().startswith("/tmp/shardscope-kineto-"))
        self.assertFalse(os.path.exists(self.note.read_text()))

    def start(self, *words, **environment):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("KINETO") and k not in ("RANK", "WORLD_SIZE")}
        process = subprocess.Popen(words, env={**clean, **environment}, text=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.processes.append(process)
        return process

    def record(self, *program, options=()):
        return self.start(PROGRAM, "record", "--kineto", "--after", "0s", "--wait", "4s", *options, "-o",
                          str(self.output), "--", sys.executable, FAKE, *program, FAKE_FOLDER_FILE=str(self.note))

    def attach(self, *options, pids=()):
        return self.start(PROGRAM, "attach", "--wait", "20s", *options, "-o", str(self.output), *map(str, pids))

    def wait_for(self, holds, what):
        end = time.monotonic() + SECONDS
        while not holds():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.05)

    def end(self, process):
        """Its status and what it has said; its program ends with its standard input."""
        out, err = process.communicate(timeout=SECONDS)
        return process.returncode, out + err

    def recorded(self, process):
        """The recording is there while the program goes on."""
        self.wait_for(lambda: self.output.exists() or process.poll() is not None, "no recording")
        return self.end(process)

    def info(self):
        done = subprocess.run([PROGRAM, "info", "--json", str(self.output)], capture_output=True, text=True,
                              timeout=SECONDS, check=True)
        return json.loads(done.stdout)

    def query(self, sql):
        done = subprocess.run([PROGRAM, "query", "--json", str(self.output), sql], capture_output=True, text=True,
                              timeout=SECONDS, check=True)
        return json.loads(done.stdout)["rows"]

    def diagnostics(self, code):
        return [row[0] for row in self.query(f"SELECT message FROM diagnostics WHERE code = '{code}'")]

    def ranks(self):
        return sorted(row[0] for row in self.query("SELECT DISTINCT rank FROM operators"))

    def test_two_ranks_and_their_launcher_are_one_recording(self):
        process = self.record("--launch", "2")
        status, said = self.recorded(process)
        self.assertEqual(status, 7, said)  # the program's
        self.assertEqual(self.ranks(), [0, 1], said)
        self.assertIn("window of 500.00 ms", self.diagnostics("kineto-window")[0])
        self.assertIn("no memory events", self.diagnostics("kineto-window")[0])
        self.assertIn("starts ranks and is none", self.diagnostics("process-left-out")[0])
        self.assertEqual(self.diagnostics("rank-not-recorded"), [])
        self.check_nothing_is_left()

    def test_steps_are_taken_where_they_are_asked_for(self):
        process = self.record("--launch", "2", options=("--window-steps", "4", "--from-step", "10"))
        self.recorded(process)
        self.assertEqual(self.query("SELECT rank, count(*) FROM operators WHERE name = 'aten::mm' GROUP BY rank "
                                    "ORDER BY rank"), [[0, 5], [1, 5]])
        self.assertEqual(self.query("SELECT rank, count(*) FROM steps GROUP BY rank ORDER BY rank"), [[0, 4], [1, 4]])

    def faulty(self, fault, words):
        process = self.record("--launch", "2", "--fault", fault)
        status, said = self.recorded(process)
        self.assertEqual(status, 7, said)
        self.assertEqual(self.ranks(), [0], said)
        missing = self.diagnostics("rank-not-recorded")
        self.assertEqual(len(missing), 1, missing)
        self.assertIn("rank 1", missing[0])
        self.assertIn(words, missing[0])
        self.assertIn(words, said)
        self.check_nothing_is_left()

    def test_a_rank_that_dies(self):
        self.faulty("dies", "it ended before its trace was written")

    def test_a_rank_that_never_writes(self):
        self.faulty("silent", "wrote no trace")

    def test_a_rank_whose_profiler_is_busy(self):
        self.faulty("busy", "another trace went on in it")

    def test_a_broken_file(self):
        self.faulty("broken", "cannot be read")

    def test_nothing_asks(self):
        process = self.record("--plain")
        status, said = self.end(process)
        self.assertEqual(status, 0, said)
        self.assertFalse(self.output.exists())
        self.assertIn("no process asked for work", said)
        self.assertIn("has not loaded PyTorch", said)

    def test_a_program_that_ends_before_its_window(self):
        process = self.record("--launch", "2", options=("--after", "3600s",))
        self.wait_for(lambda: any(self.clients()), "no rank")
        status, said = self.end(process)
        self.assertEqual(status, 7, said)
        self.assertFalse(self.output.exists())
        self.assertIn("before the window", said)

    def clients(self):
        if self.note.exists() and self.note.read_text():
            yield from pathlib.Path(self.note.read_text()).glob("dynoconfigclient*")

    def ranks_in(self, folder, count):
        """Processes that run already, and ask there."""
        started = [self.start(sys.executable, FAKE, KINETO_USE_DAEMON="1", KINETO_IPC_SOCKET_DIR=str(folder),
                              RANK=str(rank), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(count),
                              WORLD_SIZE=str(count)) for rank in range(count)]
        self.wait_for(lambda: len(list(folder.glob("dynoconfigclient*"))) == count, "ranks do not ask")
        return started

    def test_attach_finds_the_folder_of_named_processes(self):
        ranks = self.ranks_in(self.folder, 2)
        status, said = self.end(self.attach(pids=[rank.pid for rank in ranks]))
        self.assertEqual(status, 0, said)
        self.assertEqual(self.ranks(), [0, 1])
        self.assertEqual(list(self.folder.glob("shardscope-*")), [])
        self.assertEqual([rank.poll() for rank in ranks], [None, None])

    def test_attach_to_all_in_a_folder(self):
        self.ranks_in(self.folder, 2)
        status, said = self.end(self.attach("--socket-dir", str(self.folder), "--window-steps", "3"))
        self.assertEqual(status, 0, said)
        self.assertEqual(self.ranks(), [0, 1])

    def test_attach_names_what_is_missing(self):
        ranks = self.ranks_in(self.folder, 1)
        other = self.start(sys.executable, FAKE, "--plain")
        self.wait_for(lambda: b"--plain" in pathlib.Path(f"/proc/{other.pid}/cmdline").read_bytes(), "not started")
        status, said = self.end(self.attach("--wait", "3s", "--socket-dir", str(self.folder),
                                            pids=[ranks[0].pid, other.pid]))
        self.assertEqual(status, 5, said)
        self.assertIn("KINETO_USE_DAEMON is not in its environment", said)
        self.assertEqual(self.ranks(), [0])

    def test_attach_without_anything_to_attach_to(self):
        status, said = self.end(self.attach("--wait", "1s", "--socket-dir", str(self.folder)))
        self.assertEqual(status, 4, said)
        self.assertIn("no process asked for work", said)
        self.assertFalse(self.output.exists())

    def test_another_daemon_is_left_alone(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as daemon:
            daemon.bind(str(self.folder / "dynolog"))
            status, said = self.end(self.attach("--socket-dir", str(self.folder)))
        self.assertEqual(status, 1, said)
        self.assertIn("another daemon", said)

    def test_attach_ends_by_interrupt(self):
        process = self.attach("--wait", "3600s", "--socket-dir", str(self.folder))
        self.wait_for(lambda: (self.folder / "dynolog").exists(), "no socket")
        process.send_signal(signal.SIGINT)
        status, said = self.end(process)
        self.assertEqual(status, 130, said)
        self.assertFalse((self.folder / "dynolog").exists())

    def test_options_that_mean_nothing_are_refused(self):
        for words, why in (((PROGRAM, "record", "--window", "1s", "--", "true"), "add --kineto"),
                           ((PROGRAM, "record", "--kineto"), "name one"),
                           ((PROGRAM, "record", "--kineto", "--capture", "full", "--", "true"), "means nothing"),
                           ((PROGRAM, "record", "--kineto", "--window", "1x", "--", "true"), "write it like"),
                           ((PROGRAM, "attach", "--window", "0s"), "records nothing")):
            status, said = self.end(self.start(*words))
            self.assertEqual(status, 2, said)
            self.assertIn(why, said)
        status, said = self.end(self.start(PROGRAM, "record", "--kineto", "--", "/no/such/program"))
        self.assertEqual(status, 127, said)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
