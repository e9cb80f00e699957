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

    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.program, self.recording = os.path.join(held.name, "late_calls"), os.path.join(held.name, "run.sscope")
        subprocess.run([os.environ.get("CC", "cc"), "-Wall", "-Werror", "-I", str(HERE.parents[2]),
                        str(HERE / "late_calls.c"), "-o", self.program, "-ldl", "-lpthread"], check=True)

    def report_of(self, *command):
        done = subprocess.run([PROGRAM, "record", "-o", self.recording, "--capture", "full", "--", *command],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=SECONDS)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertNotIn("was not recorded", done.stderr)
        asked = subprocess.run([PROGRAM, "report", "--json", self.recording], stdout=subprocess.PIPE, check=True,
                               timeout=SECONDS)
        return json.loads(asked.stdout)

    def test_calls_after_the_end(self):
        process, = self.report_of(self.program)["processes"]
        self.assertEqual(process["exit_code"], 7, process)

    def test_a_program_ends_with_its_last_thread(self):
        report = self.report_of("sh", "-c", "$0 threads; [ $? -eq 0 ] && exit 7", self.program)
        process, = [each for each in report["processes"] if each["rank"] == 0]
        self.assertIn(process["exit_code"], (0, None), "as far as the kernel says")
        self.assertNotIn("rank-cut-off", [each["code"] for each in report["diagnostics"]])

    def test_attempts_of_a_rank_are_counted_together(self):
        report = self.report_of("sh", "-c", "$0; $0; exit 7", self.program)
        ranks = [each for each in report["processes"] if each["rank"] == 0]
        self.assertEqual([each["attempt"] for each in ranks], [0, 1])
        asked = subprocess.run([PROGRAM, "query", "--json", self.recording, "SELECT emitted - dropped FROM ranks"],
                               stdout=subprocess.PIPE, check=True, timeout=SECONDS)
        self.assertEqual(json.loads(asked.stdout)["rows"], [[report["events"]]])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
