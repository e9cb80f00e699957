#!/usr/bin/env python3
"""`shardscope record -o FILE -- CMD ARG...`: the command behaves as without us, and its processes are recorded.

  record_program_test.py SHARDSCOPE

Nothing waits for a fixed time: programs wait for files that the test makes or removes.
"""
import json
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[1]
SECONDS = 120


class RecordProgram(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.output = self.folder / "run.sscope"
        self.ready = self.folder / "ready"
        self.environment = dict(os.environ, READY=str(self.ready), XDG_RUNTIME_DIR=str(self.folder))

    def command(self, *program, options=()):
        return [PROGRAM, "record", "-o", str(self.output), *options, "--", *program]

    def record(self, *program, options=(), **more):
        more = {"stdin": subprocess.DEVNULL, **more} if "input" not in more else more
        return subprocess.run(
            self.command(*program, options=options), cwd=self.folder, env=self.environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS, **more)

    def shell(self, script, **more):
        return self.record("sh", "-c", script, **more)

    def query(self, sql):
        asked = subprocess.run(
            [PROGRAM, "query", "--json", str(self.output), sql], stdout=subprocess.PIPE, check=True,
            timeout=SECONDS)
        return json.loads(asked.stdout)["rows"]

    def report(self):
        asked = subprocess.run(
            [PROGRAM, "report", "--json", str(self.output)], stdout=subprocess.PIPE, check=True, timeout=SECONDS)
        return json.loads(asked.stdout)

    def processes(self):
        return self.report()["processes"]

    def expect_sound(self):
        checked = subprocess.run(
            [PROGRAM, "info", "--verify", str(self.output)], stdout=subprocess.PIPE, timeout=SECONDS)
        self.assertEqual(checked.returncode, 0, checked.stdout)

    def wait_for_ready(self, of):
        """Until the program has made the file; an end without it is one of the test's."""
        while not self.ready.exists():
            self.assertIsNone(of.poll(), "it ended before it was ready")
            select.select([], [], [], 0.01)

    # Exit status ----------------------------------------------------------------------------

    def test_status_and_output_are_the_programs(self):
        done = self.shell("echo out; echo err >&2; exit 7")
        self.assertEqual(done.returncode, 7)
        self.assertEqual(done.stdout, b"out\n")
        self.assertIn(b"err\n", done.stderr)
        self.expect_sound()
        (program,) = self.processes()
        self.assertEqual((program["role"], program["exit_code"], program["rank"]), ("program", 7, None))
        self.assertEqual(program["command"].split()[0], "sh")
        self.assertEqual(self.report()["run"]["status"], "failed")

    def test_a_signal_is_128_and_its_number(self):
        self.assertEqual(self.shell("kill -9 $$").returncode, 128 + signal.SIGKILL)
        self.assertEqual(self.processes()[0]["exit_signal"], signal.SIGKILL)
        self.expect_sound()

    def test_standard_input_is_the_programs(self):
        done = self.record("cat", input=b"text\0text")
        self.assertEqual((done.returncode, done.stdout), (0, b"text\0text"))

    def test_a_program_that_is_not_there_is_127(self):
        done = self.record("no-such-program")
        self.assertEqual(done.returncode, 127)
        self.assertIn(b"no-such-program", done.stderr)
        self.assertFalse(self.output.exists())

    def test_a_program_that_cannot_be_executed_is_126(self):
        text = self.folder / "text"
        text.write_text("text")
        self.assertEqual(self.record(str(text)).returncode, 126)
        self.assertFalse(self.output.exists())
        text.chmod(0o755)  # but no program
        text.write_bytes(b"\x7fELF no program")
        done = self.record(str(text))
        self.assertEqual(done.returncode, 126, done.stderr)

    def test_torchrun_alone_on_several_hosts_is_refused(self):
        run = self.record("torchrun", "--standalone", "train.py", options=("--hosts", "node-a,node-b"))
        self.assertEqual(run.returncode, 2)
        self.assertIn(b"--standalone starts ranks on one host only", run.stderr)
        self.assertFalse(self.output.exists())

    def test_a_script_without_an_interpreter_is_the_shells(self):
        script = self.folder / "script"
        script.write_text("echo $0 $1; exit 3\n")
        script.chmod(0o755)
        done = self.record("./script", "an argument")
        self.assertEqual((done.returncode, done.stdout), (3, b"./script an argument\n"), done.stderr)
        script.write_text("")
        self.assertEqual(self.record("./script", options=["--force"]).returncode, 0)

    def test_what_cannot_be_asked_for_starts_nothing(self):
        marker = self.folder / "ran"
        for options, words in ((["--dry-run"], "--dry-run is about"), (["--json"], "--json is about"),
                               (["--step-range", "("], "( is not a regular expression")):
            with self.subTest(options=options):
                done = self.record("touch", str(marker), options=options)
                self.assertEqual(done.returncode, 2)
                self.assertIn(words, done.stderr.decode())
                self.assertFalse(marker.exists() or self.output.exists())

    def test_a_program_without_dashes_before_it_is_explained(self):
        done = subprocess.run([PROGRAM, "record", "torchrun", "--nproc-per-node", "2", "train.py"],
                              stderr=subprocess.PIPE, timeout=SECONDS)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"follows --", done.stderr)

    def test_a_low_limit_of_open_files_is_the_programs(self):
        limited = ["sh", "-c", 'ulimit -n 16; exec "$@"', "sh", *self.command("sh", "-c", "ulimit -n; exit 3")]
        done = subprocess.run(limited, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS)
        self.assertEqual((done.returncode, done.stdout), (3, b"16\n"), done.stderr)

    def test_an_output_that_exists_is_kept(self):
        self.output.write_text("mine")
        marker = self.folder / "ran"
        self.assertEqual(self.shell(f"touch {marker}").returncode, 2)
        self.assertEqual(self.output.read_text(), "mine")
        self.assertFalse(marker.exists())
        self.output.unlink()
        self.assertEqual(self.shell("exit 0").returncode, 0)
        self.assertEqual(self.shell("exit 0").returncode, 2, "a recording, without --force")
        self.assertEqual(self.shell("exit 3", options=["--force"]).returncode, 3)

    # Signals ---------------------------------------------------------------------------------

    def test_a_signal_to_the_recorder_reaches_the_program(self):
        script = "trap 'echo caught; exit 5' TERM; echo >$READY; while :; do sleep 0.01; done"
        started = subprocess.Popen(
            self.command("sh", "-c", script), cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.wait_for_ready(started)
        started.send_signal(signal.SIGTERM)
        out, _ = started.communicate(timeout=SECONDS)
        self.assertEqual((started.returncode, out), (5, b"caught\n"))
        self.expect_sound()

    # Terminal --------------------------------------------------------------------------------

    def on_terminal(self, script, then):
        """Runs it in a session whose terminal is ours; `then` gets the terminal once the program is ready."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execve(PROGRAM, self.command("sh", "-c", script), self.environment)
        said = b""
        acted = False
        while True:
            readable, _, _ = select.select([terminal], [], [], 0.01)
            if readable:
                try:
                    got = os.read(terminal, 65536)
                except OSError:  # the last process that had it has ended
                    break
                if not got:
                    break
                said += got
            if not acted and self.ready.exists():
                acted = True
                then(terminal)
        _, status = os.waitpid(pid, 0)
        os.close(terminal)
        return os.waitstatus_to_exitcode(status), said

    def test_the_terminal_is_the_programs(self):
        script = "test -t 0 && test -t 1 && test -t 2 && echo >$READY && read line && echo got $line"
        status, said = self.on_terminal(script, lambda terminal: os.write(terminal, b"a line\n"))
        self.assertEqual(status, 0, said)
        self.assertIn(b"got a line", said)

    def test_ctrl_c_ends_the_program_and_finishes_the_recording(self):
        script = "echo >$READY; while :; do sleep 0.01; done"
        status, said = self.on_terminal(script, lambda terminal: os.write(terminal, b"\x03"))
        self.assertEqual(status, 128 + signal.SIGINT, said)
        self.expect_sound()
        self.assertEqual(self.processes()[0]["exit_signal"], signal.SIGINT)
        self.assertEqual(self.report()["run"]["status"], "stopped")

    # Processes -------------------------------------------------------------------------------

    def test_children_of_children_are_recorded(self):
        # The innermost ends once the recorder has seen it: it looks often at first, then every second.
        inner = "echo >$READY; while [ -e $READY ]; do sleep 0.01; done; exit 4"
        script = f"sh -c 'sh -c \"{inner}\"; exit 3' ; exit 2"
        started = subprocess.Popen(
            self.command("sh", "-c", script), cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_for_ready(started)
        while self.seen_samples() < 4:  # two looks after it was ready
            self.assertIsNone(started.poll())
            select.select([], [], [], 0.1)
        self.ready.unlink()
        self.assertEqual(started.wait(SECONDS), 2)
        self.expect_sound()
        outer = next(each for each in self.processes() if each["command"] == f"sh -c {script}")
        middle = next(each for each in self.processes() if each["command"].startswith('sh -c sh -c "'))
        # Of the same command: children of it that were seen before exec().
        deepest = next(each for each in self.processes()
                       if each["command"].startswith("sh -c echo") and each["parent"] == middle["pid"])
        self.assertEqual(middle["parent"], outer["pid"])
        self.assertEqual(outer["exit_code"], 2)
        self.assertIn(middle["exit_code"], (3, None), "as far as the kernel says")
        self.assertIn(deepest["exit_code"], (4, None))
        self.assertIsNotNone(deepest["ended_ns"])

    def seen_samples(self):
        """Of a recording that is being written; of a program without Python after 5 s."""
        asked = subprocess.run(
            [PROGRAM, "query", "--json", str(self.output), "SELECT count(*) FROM counters"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=SECONDS)
        return json.loads(asked.stdout)["rows"][0][0] if asked.returncode == 0 else 0

    def test_a_program_that_outlives_its_first_process(self):
        inner = "echo >$READY; while [ -e $READY ]; do sleep 0.01; done"
        done = self.shell(
            f"sh -c '{inner}' >/dev/null 2>&1 & while [ ! -e $READY ]; do sleep 0.01; done; exit 6")
        self.assertEqual(done.returncode, 6)
        self.expect_sound()
        program = next(each for each in self.processes() if each["role"] == "program")
        left = next(each for each in self.processes()
                    if each["command"].startswith("sh -c echo") and each["parent"] in (program["pid"], 1))
        self.assertEqual((program["exit_code"], left["exit_code"], left["ended_ns"]), (6, None, None))

    def test_one_recorder_within_another_is_said_once(self):
        inner = self.folder / "inner.sscope"
        done = self.record(PROGRAM, "record", "-o", str(inner), "--", "sh", "-c", "echo $SHARDSCOPE_SOCKET; exit 5")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertEqual(done.stderr.count(b"another recorder has this program already"), 1, done.stderr)
        self.assertNotIn(b"is set already", done.stderr)
        self.expect_sound()
        self.output = inner
        self.expect_sound()

    # The recording ---------------------------------------------------------------------------

    def test_a_recording_without_steps_opens_well(self):
        self.assertEqual(self.shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done").returncode, 0)
        names = {name for (name,) in self.query("SELECT DISTINCT name FROM counters")}
        self.assertEqual(names, {"program: resident set", "program: CPU time"})
        self.assertGreater(self.query("SELECT max(value) FROM counters WHERE name LIKE '%CPU%'")[0][0], 0)
        self.assertGreater(self.query("SELECT cpu_time_ns FROM processes")[0][0], 0)
        self.assertGreater(self.query("SELECT peak_resident_bytes FROM processes")[0][0], 100_000)
        for verb, words in (("info", (b"process", b"exit 0", b"CPU time")), ("report", (b"Processes", b"exit 0"))):
            said = subprocess.run(
                [PROGRAM, verb, str(self.output)], stdout=subprocess.PIPE, check=True, timeout=SECONDS).stdout
            for word in words:
                self.assertIn(word, said, said.decode())
        report = self.report()
        self.assertEqual((report["lost"], report["dropped"]), (0, 0))
        self.assertEqual(report["run"]["status"], "finished")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
