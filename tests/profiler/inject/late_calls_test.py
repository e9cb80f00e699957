#!/usr/bin/env python3
"""Calls of the recorded program's last moments: as its threads end, and after what exit() destroys.

  late_calls_test.py SHARDSCOPE LIBRARY...

Each LIBRARY (libshardscope_inject.so, a shim) has nothing that exit() destroys, and cannot be unloaded.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM, LIBRARIES = sys.argv[1], sys.argv[2:]
HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 120


class LateCalls(unittest.TestCase):
    def test_nothing_is_destroyed_at_exit(self):
        for library in LIBRARIES:
            with self.subTest(library=library):
                names = subprocess.run(["readelf", "--dyn-syms", "--wide", library],
                                       stdout=subprocess.PIPE, check=True, text=True).stdout
                called = {word.split("@")[0] for word in names.split()}
                self.assertEqual(called & {"__cxa_atexit", "atexit"}, set())
                facts = subprocess.run(["readelf", "--dynamic", "--wide", library],
                                       stdout=subprocess.PIPE, check=True, text=True).stdout
                self.assertIn("NODELETE", facts)

    def test_calls_after_the_end(self):
        with tempfile.TemporaryDirectory() as folder:
            program, recording = os.path.join(folder, "late_calls"), os.path.join(folder, "run.sscope")
            subprocess.run([os.environ.get("CC", "cc"), "-Wall", "-Werror", "-I", str(HERE.parents[2]),
                            str(HERE / "late_calls.c"), "-o", program, "-ldl", "-lpthread"], check=True)
            done = subprocess.run([PROGRAM, "record", "-o", recording, "--capture", "full", "--", program],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=SECONDS)
            self.assertEqual(done.returncode, 7, done.stderr)
            self.assertNotIn("was not recorded", done.stderr)
            asked = subprocess.run([PROGRAM, "report", "--json", recording], stdout=subprocess.PIPE, check=True,
                                   timeout=SECONDS)
            process, = json.loads(asked.stdout)["processes"]
            self.assertEqual(process["exit_code"], 7, process)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
