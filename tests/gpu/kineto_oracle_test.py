#!/usr/bin/env python3
"""The Kineto oracle leaves a trace when its process ends; without a GPU it traces the CPU."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ORACLE = sys.argv.pop(1)


class Oracle(unittest.TestCase):
    def run_with(self, program, **more):
        done = subprocess.run([sys.executable, "-IS", "-c", program], capture_output=True,
                              text=True, timeout=120,
                              env={**os.environ, "LD_PRELOAD": ORACLE, **more})
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertNotIn("kineto oracle:", done.stderr)

    def test_writes_once_whatever_forks_end_before(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder) / "trace.json"
            self.run_with("import os\nif os.fork() == 0: os._exit(0)\nos.wait()\nos._exit(7)",
                          SHARDSCOPE_KINETO_TRACE=str(trace))
            self.assertIn("traceEvents", json.loads(trace.read_text()))

    def test_stays_out_of_the_way_without_a_file(self):
        self.run_with("import os; os._exit(7)")


if __name__ == "__main__":
    unittest.main()
