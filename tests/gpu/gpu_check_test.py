#!/usr/bin/env python3
"""packaging/gpu-check with programs that print canned answers: no GPU, no PyTorch."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "packaging"
sys.path[:0] = [str(PACKAGING), str(pathlib.Path(__file__).resolve().parent)]
sys.dont_write_bytecode = True

import fake_programs  # noqa: E402
from gpu_check import intervals, machine, results, runner, session  # noqa: E402


class Intervals(unittest.TestCase):
    def test_union_merges_what_overlaps_or_touches(self):
        self.assertEqual(intervals.union([(5, 7), (0, 2), (2, 3), (6, 9), (4, 4)]), [(0, 3), (5, 9)])

    def test_intersection_of_unions(self):
        self.assertEqual(intervals.intersection([(0, 4), (6, 9)], [(1, 2), (3, 7), (8, 20)]),
                         [(1, 2), (3, 4), (6, 7), (8, 9)])

    def test_overlap_is_htas(self):
        kernels = [("gemm", 0, 100), ("ncclDevKernel_AllGather_RING_LL", 50, 150),
                   ("Memcpy HtoD", 100, 150), ("copy host to device", 100, 150)]
        self.assertEqual(intervals.overlap(kernels), 0.5)
        self.assertIsNone(intervals.overlap([("gemm", 0, 100)]))

    def test_naive_data_parallelism_hides_nothing(self):
        self.assertEqual(intervals.overlap([("gemm", 0, 10), ("ncclKernel", 10, 20)]), 0)


class Bundle(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.environment = fake_programs.bundle(self.root)

    def check(self, *arguments, **wrong):
        """Exit status, table and JSON of a run of the whole script."""
        out = self.root / "out.json"
        process = subprocess.run(
            [sys.executable, PACKAGING / "gpu-check", "--bin", self.root / "bin", "--json", out,
             "--peers", self.root / "peers", "--reference", self.root / "reference", *arguments],
            capture_output=True, text=True, timeout=120,
            env=fake_programs.faking(self.environment, **wrong))
        document = json.loads(out.read_text()) if out.exists() else None
        return process.returncode, process.stdout + process.stderr, document

    @staticmethod
    def by_name(document):
        return {result["name"]: result for result in document["results"]}

    def session(self, **more):
        work = self.root / "work"
        work.mkdir(exist_ok=True)
        made = session.Session(self.root / "bin", work, **more)
        made.environment.update({k: self.environment[k] for k in ("PATH", "FAKE", "PYTHONPATH")})
        return made


class WholeRun(Bundle):
    def test_everything_good_passes_and_is_written_down(self):
        status, text, document = self.check()
        self.assertEqual(status, 0, text)
        found = self.by_name(document)
        self.assertEqual({r["status"] for r in found.values()} - {"info"}, {"pass"}, text)
        for name in ("doctor", "gpu-tests", "verify-single-fp32", "verify-zero3-bf16", "completeness", "dropped-events",
                     "kernels-launched", "kernels-kineto", "busy-against-kineto", "bytes-an-event",
                     "collective-join-rate", "overlap-against-hta", "step-cost-idle",
                     "step-cost-kernels", "step-cost-full", "step-cost-alternating", "ref-micro-4",
                     "ref-micro-4-mfu", "ref-against-eager", "ref-against-compile",
                     "stop-to-viewable", "two-process-overlap"):
            self.assertIn(name, found)
        self.assertEqual(found["ref-against-eager"]["value"], 2.0)
        self.assertEqual(found["collective-join-rate"]["value"], 100.0)
        self.assertEqual(document["schema"], "shardscope.gpu-check/1")
        self.assertEqual(document["device"]["name"], "NVIDIA H200")
        self.assertEqual(document["device"]["driver"], "580.65.06")
        self.assertEqual(document["versions"]["commit"], "0123456789ab")
        self.assertEqual(document["versions"]["torch"], "2.11.0+cu130")
        self.assertIn("T", document["date"])
        commands = [entry["command"] for entry in document["commands"]]
        self.assertTrue(any("--device-capture never" in command for command in commands))
        self.assertTrue(all("exit" in entry for entry in document["commands"]))
        self.assertIn("NVIDIA H200, driver 580.65.06", text)
        self.assertIn("0 failed, 0 skipped", text)

    def test_a_goal_missed_is_a_failure_and_says_by_how_much(self):
        status, text, document = self.check("--only", "cost", slow={"full": 1.08})
        found = self.by_name(document)
        self.assertEqual(status, 1)
        self.assertEqual(found["step-cost-full"]["status"], "fail")
        self.assertAlmostEqual(found["step-cost-full"]["value"], 1.08, 6)
        self.assertEqual(found["step-cost-full"]["goal"], "<= 1.03")
        self.assertEqual(found["step-cost-kernels"]["status"], "pass")

    def test_what_disagrees_fails(self):
        wrong = {"error": 1e-3, "incomplete": True, "launches": 13, "kineto_stretch": 1.02,
                 "joined": 3, "ratio": 0.51, "stop": 3.0, "gpu_fails": True, "tokens": 220000.0}
        status, text, document = self.check(**wrong)
        failed = {n for n, r in self.by_name(document).items() if r["status"] == "fail"}
        self.assertEqual(status, 1)
        verified = {f"verify-{strategy}-{precision}" for strategy in ("single", "zero3")
                    for precision in ("fp32", "bf16")}
        verified |= {"verify-zero3-fp32-vocabulary-pieces-3", "verify-zero3-bf16-offload-gradients"}
        self.assertEqual(failed, verified | {"completeness", "gpu-tests", "kernels-launched",
                                  "busy-against-kineto", "stop-to-viewable",
                                  "collective-join-rate", "overlap-against-hta",
                                  "ref-against-eager", "ref-against-compile"}, text)
        self.assertIn("Device.T1", text)

    def test_doctor_names_what_is_missing(self):
        _, _, document = self.check("--only", "doctor", no_driver=True)
        found = self.by_name(document)["doctor"]
        self.assertEqual((found["status"], found["value"]), ("fail", "cpu, tracing"))
        self.assertEqual(found["reason"], "gpu.driver: no driver")

    def test_other_numbers_of_kernels_cannot_be_compared(self):
        _, _, document = self.check("--only", "kineto", kineto=11)
        found = self.by_name(document)
        self.assertEqual(found["kernels-kineto"]["status"], "fail")
        self.assertEqual(found["kineto"]["status"], "fail")

    def test_a_program_that_fails_stops_only_its_own_checks(self):
        status, text, document = self.check(record_fails=True)
        found = self.by_name(document)
        self.assertEqual(status, 1)
        self.assertEqual(found["gpu-tests"]["status"], "pass")
        self.assertEqual(found["verify-zero3-bf16"]["status"], "pass")
        self.assertIn("out of device memory", found["cost"]["reason"])
        self.assertIn("shardscope record ended with 5", found["completeness"]["reason"])
        # Its recording is not tried again for each check that needs it.
        traced = [c for c in document["commands"] if "traced.sscope" in c["command"]]
        self.assertEqual(len(traced), 1)

    def test_an_unreadable_recording_is_a_failure(self):
        _, _, document = self.check("--only", "bytes", broken=True)
        self.assertIn("not a recording", self.by_name(document)["bytes"]["reason"])

    def test_what_is_missing_is_skipped_with_its_reason(self):
        (self.root / "bin/shardscope_gpu_test").unlink()
        (self.root / "bin/libshardscope_kineto_oracle.so").unlink()
        (self.root / "peers/bench_peer.py").unlink()
        status, text, document = self.check()
        found = self.by_name(document)
        self.assertEqual(status, 0, text)
        for name in ("gpu-tests", "kineto", "peers"):
            self.assertEqual(found[name]["status"], "skip")
        self.assertIn("--peers", found["peers"]["reason"])

    def test_tests_without_a_device_are_skipped_not_passed(self):
        status, _, document = self.check("--only", "gpu-tests", gpu_result="SKIPPED")
        self.assertEqual(status, 1)
        self.assertEqual(self.by_name(document)["gpu-tests"]["status"], "skip")

    def test_a_machine_without_a_gpu_is_told_so_once(self):
        none = {"device": {"name": None}}
        self.assertIn("no NVIDIA GPU", machine.why_no_device(none, self.root))
        (self.root / "nvidia0").write_text("")
        self.assertEqual(machine.why_no_device(none, self.root), "")
        self.assertEqual(machine.why_no_device({"device": {"name": "H200"}}, self.root / "bin"), "")

    def test_without_time_the_rest_is_skipped(self):
        status, _, document = self.check("--budget", "0.5")
        self.assertIn("used up", self.by_name(document)["peers"]["reason"])

    def test_command_line(self):
        self.assertEqual(self.check("--only", "nothing")[0], 2)
        self.assertEqual(self.check("--budget", "0")[0], 2)
        status, text, document = self.check("--list")
        self.assertEqual((status, document), (0, None))
        self.assertEqual(len(text.splitlines()), len(runner.CHECKS))
        self.assertEqual(self.check("--help")[0], 0)

    def test_keeps_recordings_when_asked(self):
        self.check("--only", "bytes", "--keep", str(self.root / "kept"))
        self.assertTrue((self.root / "kept/traced.sscope").exists())


class Running(Bundle):
    def test_a_hanging_program_is_ended_and_the_next_check_runs(self):
        pid_file = self.root / "pid"
        made = self.session()
        made.environment["FAKE"] = json.dumps({"record_hangs": str(pid_file)})
        made.text()
        found = runner.run_all(
            [runner.Check("slow", 6, runner.checks_cost.size),
             runner.Check("next", 30, lambda _: iter([results.info("next", 1)]))], made)
        self.assertEqual([r.status for r in found], ["fail", "info"])
        self.assertIn("took longer", found[0].reason)
        self.assertEqual(made.commands[-1]["exit"], "timeout")
        with self.assertRaises(ProcessLookupError):
            os.kill(int(pid_file.read_text()), 0)

    def test_a_mistake_in_a_check_is_its_own_failure(self):
        def mistaken(_):
            yield results.info("first", 1)
            raise KeyError("ratio")

        found = runner.run_check(runner.Check("mistaken", 5, mistaken), self.session())
        self.assertEqual([r.status for r in found], ["info", "fail"])
        self.assertIn("KeyError", found[1].reason)

    def test_libraries_come_from_the_bundle_then_torch_then_its_wheels(self):
        (self.root / "lib").mkdir()
        path = session.library_path(self.root / "lib", self.root / "site/torch").split(":")
        self.assertEqual([str(pathlib.Path(p).relative_to(self.root)) for p in path],
                         ["lib", "site/torch/lib", "site/nvidia/cu13/lib", "site/nvidia/nccl/lib"])

    def test_every_run_trains_on_the_same_text(self):
        made = self.session()
        made.record("one", ["--device-capture", "never"])
        command = made.commands[-1]["command"]
        self.assertIn(f"--data {self.root / 'work/text.txt'}", command)
        text = (self.root / "work/text.txt").read_text()
        self.assertGreater(len(text), 1_000_000)
        self.assertTrue(text.isascii())

    def test_blocks_alternate_and_end_with_the_time(self):
        made = self.session(budget=600)
        list(runner.checks_cost.step_cost(made))
        levels = [c["command"].split("--device-capture ")[1].split()[0] for c in made.commands
                  if " record " in c["command"]]
        forwards = ["never", "idle", "kernels", "launches", "full"]
        self.assertEqual(levels[:10], forwards + forwards[::-1])
        self.assertLessEqual(len(levels), 25)

    def test_all_checks_fit_into_nine_minutes(self):
        self.assertLessEqual(sum(check.seconds for check in runner.CHECKS), 530)


if __name__ == "__main__":
    unittest.main()
