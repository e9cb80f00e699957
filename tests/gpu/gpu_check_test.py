#!/usr/bin/env python3
"""packaging/gpu-check with programs that print canned answers: no GPU, no PyTorch."""
from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "packaging"
sys.path[:0] = [str(PACKAGING), str(pathlib.Path(__file__).resolve().parent)]
sys.dont_write_bytecode = True

import fake_programs  # noqa: E402
from gpu_check import (checks_cost, intervals, kernels, machine, repeats, results,  # noqa: E402
                       runner, session)


class Intervals(unittest.TestCase):
    def test_union_merges_what_overlaps_or_touches(self):
        self.assertEqual(intervals.union([(5, 7), (0, 2), (2, 3), (6, 9), (4, 4)]),
                         [(0, 3), (5, 9)])

    def test_intersection_of_unions(self):
        self.assertEqual(intervals.intersection([(0, 4), (6, 9)], [(1, 2), (3, 7), (8, 20)]),
                         [(1, 2), (3, 4), (6, 7), (8, 9)])

    def test_overlap_is_htas(self):
        kernels = [("gemm", 0, 100), ("ncclDevKernel_AllGather_RING_LL", 50, 150),
                   ("Memcpy HtoD", 100, 150), ("copy host to device", 100, 150)]
        self.assertEqual(intervals.overlap(kernels), 0.5)
        self.assertIsNone(intervals.overlap([("gemm", 0, 100)]))

    def test_difference_of_unions(self):
        found = intervals.difference([(0, 5), (7, 9)], [(-3, -1), (1, 2), (4, 8), (9, 12)])
        self.assertEqual(found, [(0, 1), (2, 4), (8, 9)])
        self.assertEqual(intervals.difference([(0, 5)], []), [(0, 5)])
        self.assertEqual(intervals.difference([], [(1, 2)]), [])

    def test_overlap_within_some_time(self):
        found = [("gemm", 0, 50), ("ncclKernel", 0, 100), ("ncclKernel", 300, 400)]
        self.assertEqual(intervals.overlap(found), 0.25)
        self.assertEqual(intervals.overlap(found, [(0, 100)]), 0.5)
        self.assertIsNone(intervals.overlap(found, [(500, 600)]))

    def test_naive_data_parallelism_hides_nothing(self):
        self.assertEqual(intervals.overlap([("gemm", 0, 10), ("ncclKernel", 10, 20)]), 0)


