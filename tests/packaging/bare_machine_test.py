#!/usr/bin/env python3
"""What tests/packaging/{bare_machine,installed_packages} say before they make anything. They are run by
hand: they take minutes to hours."""
from __future__ import annotations

import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "bare_machine"


class BareMachine(unittest.TestCase):
    def run_it(self, *options, path=None):
        done = subprocess.run(["/bin/bash", SCRIPT, *options], capture_output=True, text=True,
                              timeout=60, env={**os.environ, **({"PATH": path} if path else {})})
        return done.returncode, done.stdout + done.stderr

    def test_runs_what_readme_names(self):
        commands = ["packaging/quickstart", "packaging/test"]
        status, text = self.run_it("--list", "--suite", "bookworm", "--suite", "trixie")
        self.assertEqual(status, 0, text)
        self.assertEqual(text.splitlines(), [f"{suite}, {user}: {command}"
                                             for suite in ("bookworm", "trixie")
                                             for user in ("root", "sudo") for command in commands])
        for command in commands:
            self.assertTrue(os.access(SCRIPT.parents[2] / command, os.X_OK))

    def test_options(self):
        self.assertEqual(self.run_it("--help")[0], 0)
        self.assertEqual(self.run_it("--list", "--user", "root")[1].count("root:"), 2)
        for wrong in (["--suite", "sid"], ["--user", "me"], ["--suite"], ["--hot"]):
            status, text = self.run_it(*wrong)
            self.assertEqual(status, 2, text)
            self.assertIn(wrong[0], text)

    def test_says_what_to_install(self):
        with tempfile.TemporaryDirectory() as folder:
            for tool in "dirname date awk sed cat".split():
                (pathlib.Path(folder) / tool).symlink_to(f"/usr/bin/{tool}")
            status, text = self.run_it(path=folder)
        self.assertEqual(status, 1, text)
        self.assertIn("apt-get install mmdebstrap" if os.geteuid() == 0 else "needs root", text)


class InstalledPackages(unittest.TestCase):
    def run_it(self, *options):
        done = subprocess.run(["/bin/bash", SCRIPT.parent / "installed_packages", *options],
                              capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    def test_options(self):
        self.assertEqual(self.run_it("--help")[0], 0)
        for wrong in (["--suite", "sid"], ["--suite"], ["--hot"]):
            status, text = self.run_it(*wrong)
            self.assertEqual(status, 2, text)
            self.assertIn(wrong[0], text)

    def test_says_how_packages_are_made(self):
        status, text = self.run_it("/nowhere/shardscope.deb")
        self.assertEqual(status, 1, text)
        self.assertIn("packaging/packages", text)


if __name__ == "__main__":
    unittest.main()
