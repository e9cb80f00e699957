#!/usr/bin/env python3
"""packaging/gpu-check from its bundle, all of it, on a machine whose GPU is host memory.

  gpu_check_dry_run_test.py SHARDSCOPE RANK MODULE LIBTORCH REFERENCE [--own-root]

The programs are real, the environment is bare: nothing of it but PATH of the system, HOME and
PYTHONPATH. With --own-root it also has a root of its own, of which only /usr is this machine's,
and a user without rights. Exit status 77 where that cannot be made.
"""
from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "packaging")]

import dry_run_machine  # noqa: E402
import own_root  # noqa: E402
from gpu_check import checks_speed, queries, runner, session, workloads  # noqa: E402

PASSED, FAILED, SKIPPED, INFO = "pass", "fail", "skip", "info"
VERIFIED = ["single-fp32", "zero3-fp32", "single-bf16", "zero3-bf16",
            "zero3-fp32-vocabulary-pieces-3", "zero3-bf16-offload-gradients"]
# Figures of speed, cost and size: a tiny model's say nothing.
UNJUDGED = ["libraries-read", "pytorch-start", "bytes-an-event", "stop-to-viewable", "ref-micro-4",
            "ref-micro-4-mfu", "ref-fused-32", "ref-fused-32-mfu", "ref-tf32", "ref-tf32-mfu",
            "busy-against-kineto", "step-cost-marks", "step-cost-kernels", "step-cost-launches",
            "step-cost-full", "step-cost-kernels-fused", "step-cost-full-fused",
            "step-uncaptured", "step-untraced", "step-cost-idle",
            "pytorch-eager", "ref-against-eager", "pytorch-compile", "ref-against-compile"]
# With why, as far as it is no figure.
EXPECTED = {
    **{name: (INFO, "") for name in UNJUDGED},
    **{f"verify-{form}": (PASSED, "worst tensor") for form in VERIFIED},
    "doctor": (PASSED, ""),
    "gpu-tests": (PASSED, ""),
    "completeness": (PASSED, ""),
    "dropped-events": (PASSED, ""),
    # The fake tracer has kernels and no calls; what stands for Kineto has other kernels.
    "kernels-launched": (FAILED, "kernels, 0 launch calls"),
    "kernels-kineto": (FAILED, "in 7 steps; Kineto: "),
    # What stands for the device is host memory, which has no graphs.
    "graphs": (FAILED, "graphs are of devices"),
    # A second rank cannot join: fake NCCL is of one process.
    "two-processes": (SKIPPED, "left out by --without"),
    "hta": (SKIPPED, "left out by --without"),
}
SECOND_RANK = ["--without", "two-processes", "--without", "hta"]
MISTAKE = re.compile(r"^\w+(Error|Exception|Warning): ")


