#!/usr/bin/env python3
"""`shardscope record --control stdio -- CMD`: a program as a front end starts, follows and ends it.

  program_control_test.py SHARDSCOPE

Programs are shell scripts: none of them needs Python's libraries. Nothing depends on how long
anything takes: each test waits for what it is about, or for the recorder's end.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[1]
SECONDS = 120


class ProgramControl(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = str(self.folder / "run.sscope")

    def start(self, *words, options=(), **environment):
        recorder = subprocess.Popen(
            [PROGRAM, "record", "--control", "stdio", "-o", self.output, *options, "--", *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "XDG_RUNTIME_DIR": str(self.folder), **environment})
        self.addCleanup(recorder.stdout.close)
        self.addCleanup(recorder.stderr.close)
        return recorder

    def events(self, recorder, command=None):
        """All events, and the text on standard error, of a run that ends by itself or by `command`."""
        given = (json.dumps(command) + "\n").encode() if command else None
        if given is None:
            # Its end would mean stop.
            out, err = recorder.stdout.read(), recorder.stderr.read()
            recorder.stdin.close()
            recorder.wait(SECONDS)
        else:
            out, err = recorder.communicate(given, SECONDS)
        return [json.loads(line) for line in out.splitlines()], err.decode()

    def await_line(self, recorder, text):
        """Until the program itself says it."""
        for line in recorder.stderr:
            if text in line.decode():
                return
        self.fail(f"the program never said {text}")

    def of(self, events, name):
        return [each for each in events if each["event"] == name]

    def test_events_are_alone_on_standard_output(self):
        recorder = self.start("sh", "-c", "echo to output; echo to error >&2; cat; exit 3")
        events, err = self.events(recorder)
        self.assertIn("to output\n", err)
        self.assertIn("to error\n", err)
        started = self.of(events, "started")[0]
        self.assertEqual(started["output"], self.output)
        self.assertEqual(started["command"],
                         "sh -c 'echo to output; echo to error >&2; cat; exit 3'")
        self.assertEqual((started["model"], started["ranks"], started["steps"]), ("", 0, 0))
        self.assertEqual(events[-1]["event"], "finished")
        self.assertEqual(events[-1]["status"], "failed")
        self.assertEqual(events[-1]["exit_code"], 3)
        self.assertEqual(recorder.returncode, 3)
        self.assertIn("status 3", events[-1]["message"])
        self.assertTrue(self.of(events, "program"), "processes of the program")

    def test_a_program_that_ends_well_has_finished(self):
        events, _ = self.events(self.start("true"))
        self.assertEqual((events[-1]["status"], events[-1]["exit_code"], events[-1]["message"]),
                         ("finished", 0, ""))

    def test_stop_is_sigterm(self):
        recorder = self.start(
            "sh", "-c", "trap 'echo asked; exit 0' TERM; echo ready; while :; do sleep 0.1; done")
        self.await_line(recorder, "ready")
        events, err = self.events(recorder, {"command": "stop"})
        self.assertIn("asked", err)
        self.assertEqual(events[-1]["status"], "stopped")
        self.assertTrue(os.path.exists(self.output))

    def test_a_program_that_is_let_go_runs_to_its_end(self):
        go, printed = self.folder / "go", self.folder / "printed.txt"
        with open(printed, "ab") as file:
            recorder = subprocess.Popen(
                [PROGRAM, "record", "--control", "stdio", "-o", self.output, "--", "sh", "-c",
                 f"echo ready; while [ ! -e {go} ]; do sleep 0.1; done; echo done; exit 7"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file,
                env={**os.environ, "XDG_RUNTIME_DIR": str(self.folder)})
        recorder.stdin.write(b'{"command":"detach"}\n')
        recorder.stdin.flush()
        for line in recorder.stdout:
            if b"goes on when this input ends" in line:
                break
        recorder.stdin.close()
        recorder.stdout.close()
        go.touch()
        self.assertEqual(recorder.wait(SECONDS), 7, "its own status: it was not asked to stop")
        self.assertIn("ready\n", printed.read_text())
        self.assertIn("done\n", printed.read_text())
        told = subprocess.run([PROGRAM, "info", "--json", self.output], capture_output=True)
        self.assertEqual(told.returncode, 0, told.stderr)

    def test_the_end_of_input_is_stop(self):
        recorder = self.start("sh", "-c", "echo ready; exec sleep 1000")
        self.await_line(recorder, "ready")
        recorder.stdin.close()
        events = [json.loads(line) for line in recorder.stdout]
        recorder.wait(SECONDS)
        self.assertEqual((events[-1]["status"], events[-1]["exit_code"]), ("stopped", 143))

    def test_kill_ends_all_of_it(self):
        recorder = self.start(
            "sh", "-c", "trap '' TERM; sleep 1000 & echo child $!; echo ready; wait; sleep 1000")
        child = None
        for line in recorder.stderr:
            words = line.decode().split()
            if words[:1] == ["child"]:
                child = int(words[1])
            if words == ["ready"]:
                break
        events, _ = self.events(recorder, {"command": "kill"})
        self.assertEqual(events[-1]["status"], "killed")
        stat = pathlib.Path(f"/proc/{child}/stat")
        self.assertTrue(not stat.exists() or " Z " in stat.read_text(), "a child of it lives on")

    def test_a_wrong_command_is_a_log_line(self):
        recorder = self.start("sh", "-c", "echo ready; exec sleep 1000")
        self.await_line(recorder, "ready")
        recorder.stdin.write(b'{"command":"dance"}\n')
        events, _ = self.events(recorder, {"command": "stop"})
        self.assertTrue(any("dance" in each["text"] for each in self.of(events, "log")), events)

    def test_folder_and_environment_are_the_programs(self):
        work = self.folder / "a folder"
        work.mkdir()
        recorder = self.start("sh", "-c", 'pwd; echo "$LEVEL,$EMPTY,$PYTHONPATH"',
                              options=("--folder", str(work), "--env", "LEVEL=two words",
                                       "--env", "EMPTY=", "--env", "PYTHONPATH=/of/mine"))
        _, err = self.events(recorder)
        self.assertIn(str(work), err)
        self.assertIn("two words,,", err)
        self.assertIn("/of/mine", err)
        self.assertTrue(os.path.exists(self.output), "the output is no file of that folder")

    def test_what_cannot_start_is_said_in_the_last_event(self):
        missing = str(self.folder / "not-there")
        for words, options, status, part in (
                (("no-such-program-here",), (), 127, "no such program"),
                (("true",), ("--folder", missing), 2, "--folder"),
                (("true",), ("--strategy", "zero3"), 2, "--strategy")):
            with self.subTest(part=part):
                events, err = self.events(self.start(*words, options=options))
                self.assertEqual([each["event"] for each in events], ["finished"], err)
                self.assertEqual(events[0]["exit_code"], status)
                self.assertIn(part, events[0]["message"])

    def test_options_of_programs_are_refused_for_a_training_of_ours(self):
        for option in (("--folder", "/tmp"), ("--env", "A=1"), ("--step-range", "step")):
            with self.subTest(option=option[0]):
                done = subprocess.run([PROGRAM, "record", "-o", self.output, *option],
                                      capture_output=True, text=True, timeout=SECONDS)
                self.assertEqual(done.returncode, 2)
                self.assertIn(option[0], done.stderr)
        done = subprocess.run([PROGRAM, "record", "--env", "=1", "--", "true"], text=True,
                              capture_output=True, timeout=SECONDS)
        self.assertEqual(done.returncode, 2)
        self.assertIn("NAME=VALUE", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