class Kernels(unittest.TestCase):
    """Steps of 100 from 1000 on; kernels from 10 to 40 and from 45 to 90 of each."""

    def setUp(self):
        self.steps = [kernels.Step(i, 1000 + 100 * i, 1095 + 100 * i) for i in range(8)]

    @staticmethod
    def kernels(offset):
        starts = [(offset + 1000 + 100 * i + at, length) for i in range(8)
                  for at, length in ((10, 30), (45, 45))]
        ends = [(offset + 500, 20), (offset + 1900, 5)]
        return sorted(kernels.Kernel("k", start, start + length) for start, length in starts + ends)

    def test_a_kernel_may_know_neither_step_nor_launch(self):
        made = kernels.Kernel.of(["gemm", "5", 7, None, 0])
        self.assertEqual(made, ("gemm", 5, 7, None, None))
        self.assertEqual(kernels.Kernel.of(["gemm", 5, 7, "3", 9])[3:], (3, 9))

    def test_whole_steps_are_found_by_time(self):
        found, count = kernels.of_whole_steps(self.kernels(0), self.steps)
        self.assertEqual((count, len(found)), (3, 6))
        self.assertEqual((found[0].start, found[-1].end), (1410, 1690))

    def test_and_whatever_the_clocks_differ_by(self):
        for offset in (-49, -20, -3, 7, 33, 60):
            found, count = kernels.of_whole_steps(self.kernels(offset), self.steps)
            self.assertEqual((count, len(found)), (3, 6), offset)
            self.assertEqual(sum(k.end - k.start for k in found), 225, offset)

    def test_and_whatever_one_step_is_held_up_by(self):
        """Steps of 1000; the device waits for 5 in them and 20 between, but once for 205."""
        for held_up in range(3, 8):
            steps, found, start = [], [], 10_000
            for number in range(8):
                late = 200 * (number == held_up)
                found += [kernels.Kernel("a", start + 10, start + 100),
                          kernels.Kernel("b", start + 105 + late, start + 500 + late),
                          kernels.Kernel("b", start + 505 + late, start + 990 + late),
                          kernels.Kernel("a", start + 990 + late, start + 991 + late)]
                steps.append(kernels.Step(number, start, start + 995 + late))
                start += 1000 + late
            whole, count = kernels.of_whole_steps(found, steps)
            self.assertEqual((count, [k.name for k in whole]), (3, ["a", "b", "b", "a"] * 3),
                             held_up)

    def test_steps_between_which_nothing_waits_are_parted_by_what_runs_once(self):
        """Kernels of 10 without a gap, steps of 95 on clocks that run ahead by two of them."""
        names = ["gemm", "begin", "gemm", "gemm", "decide", "adam", "adam"]
        found = [kernels.Kernel(name, 7000 + 10 * i, 7010 + 10 * i)
                 for i, name in enumerate(["probe", *names * 8, "adam"])]
        whole, count = kernels.of_whole_steps(found, self.steps)
        self.assertEqual(count, 3)
        self.assertEqual([k.name for k in whole],
                         (["adam", "adam", "gemm", "begin", "gemm", "gemm", "decide"] * 3))

    def test_clocks_that_have_nothing_in_common_are_told(self):
        with self.assertRaisesRegex(results.Failed, "clocks differ"):
            kernels.of_whole_steps(self.kernels(10**9), self.steps)
        with self.assertRaisesRegex(results.Failed, "no kernel was recorded"):
            kernels.of_whole_steps([], self.steps)
        with self.assertRaisesRegex(results.Failed, "too few"):
            kernels.of_whole_steps(self.kernels(0), self.steps[:5])

    def test_training_time_is_without_evaluation(self):
        self.assertEqual(kernels.training_time(self.steps[:2], [(1020, 1030), (1090, 1105)]),
                         [(1000, 1020), (1030, 1090), (1105, 1195)])


