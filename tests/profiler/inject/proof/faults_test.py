#!/usr/bin/env python3
"""What a program may do, and what may go wrong with us: it ends and computes as without a recorder, and
the recording is sound.

  faults_test.py --python PYTHON --shardscope SHARDSCOPE [--torch] [-k NAME]

With --torch PYTHON has PyTorch, or it exits with 77; otherwise a few lines of Python stand in for it.
Nothing waits for a fixed time.
"""
import argparse
import os
import pathlib
import pwd
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest

ASK = None
SECONDS = 300

HEAD = """
import ctypes, os, signal, subprocess, sys, time
try:
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    def step():
        loss = model(torch.ones(2, 4)).square().mean()
        loss.backward(); optimizer.step(); optimizer.zero_grad()
        return loss.item()
except ImportError:
    try:
        import shardscope
    except ImportError:
        shardscope = None
    loss = 1.0
    def step():
        global loss
        loss *= 0.9
        if shardscope is not None: shardscope.step()
        return loss
def steps(number, to=None):
    for _ in range(number):
        print(step().hex(), flush=True, file=to)
"""
BROKEN = ("raise RuntimeError('broken on purpose')\n", "this is no Python\n", "")
READY = "\nopen(os.environ['READY'], 'w').close()\n"

PROGRAMS = {
    "plain": "steps(6)",
    "killed": "steps(3); os.kill(os.getpid(), signal.SIGKILL)",
    "terminated": "steps(3); os.kill(os.getpid(), signal.SIGTERM)",
    "raises": "steps(3); sys.stderr = open(os.devnull, 'w'); raise RuntimeError('on purpose')",
    "segfaults": "steps(3); ctypes.string_at(0)",
    "aborts": "steps(3); os.abort()",
    "ends at once": "steps(3); os._exit(5)",
    "replaces itself": "steps(3); os.execvp('sh', ['sh', '-c', 'echo replaced; exit 6'])",
    "64 helpers": """
        steps(2)
        children = []
        for each in range(64):
            child = os.fork()
            if child == 0:
                step()
                os._exit(each)
            children.append(child)
        print([os.waitpid(child, 0)[1] >> 8 for child in children])
        steps(2)
        """,
    "helpers that it does not wait for": """
        steps(2)
        for _ in range(8):
            if os.fork() == 0:
                os.execvp("true", ["true"])
        steps(2)
        """,
    "closes all files": """
        steps(2)
        os.closerange(3, 4096)
        steps(2)
        files = [open(os.path.join(os.environ["FOLDER"], "own %d" % each), "w+") for each in range(3)]
        while os.dup(files[0].fileno()) < 1000: pass
        for each in files: each.write("own"); each.flush()
        steps(4)
        for each in files: each.seek(0); print(each.read())
        """,
    "closes really all files": """
        steps(2)
        os.closerange(0, 4096)
        with open(os.path.join(os.environ["FOLDER"], "losses"), "w") as file:
            steps(4, file)
        os._exit(3)
        """,
    "changes folder": "os.chdir('/'); steps(3); print(os.getcwd())",
    "its folder is removed": """
        os.mkdir(os.environ["FOLDER"] + "/gone"); os.chdir(os.environ["FOLDER"] + "/gone"); os.rmdir(os.getcwd()); steps(3)
        """,
    "another user later": "steps(2); os.setgroups([]); os.setgid(65534); os.setuid(65534); steps(3); print(os.getuid())",
    "no more files": """
        import resource
        steps(2)
        resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))
        steps(4)
        """,
    "no more room for files": """
        import resource
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        steps(4)
        """,
    "ignores child signals": "signal.signal(signal.SIGCHLD, signal.SIG_IGN); steps(2); os.system('true'); steps(2)",
    "clears its environment": """
        steps(2); os.environ.clear()
        print(subprocess.run([sys.executable, "-c", "print(1 + 1)"], stdout=subprocess.PIPE).stdout)
        steps(2)
        """,
    "wants no variable of ours": """
        print(subprocess.run(["sh", "-c", "unset SHARDSCOPE_SOCKET; exec " + sys.executable + " -c 'print(2)'"],
                             stdout=subprocess.PIPE).stdout)
        steps(2)
        """,
}


