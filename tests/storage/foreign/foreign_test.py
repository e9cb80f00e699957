#!/usr/bin/env python3
"""Imports traces in the forms of many tools and compares with an independent recount.

foreign_test.py SHARDSCOPE [SHARED_DATA [FILE...]]: the forms made here, then what SHARED_DATA holds
(cases/, traces/), where it is there. With files, only these.
"""
import sys
import tempfile
from pathlib import Path

from chrome_forms import sound
from compare import compare, differences
from damaged_forms import damaged
from folder_forms import folders
from kineto_forms import profilers
from other_forms import others
from product import bring_in
from recount import recount
from wrong_today import WRONG_TODAY


class Test:
    def __init__(self, program, folder):
        self.program, self.folder = program, Path(folder)
        self.right, self.known, self.wrong = 0, 0, []

    def form(self, form, facts=None):
        path = self.folder / (form.name + form.ending)
        path.write_bytes(form.data)
        got = bring_in(self.program, [path], self.folder / "out.sscope")
        self.note(form.name, list(self.judge(form, facts, got)))

    def judge(self, form, facts, got):
        if got.status not in (0, 3):
            yield f"exit status {got.status}: {got.message.strip()}"
        elif form.refused is not None:
            yield from self.refusal(form, got)
        elif got.status == 3:
            yield f"refused: {got.message.strip()}"
        else:
            yield from differences(facts or recount(form.counted()), got.facts)
            if form.rejected is not None and got.rejected != form.rejected:
                yield f"rejected: expected {form.rejected}, got {got.account['rejections']}"

    @staticmethod
    def refusal(form, got):
        if got.status != 3:
            yield f"not refused: {got.account['events']}"
        elif form.refused not in got.message:
            yield f"the refusal does not say '{form.refused}': {got.message.strip()}"

    def files(self, name, files, ranks):
        place = self.folder / name
        for file, data in files.items():
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            (place / file).write_bytes(data)
        got = bring_in(self.program, [place], self.folder / "out.sscope")
        if isinstance(ranks, str):  # the words of the refusal
            said = got.status == 3 and ranks in got.message
            self.note(name, [] if said else [f"exit status {got.status}: {got.message.strip()}"])
        elif got.status == 0:
            self.note(name, list(compare("ranks", ranks, got.facts.time_of_ranks)))
        else:
            self.note(name, [f"exit status {got.status}: {got.message.strip()}"])

    def file(self, path):
        got = bring_in(self.program, [path], self.folder / "out.sscope")
        if got.status != 0:
            return self.note(path.name, [f"exit status {got.status}: {got.message.strip()}"])
        return self.note(path.name, list(differences(recount(path.read_bytes()), got.facts)))

    def note(self, name, faults):
        if name in WRONG_TODAY and not faults:
            faults = ["it is right now: take it from wrong_today.py"]
        elif name in WRONG_TODAY:
            self.known += 1
            print("\n  ".join([f"{name}: wrong, as it is known to be", *faults]))
            return
        self.right += not faults
        if faults:
            self.wrong.append(name)
        print("\n  ".join([f"{name}: {'WRONG' if faults else 'right'}", *faults]))


def main():
    with tempfile.TemporaryDirectory() as folder:
        test = Test(sys.argv[1], folder)
        if len(sys.argv) > 3:
            for path in sys.argv[3:]:
                test.file(Path(path))
        else:
            for form in [*sound(), *profilers(), *damaged()]:
                test.form(form)
            for form, facts in others():
                test.form(form, facts)
            for folder_form in folders():
                test.files(*folder_form)
            shared = Path(sys.argv[2] if len(sys.argv) > 2 else "/nonexistent")
            for path in sorted([*shared.glob("cases/*.json"), *shared.glob("traces/*.json.gz")]):
                test.file(path)
        print(f"{test.right} right, {test.known} known to be wrong, {len(test.wrong)} wrong: {' '.join(test.wrong)}")
    sys.exit(1 if test.wrong else 0)


if __name__ == "__main__":
    main()