class Repeats(unittest.TestCase):
    def agree(self, ours, theirs):
        return repeats.agree("busy", ours, theirs, 0.005, "")

    def test_the_floor_counts_when_equal_runs_agree(self):
        self.assertEqual(self.agree([100, 100], [100.4, 100.4]).status, "pass")
        self.assertEqual(self.agree([100, 100], [101, 101]).status, "fail")

    def test_what_equal_runs_differ_by_counts_when_it_is_more(self):
        found = self.agree([100, 102], [100, 100.2])
        self.assertEqual(found.status, "pass")
        self.assertEqual(found.goal, "<= 1.9802")
        self.assertEqual(found.details["ours"], [100, 102])

    def test_too_unsteady_to_compare_is_no_pass(self):
        found = self.agree([100, 110], [104, 104])
        self.assertEqual(found.status, "skip")
        self.assertIn("equal runs differ by 9.5 %", found.reason)
        self.assertEqual(self.agree([100, 110], [150, 150]).status, "fail")

    def test_one_slow_step_does_not_make_a_median_unsure(self):
        calm = [1.0, 1.002, 0.998, 1.001, 0.999, 1.0, 1.001, 0.999]
        self.assertLess(repeats.error_of_median([*calm, 3.0]), 0.002)
        self.assertGreater(repeats.error_of_median([0.9, 1.1, 0.8, 1.2, 1.0]), 0.1)

    def test_steps_are_compared_with_their_neighbours(self):
        # The device becomes slower all the time; captured steps take a tenth more.
        times = {step: (100 + step) * (1.1 if step % 2 == 0 else 1) for step in range(4, 30)}
        del times[11]
        ratios = checks_cost.paired(times, set(range(1, 99, 2)))
        self.assertEqual(len(ratios), 13 - 3)  # the first and those beside the missing one
        for ratio in ratios:
            self.assertAlmostEqual(ratio, 1.1, 6)
        self.assertEqual(checks_cost.paired(times, set()), [])


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
        for name in ("doctor", "gpu-tests", "verify-single-fp32", "verify-zero3-bf16",
                     "completeness", "dropped-events", "kernels-launched", "kernels-kineto",
                     "busy-against-kineto", "bytes-an-event",
                     "collective-join-rate", "overlap-against-hta", "step-cost-idle",
                     "step-cost-kernels", "step-cost-full", "step-cost-marks", "launches-run",
                     "libraries-read", "pytorch-start", "step-uncaptured", "ref-micro-4",
                     "ref-micro-4-mfu", "ref-against-eager", "ref-against-compile",
                     "stop-to-viewable", "two-process-overlap", "graphs-steps", "graphs-loss",
                     "graphs-speed", "graphs-mfu", "graphs-cost-full"):
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
        self.assertTrue(any("--capture steps --device-capture never" in c for c in commands))
        self.assertEqual(found["kernels-kineto"]["value"], 21)
        self.assertEqual(found["pytorch-start"]["reason"], "2.11.0+cu130 13.0 NVIDIA H200")
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
        self.assertIn("goal 1.03; median of 32 steps", found["step-cost-full"]["reason"])
        self.assertEqual(found["step-cost-kernels"]["status"], "pass")
        self.assertAlmostEqual(found["step-uncaptured"]["value"], 39, 6)
        recorded = [c["command"] for c in document["commands"] if " record " in c["command"]]
        self.assertTrue(all("--alternate-capture" in command for command in recorded))

    def test_steps_that_were_all_captured_say_nothing(self):
        _, _, document = self.check("--only", "cost", never_less=True)
        self.assertEqual(self.by_name(document)["cost"]["reason"],
                         "the run at marks has 66 steps, 0 of them captured between two that are "
                         "not")

    def test_without_tracer_there_is_no_cost_to_measure(self):
        _, text, document = self.check("--only", "cost", "--only", "idle",
                                       tracing="not traced: CUPTI is held by another tool")
        found = self.by_name(document)
        for name in ("cost", "idle"):
            self.assertEqual(found[name]["status"], "fail", text)
            self.assertIn("held by another tool", found[name]["reason"])
        self.assertEqual(set(found), {"step-cost-marks", "cost", "idle"})

    def test_a_tracer_that_does_nothing_is_compared_between_repeated_runs(self):
        for drift, status in (([1.0, 1.001], "pass"), ([1.01, 1.0105], "fail"),
                              ([1.0, 1.2], "skip")):
            _, text, document = self.check("--only", "idle", drift={"idle-idle": drift})
            found = self.by_name(document)
            self.assertEqual(found["step-cost-idle"]["status"], status, text)
        commands = [c["command"] for c in document["commands"] if "idle-" in c["command"]]
        recorded = [c for c in commands if " record " in c]
        self.assertEqual(["--device-capture idle" in c for c in recorded],
                         [False, True, True, False])
        self.assertTrue(all("--capture steps" in c for c in recorded))

    def test_what_disagrees_fails(self):
        wrong = {"error": 1e-3, "incomplete": True, "without_launch": 1, "kineto_stretch": 1.02,
                 "more_launches": 1,
                 "joined": 3, "ratio": 0.51, "stop": 3.0, "gpu_fails": True, "tokens": 220000.0}
        status, text, document = self.check(**wrong)
        failed = {n for n, r in self.by_name(document).items() if r["status"] == "fail"}
        self.assertEqual(status, 1)
        verified = {f"verify-{strategy}-{precision}" for strategy in ("single", "zero3")
                    for precision in ("fp32", "bf16")}
        verified |= {"verify-zero3-fp32-vocabulary-pieces-3", "verify-zero3-bf16-offload-gradients"}
        self.assertEqual(failed, verified | {"completeness", "gpu-tests", "kernels-launched",
                                  "launches-run", "busy-against-kineto", "stop-to-viewable",
                                  "collective-join-rate", "overlap-against-hta",
                                  "ref-against-eager", "ref-against-compile"}, text)
        self.assertIn("Device.T1", text)

    def test_doctor_names_what_is_missing(self):
        _, _, document = self.check("--only", "doctor", no_driver=True)
        found = self.by_name(document)["doctor"]
        self.assertEqual((found["status"], found["value"]), ("fail", "cpu, tracing"))
        self.assertEqual(found["reason"], "gpu.driver: no driver")

    def test_kernels_that_another_has_not_are_missed(self):
        _, text, document = self.check("--only", "kernels-launched", calls=0)
        self.assertEqual({n: r["status"] for n, r in self.by_name(document).items()},
                         {"kernels-launched": "fail"}, text)
        _, text, document = self.check("--only", "kineto", kineto_loses=1)
        found = self.by_name(document)
        self.assertEqual(found["kernels-kineto"]["status"], "fail", text)
        self.assertEqual(found["kernels-kineto"]["reason"], "in 7 steps; Kineto: 20")
        self.assertEqual(found["kernels-kineto"]["details"]["ours"], [21, 21])

    def test_busy_time_is_judged_by_what_equal_runs_differ_by(self):
        _, _, document = self.check("--only", "kineto", kineto_stretch=1.02,
                                    drift={"ours": [1.0, 1.015]})
        busy = self.by_name(document)["busy-against-kineto"]
        self.assertEqual((busy["status"], busy["goal"]), ("pass", "<= 1.48883"))

    def test_runs_that_are_compared_do_attention_alike(self):
        def compared(**wrong):
            _, _, document = self.check("--only", "kineto", **wrong)
            return [c["command"] for c in document["commands"] if " record " in c["command"]
                    and any(f"/{who}.sscope" in c["command"] for who in ("ours", "kineto"))]

        self.assertEqual(["--attention cudnn" in c for c in compared()], [True] * 4)
        self.assertEqual(["--attention flash" in c for c in compared(attention="flash")],
                         [True] * 4)
        self.assertFalse(any("--attention" in c for c in compared(attention="math")))
        self.assertFalse(any("--attention" in c for c in compared(options=[])))

    def test_doctor_has_a_second_try_and_pytorch_its_own_libraries(self):
        status, text, document = self.check("--only", "doctor", slow_probe=True)
        self.assertEqual(status, 0, text)
        _, _, document = self.check("--only", "libraries", torch_fails=True)
        self.assertIn("Found no NVIDIA driver", self.by_name(document)["libraries"]["reason"])

    def test_pytorch_that_cannot_compile_is_no_failure_of_ours(self):
        status, text, document = self.check("--only", "peers", no_compiler=True)
        found = self.by_name(document)
        self.assertEqual(status, 0, text)
        self.assertEqual(found["ref-against-eager"]["status"], "pass")
        self.assertIn("Failed to find C compiler", found["peers"]["reason"])

    def test_graphs_that_train_something_else_fail(self):
        for wrong, status in (({"graphs_apart": 1.001}, "pass"), ({"graphs_apart": 1.01}, "fail")):
            _, text, document = self.check("--only", "graphs", **wrong)
            self.assertEqual(self.by_name(document)["graphs-loss"]["status"], status, text)
        recorded = [c["command"] for c in document["commands"] if " record " in c["command"]]
        self.assertEqual(["--graphs" in c for c in recorded if "--steps" in c], [False, True, True])
        self.assertIn("--attention cudnn", recorded[-1])
        _, text, document = self.check("--only", "graphs", graphs_lose=1)
        found = self.by_name(document)
        self.assertEqual((found["graphs-steps"]["status"], found["graphs"]["status"]),
                         ("fail", "fail"), text)

    def test_a_tiny_model_is_not_judged_by_goals_for_ref(self):
        status, text, document = self.check("--tiny", tokens=1.0, stop=9.0, slow={"full": 2.0},
                                            kineto_stretch=3.0)
        found = self.by_name(document)
        self.assertEqual(status, 0, text)
        self.assertTrue(document["tiny"])
        for name in ("ref-micro-4-mfu", "ref-against-eager", "stop-to-viewable", "step-cost-full",
                     "busy-against-kineto", "bytes-an-event", "step-cost-idle"):
            self.assertEqual((found[name]["status"], found[name]["goal"]), ("info", ""), name)
        self.assertEqual(found["kernels-kineto"]["status"], "pass")
        recorded = [c["command"] for c in document["commands"] if "--device cuda" in c["command"]
                    and " record " in c["command"]]
        self.assertTrue(recorded and all("--model tiny" in command for command in recorded))

    def test_what_is_left_out_is_said(self):
        _, _, document = self.check("--without", "peers", "--without", "cost")
        found = self.by_name(document)
        for name in ("peers", "cost"):
            self.assertEqual((found[name]["status"], found[name]["reason"]),
                             ("skip", "left out by --without"))
        self.assertIn("step-cost-idle", found)

    def test_folders_may_be_named_from_where_one_is(self):
        made = self.session(peers="peers", reference="reference")
        self.assertEqual(made.peers, pathlib.Path.cwd() / "peers")
        self.assertEqual(made.reference, pathlib.Path.cwd() / "reference")

    def test_results_are_written_as_they_come(self):
        written = []

        def look(_):
            written.append(json.loads((self.root / "out.json").read_text())["results"])
            return iter([])

        script = self.root / "script.py"
        script.write_text((PACKAGING / "gpu-check").read_text())
        spec = importlib.util.spec_from_loader("gpu_check_script", importlib.machinery.
                                               SourceFileLoader("gpu_check_script", str(script)))
        module = importlib.util.module_from_spec(spec)
        sys.modules["gpu_check_script"] = module
        spec.loader.exec_module(module)
        checks = [runner.Check("one", 0, 5, lambda _: iter([results.info("one", 1)])),
                  runner.Check("two", 0, 5, look)]
        with mock.patch.object(runner, "CHECKS", checks), \
                mock.patch.object(machine, "why_no_device", lambda facts: ""):
            options = module.parse(["--bin", str(self.root / "bin"), "--json",
                                    str(self.root / "out.json")])
            with contextlib.redirect_stdout(None):
                module.measure(options, self.root)
        self.assertEqual([[r["name"] for r in found] for found in written], [["one"]])

    def test_a_program_that_fails_stops_only_its_own_checks(self):
        status, text, document = self.check(record_fails=True)
        found = self.by_name(document)
        self.assertEqual(status, 1)
        self.assertEqual(found["gpu-tests"]["status"], "pass")
        self.assertEqual(found["verify-zero3-bf16"]["status"], "pass")
        self.assertIn("out of device memory", found["cost"]["reason"])
        self.assertEqual(found["completeness"]["reason"],
                         "shardscope record ended with 5: out of device memory")
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
            [runner.Check("slow", 1, 6, checks_cost.size),
             runner.Check("next", 1, 30, lambda _: iter([results.info("next", 1)]))], made)
        self.assertEqual([r.status for r in found], ["fail", "info"])
        self.assertIn("were too few for shardscope record", found[0].reason)
        self.assertEqual(made.commands[-1]["exit"], "timeout")
        with self.assertRaises(ProcessLookupError):
            os.kill(int(pid_file.read_text()), 0)

    def test_a_mistake_in_a_check_is_its_own_failure(self):
        def mistaken(_):
            yield results.info("first", 1)
            raise KeyError("ratio")

        found = runner.run_check(runner.Check("mistaken", 1, 5, mistaken), self.session())
        self.assertEqual([r.status for r in found], ["info", "fail"])
        self.assertIn("KeyError", found[1].reason)

    def test_libraries_come_from_the_bundle_then_torch_then_its_wheels(self):
        (self.root / "lib").mkdir()
        path = session.library_folders(self.root / "lib", self.root / "site/torch")
        self.assertEqual([str(p.relative_to(self.root)) for p in path],
                         ["lib", "site/torch/lib", "site/nvidia/cu13/lib", "site/nvidia/nccl/lib"])

    def test_every_run_trains_on_the_same_text(self):
        made = self.session()
        made.record("one", ["--device-capture", "never", "--steps", "2"])
        command = made.commands[-1]["command"]
        self.assertIn(f"--data {self.root / 'work/text.txt'}", command)
        text = (self.root / "work/text.txt").read_text()
        self.assertGreater(len(text), 1_000_000)
        self.assertTrue(text.isascii())

    def test_the_end_of_the_time_for_all_is_no_failure_of_a_check(self):
        made = self.session(budget=6)
        made.environment["FAKE"] = json.dumps({"record_hangs": str(self.root / "pid")})
        made.text()
        found = runner.run_check(runner.Check("slow", 1, 60, checks_cost.size), made)
        self.assertEqual([r.status for r in found], ["skip"])
        self.assertIn("used up", found[0].reason)

    def test_all_checks_fit_into_nine_minutes_with_a_margin(self):
        self.assertLessEqual(sum(check.usual for check in runner.CHECKS), 0.8 * 520)
        for check in runner.CHECKS:
            self.assertGreaterEqual(check.most, 1.75 * check.usual, check.name)


if __name__ == "__main__":
    unittest.main()