class DryRun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = pathlib.Path(folder.name)
        cls.bundle = dry_run_machine.make_bundle(BUILT, REFERENCE, cls.root)
        cls.libraries = dry_run_machine.make_site(BUILT.libtorch, cls.root)
        for name, folder in cls.libraries.items():
            if OWN_ROOT:
                (cls.root / "site" / name).mkdir()  # for a mount
            else:
                (cls.root / "site" / name).symlink_to(folder)

    def run_it(self, *arguments, slow_start=False, **more):
        home = pathlib.Path(tempfile.mkdtemp(dir=self.root, prefix="home."))
        home.chmod(0o777)
        if not slow_start:
            (home / "started").write_text("")
        ran = self.machine(home, [dry_run_machine.PYTHON, "BUNDLE/gpu-check", "--tiny", "--budget",
                                  "3000", "--json", "HOME/out.json", *arguments], more)
        self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
        document = json.loads((home / "out.json").read_text())
        found = {r["name"]: r for r in document["results"]}
        for result in found.values():
            self.assertNotRegex(result["reason"], MISTAKE, result["name"])
        return found, document, ran.stdout

    def machine(self, home, command, more):
        """Runs it in an environment of nothing but what a login brings."""
        places = {"BUNDLE": self.bundle, "HOME": home, "SITE": self.root / "site",
                  "TOOLS": self.root / "tools"}
        if OWN_ROOT:
            mounts = {f"SITE/{name}": folder for name, folder in self.libraries.items()}
            return own_root.run(self.root / "root", places, mounts, command, more)
        command = [own_root.placed(word, places) for word in command]
        environment = {name: own_root.placed(text, places)
                       for name, text in {**own_root.ENVIRONMENT, **more}.items()}
        return subprocess.run(command, env=environment, cwd=home, text=True, capture_output=True)

    def test_every_check_runs(self):
        if not OWN_ROOT and not own_root.why_not():
            self.skipTest("runs in a root of its own, which is barer still")
        found, document, text = self.run_it(*SECOND_RANK, slow_start=True)
        self.assertEqual({name: result["status"] for name, result in found.items()},
                         {name: status for name, (status, _) in EXPECTED.items()}, text)
        for name, (_, why) in EXPECTED.items():
            self.assertIn(why, found[name]["reason"], name)
        self.assertGreater(found["kernels-kineto"]["details"]["ours"][0], 0)
        self.assertTrue(all("exit" in entry for entry in document["commands"]))
        self.assertEqual(document["versions"]["torch"], "2.11.0+cu130")
        # Its first answer came too late.
        doctors = [c for c in document["commands"] if c["check"] == "doctor"]
        self.assertEqual([c["exit"] for c in doctors], [1, 0])

    def test_a_tracer_that_is_taken_leaves_no_check_without_a_word(self):
        self.outside_only()
        found, _, text = self.run_it(
            *(word for name in ("doctor", "completeness", "kernels-launched", "kineto", "cost",
                                "idle") for word in ("--only", name)),
            SHARDSCOPE_FAKE_DEVICE="busy")
        self.assertEqual({name: result["status"] for name, result in found.items()},
                         {"doctor": FAILED, "completeness": PASSED, "dropped-events": PASSED,
                          "kernels-launched": FAILED, "kineto": FAILED, "step-cost-marks": INFO,
                          "cost": FAILED, "idle": FAILED}, text)
        self.assertEqual(found["kineto"]["reason"], "no kernel was recorded")
        for name in ("cost", "idle"):
            self.assertIn("CUPTI is held by another tool", found[name]["reason"])

    def test_without_driver_every_check_says_so(self):
        self.outside_only()
        found, _, text = self.run_it(*SECOND_RANK, "--without", "libraries", "--without",
                                     "gpu-tests", SHARDSCOPE_FAKE_DEVICE="no driver")
        status = {name: result["status"] for name, result in found.items()}
        self.assertEqual(set(status.values()), {FAILED, SKIPPED}, text)
        for name in (name for name in status if status[name] == FAILED):
            self.assertIn("no NVIDIA driver", found[name]["reason"])

    def outside_only(self):
        """For what a root of its own would add nothing to."""
        if OWN_ROOT:
            self.skipTest("runs without a root of its own")

    def session(self, tiny):
        """Of the bundle, in this process and environment."""
        self.outside_only()
        work = pathlib.Path(tempfile.mkdtemp(dir=self.root, prefix="work."))
        made = session.Session(self.bundle / "bin", work, budget=3000, tiny=tiny)
        made.environment["HOME"] = str(work)
        (work / "started").write_text("")
        return made

    def test_runs_of_ref_are_accepted(self):
        """Too large for a CPU: as far as --dry-run goes."""
        made = self.session(tiny=False)
        self.assertTrue(made.has_option("--alternate-capture"))
        self.assertFalse(made.has_option("--alternate"))
        runs = [*(workloads.single(made, level, 12) for level in workloads.LEVELS),
                *(checks_speed.arguments(made, name) for name in checks_speed.VARIANTS),
                [*workloads.traced(made), "--alternate-capture"], workloads.two_processes(made)]
        for arguments in runs:
            answer = made.shardscope("record", *arguments, "--data", made.text(), "--output",
                                     made.work / "x.sscope", "--dry-run")
            self.assertGreater(answer["needed_bytes"], 2 << 30, arguments)

    def found_by_checks_of_two_ranks(self, made):
        found = [result for name in ("two-processes", "hta") for check in runner.CHECKS
                 if check.name == name for result in runner.run_check(check, made)]
        self.assertEqual([(r.name, r.status) for r in found],
                         [("two-process-overlap", INFO), ("two-processes", SKIPPED),
                          ("hta", SKIPPED)])
        for result in found[1:]:
            self.assertIn("no NCCL kernel was recorded", result.reason)
        return found

    def test_checks_of_two_ranks_find_one_rank_without_nccl(self):
        """Their SQL and the report, of a real recording."""
        made = self.session(tiny=True)
        arguments = workloads.two_processes(made)
        arguments[arguments.index("--ranks") + 1] = "1"
        made.shared_recording("two", arguments)
        self.found_by_checks_of_two_ranks(made)

    def test_checks_of_two_ranks_look_at_two_processes_over_nccl(self):
        """A fake NCCL of processes has no kernels to be joined with."""
        made = self.session(tiny=True)
        made.environment["SHARDSCOPE_FAKE_DEVICES"] = "2"
        found = self.found_by_checks_of_two_ranks(made)
        rows = made.query(made.shared_recording("two", []), queries.COLLECTIVES)
        self.assertEqual({int(row[0]) for row in rows}, {0, 1})
        self.assertLess(found[0].value, 1)


def why_not() -> str:
    absent = BUILT.missing()
    if absent:
        return "not there: " + ", ".join(absent)
    if REFERENCE is None:
        return "no folder with the reference, which `verify` needs"
    return own_root.why_not() if OWN_ROOT else ""


if __name__ == "__main__":
    OWN_ROOT = "--own-root" in sys.argv
    words = [word for word in sys.argv[1:] if word != "--own-root"]
    if len(words) < 5:
        sys.exit(__doc__)
    BUILT = dry_run_machine.Built(*map(pathlib.Path, words[:4]))
    REFERENCE = pathlib.Path(words[4]) if pathlib.Path(words[4]).is_dir() else None
    if why_not():
        print(f"skipped: {why_not()}")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *words[5:]])