class Faults(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.folder.chmod(0o777)
        self.recording = self.folder / "run.sscope"
        self.environment = {each: value for each, value in os.environ.items() if not each.startswith("SHARDSCOPE_")}
        self.environment.update(FOLDER=str(self.folder), READY=str(self.folder / "ready"), OMP_NUM_THREADS="1")

    def program(self, text):
        path = self.folder / "program.py"
        path.write_text(HEAD + textwrap.dedent(text))
        return [ASK.python, str(path)]

    def recorded(self, command, shardscope=None, options=()):
        return [str(shardscope or ASK.shardscope), "record", "-f", "-o", "run.sscope", "--capture", "full", *options, "--",
                *command]

    def run_one(self, command, out=subprocess.PIPE, **more):
        (self.folder / "losses").unlink(missing_ok=True)
        done = subprocess.run(command, cwd=self.folder, env={**self.environment, **more}, stdin=subprocess.DEVNULL,
                              stdout=out, stderr=subprocess.PIPE, text=True, timeout=SECONDS)
        losses = self.folder / "losses"
        done.written = losses.read_text() if losses.exists() else None
        return done

    def expect_sound(self):
        checked = subprocess.run([ASK.shardscope, "info", "--verify", str(self.recording)],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout)

    def expect_same(self, command, shardscope=None, plain=None, **more):
        """The recorded run."""
        plain = plain or self.run_one(command, **more)
        done = self.run_one(self.recorded(command, shardscope), **more)
        status = plain.returncode if plain.returncode >= 0 else 128 - plain.returncode
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, plain.stdout, done.stderr)
        self.assertEqual(done.written, plain.written)
        self.expect_sound()
        return done

    def test_programs(self):
        for name, text in PROGRAMS.items():
            if name == "another user later" and os.getuid() != 0:
                continue
            with self.subTest(program=name):
                self.expect_same(self.program(text))

    def test_another_user(self):
        if os.getuid() != 0 or shutil.which("su") is None:
            self.skipTest("only root can become another user")
        user = pwd.getpwuid(65534).pw_name
        command = ["su", user, "-s", "/bin/sh", "-c", " ".join(self.program("steps(3); print(os.getuid())"))]
        plain = self.run_one(command)
        if plain.returncode != 0:
            self.skipTest("another user cannot run %s: %s" % (ASK.python, plain.stderr[-200:]))
        self.expect_same(command, plain=plain)

    def test_its_own_start(self):
        own = self.folder / "own"
        own.mkdir()
        (own / "sitecustomize.py").write_text("print('its own start', flush=True)\n")
        command = self.program("steps(3)")
        self.expect_same(command, PYTHONPATH=str(own))
        self.expect_same(["sh", "-c", "PYTHONPATH=%s exec \"$@\"" % own, "sh", *command])

    def test_isolated(self):
        command = self.program("steps(3)")
        for option in ("-I", "-E", "-S"):
            with self.subTest(option=option):
                plain = self.run_one([command[0], option, command[1]])
                if plain.returncode == 0:
                    self.expect_same([command[0], option, command[1]], plain=plain)

    def test_a_full_disk(self):
        command = self.program("steps(3)")
        with open("/dev/full", "w") as full:
            plain = self.run_one(command, out=full)
            done = self.run_one(self.recorded(command), out=full)
        self.assertNotEqual(plain.returncode, 0)
        self.assertEqual(done.returncode, plain.returncode, done.stderr)
        self.expect_sound()

    def test_one_that_never_ends(self):
        command = self.program(READY + "while True: step()")
        statuses = []
        for each in (command, self.recorded(command)):
            pathlib.Path(self.environment["READY"]).unlink(missing_ok=True)
            started = subprocess.Popen(each, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                       preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
            while not os.path.exists(self.environment["READY"]):
                self.assertIsNone(started.poll(), "it ended before it was ready")
                select.select([], [], [], 0.01)
            os.killpg(started.pid, signal.SIGINT)  # as a terminal does
            statuses.append(started.wait(SECONDS))
        plain, done = statuses
        self.assertEqual(done, plain if plain >= 0 else 128 - plain)
        self.expect_sound()

    # Broken on purpose ---------------------------------------------------------------------------

    def test_broken_library(self):
        command = self.program("steps(4)")
        text = self.folder / "text.so"
        text.write_text("no library\n")
        plain = self.run_one(command)
        for more in ({"SHARDSCOPE_INJECT": str(text)}, {"SHARDSCOPE_INJECT": "/nonexistent"},
                     {"SHARDSCOPE_SOCKET": "/nonexistent"}, {"SHARDSCOPE_CAPTURE": "nonsense"},
                     {"SHARDSCOPE_SHIMS": "/nonexistent"}):
            with self.subTest(**more):
                self.expect_same(command, plain=plain, **more)

    def copy(self):
        """A recorder that may be broken."""
        place = self.folder / "copy"
        shutil.copytree(pathlib.Path(ASK.shardscope).parent / "inject", place / "inject")
        return pathlib.Path(shutil.copy(ASK.shardscope, place / "shardscope"))

    def test_broken_shims(self):
        """Each is a library, and none is the right one."""
        shardscope, command = self.copy(), self.program("steps(4)")
        plain = self.run_one(command)
        library = shardscope.parent / "inject" / "libshardscope_inject.so"
        shims = list((shardscope.parent / "inject").glob("libshardscope_torch_*.so"))
        for minor in range(4, 16):
            shutil.copy(library, shardscope.parent / "inject" / ("libshardscope_torch_2_%d.so" % minor))
        self.expect_same(command, shardscope, plain)
        for each in shims:
            each.write_bytes(b"no library")
        self.expect_same(command, shardscope, plain)

    def test_broken_hook(self):
        shardscope, command = self.copy(), self.program("steps(4)")
        plain = self.run_one(command)
        for each in sorted((shardscope.parent / "inject" / "python").rglob("*.py")):
            if each.name == "__init__.py" and each.parent.name == "shardscope":
                continue  # the program asks for it by name where there is no PyTorch
            good = each.read_text()
            for bad in BROKEN[:1] if ASK.torch else BROKEN:
                with self.subTest(file=each.name, text=bad):
                    each.write_text(bad)
                    self.expect_same(command, shardscope, plain)
            each.write_text(good)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--python", required=True)
    ap.add_argument("--shardscope", required=True)
    ap.add_argument("--torch", action="store_true")
    ASK, rest = ap.parse_known_args()
    found = subprocess.run([ASK.python, "-c", "import torch"], stderr=subprocess.DEVNULL)
    if ASK.torch and found.returncode != 0:
        print("skipped: %s has no PyTorch" % ASK.python)
        sys.exit(77)
    ASK.shardscope = os.path.abspath(ASK.shardscope)
    unittest.main(argv=sys.argv[:1] + rest, verbosity=2)
