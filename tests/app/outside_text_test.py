#!/usr/bin/env python3
"""Text from outside through every verb: names in traces, log lines of ranks and agents, names of files and hosts.

  outside_text_test.py SHARDSCOPE FAKE_RANK [DESKTOP]

Whatever it holds, a terminal gets nothing that it obeys, and no line that seems to be ours; JSON,
CSV, SQLite, Markdown and SVG are read back with others' readers.
"""
import csv
import gzip
import io
import itertools
import json
import os
import pathlib
import pty
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unicodedata
import unittest
import xml.etree.ElementTree

PROGRAM, FAKE_RANK = sys.argv[1:3]
DESKTOP = sys.argv[3] if len(sys.argv) > 3 else None
SECONDS = 300

# A line that begins so is forged: none of ours does.
FORGED = "FORGED"
NAMES = [
    "aten::title\x1b]0;TITLE\x07\x1b[2J\x1b[31m",
    f"aten::lines\r\n{FORGED} by a name\n{FORGED} again\r{FORGED}",
    "aten::c0\x08\x0b\x0c\x0e\x7f\x00 c1\x80\x85\x8d\x90\x9b31m\x9f",
    "aten::order\u061c\u200e\u200f\u202a\u202e\u2066\u2069\u2028\u2029\ufeff",
    "aten::never\ufffe\uffff\ufdd0\ufdef\U0001fffe\U0010ffff",
    "aten::markup<b>&amp;\"'</text><script>1</script><!-- ]]><img src=x>",
    "aten::cells,\"q\";\t|*_[x](http://y)`\\|=1+1",
    "\"; DROP TABLE x; --",
]
# Any bytes but these two are a name of a file.
FILES = [name.replace("\0", "").replace("/", "").encode() + b"\xff\xc0\x9b" for name in NAMES]
BIDI = set("\u061c\u200e\u200f\u2028\u2029\ufeff") | {chr(c) for c in [*range(0x202a, 0x202f), *range(0x2066, 0x206a)]}


def steers(text):
    """What of it a terminal obeys, or shows as other than it is."""
    return sorted({hex(ord(c)) for c in text if unicodedata.category(c) == "Cc" and c not in "\n\t" or c in BIDI
                   or ord(c) & 0xfffe == 0xfffe or 0xfdd0 <= ord(c) <= 0xfdef})


class Said:
    def __init__(self, words, done):
        self.words, self.status, self.out, self.err = words, done.returncode, done.stdout, done.stderr


class OutsideText(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.held = tempfile.TemporaryDirectory()
        cls.folder = os.fsencode(cls.held.name)
        cls.covered = set()
        cls.environment = {**os.environ, "XDG_STATE_HOME": cls.held.name, "XDG_CACHE_HOME": cls.held.name,
                           "XDG_CONFIG_HOME": cls.held.name, "SHARDSCOPE_RANK_PROGRAM": FAKE_RANK,
                           "QT_QPA_PLATFORM": "offscreen"}
        with open(cls.path(b"text.txt"), "w") as text:
            text.writelines(f"line {i} of a short text\n" for i in range(100))

    @classmethod
    def tearDownClass(cls):
        cls.held.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    def clean(self, printed, what, rows=False):
        """Nothing of it steers a terminal; `rows`: it is CSV, where quotes keep the lines of a cell together."""
        text = printed.decode("utf-8")  # raises where it is not
        if rows:
            text = text.replace("\r\n", "\n")
        self.assertEqual(steers(text), [], what)
        if not rows:
            self.assertNotIn("\n" + FORGED, "\n" + text, what)

    def run_it(self, *words, status=0, rows=False, program=PROGRAM, **environment):
        self.covered.add(words[0])
        done = subprocess.run([program, *words], env={**self.environment, **environment}, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=SECONDS)
        self.clean(done.stdout, words, rows)
        self.clean(done.stderr, words)
        if status is not None:
            self.assertEqual(done.returncode, status, (words, done.stderr))
        return Said(words, done)

    def trace(self, rank):
        """One rank with a device and two steps; every text in it comes from outside."""
        name = itertools.cycle(NAMES).__next__

        def event(cat, ts, dur, what=None, pid=10 + rank, tid=11, **arguments):
            return {"ph": "X", "cat": cat, "name": what or name(), "pid": pid, "tid": tid, "ts": ts, "dur": dur,
                    "args": {name(): name(), **arguments}}

        events = [{"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name()}}
                  for kind in ("process_name", "thread_name", "process_labels") for pid, tid in ((10 + rank, 11), (0, 7))]
        number = 1
        for step in range(2):
            at = step * 10_000
            events.append(event("user_annotation", at, 9_000, f"ProfilerStep#{step}"))
            for i in range(2 * len(NAMES)):
                begin = at + 10 + 400 * i
                events.append(event("cpu_op", begin, 300, **{"Input Dims": [[4, name()]], "Call stack": name()}))
                events.append(event("python_function", begin + 1, 290))
                events.append(event("cuda_runtime", begin + 5, 3, "cudaLaunchKernel", correlation=number))
                events.append(event("kernel", begin + 20, 200, pid=0, tid=7, device=0, stream=7, correlation=number))
                events.append(event("kernel", begin + 30, 50 + 20 * rank, "ncclDevKernel_AllReduce_Sum_f32_RING_LL" + name(), pid=0,
                                    tid=20, device=0, stream=20, correlation=number,
                                    **{"Collective name": "allreduce", "In msg nelems": 64, "dtype": "Float", "Group size": 2,
                                       "Process Group Name": name(), "Process Group Description": name()}))
                events += [{"ph": "C", "name": name(), "pid": 0, "ts": begin, "args": {name(): i}},
                           {"ph": "i", "name": name(), "cat": name(), "pid": 10 + rank, "tid": 11, "ts": begin + 2, "s": "t"}]
                number += 1
        return json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": name(), "totalGlobalMem": 1 << 30}],
                           "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2}, "traceEvents": events})

    def recording(self):
        """Imported once, under a name that is from outside too."""
        output = self.path(b"imported" + FILES[1] + b".sscope")
        if not os.path.exists(output):
            for rank in range(2):
                folder = self.path(b"traces" + FILES[0])
                os.makedirs(folder, exist_ok=True)
                with open(os.path.join(folder, b"rank%d" % rank + FILES[2] + b".json"), "w") as file:
                    file.write(self.trace(rank))
            said = self.run_it("import", self.path(b"traces" + FILES[0]), "--output", output)
            self.assertIn(rb"imported", said.out)
        return output

    def failed(self):
        """Of ranks and an agent whose every text is from outside."""
        output = self.path(b"failed.sscope")
        if not os.path.exists(output):
            said = self.run_it("record", "--data", self.path(b"text.txt"), "--steps", "5", "--output", output, status=5,
                               FAKE_RANK_MODE="terminal")
            self.assertIn(b"EVIL", said.err)
            self.assertNotIn(b"\nshardscope: error: FORGED", said.err)
        return output

    def names_in(self, value):
        if isinstance(value, dict):
            return set().union(*(self.names_in(each) for pair in value.items() for each in pair), set())
        if isinstance(value, list):
            return set().union(*map(self.names_in, value), set())
        return {value} if isinstance(value, str) else set()

    def test_readers(self):
        for output in (self.recording(), self.failed()):
            for verb in ("info", "report"):
                self.run_it(verb, output)
                json.loads(self.run_it(verb, output, "--json").out)
            self.run_it("info", output, "--verify")
            json.loads(self.run_it("info", output, "--verify", "--json").out)
            for more in ("--all", "--hta"):
                self.run_it("report", output, more)

    def test_questions(self):
        listed = self.run_it("analyze", "--help").out.decode().split("Questions:\n")[1].split("\n\n")[0]
        questions = [line.split()[0] for line in listed.splitlines()]
        self.assertGreater(len(questions), 10)
        for question, output in itertools.product(questions, (self.recording(), self.failed())):
            said = self.run_it("analyze", output, question, "--all", "--per-step")
            self.assertTrue(said.out, question)
            self.run_it("analyze", output, question, "--explain")
            json.loads(self.run_it("analyze", output, question, "--json").out)
            self.read_tables(self.run_it("analyze", output, question, "--csv", rows=True).out)
        names = self.names_in(json.loads(self.run_it("analyze", self.recording(), "work", "--json").out))
        for name in NAMES:  # JSON has them as they are
            self.assertIn(name, names)

    def read_tables(self, printed):
        """Tables of CSV, an empty line between two; each row as wide as its header."""
        rows, width, cells = csv.reader(io.StringIO(printed.decode(), newline=""), strict=True), None, set()
        for row in rows:
            if not row:
                width = None
                continue
            self.assertEqual(len(row), width or len(row))
            width = len(row)
            cells.update(row)
        return cells

    def test_query(self):
        output = self.recording()
        for view in ("events", "operators", "kernels", "collectives", "instants", "counters", "lanes", "devices", "meta", "run"):
            sql = f"SELECT * FROM {view}"
            self.run_it("query", output, sql, status=None)
            self.run_it("query", output, sql, "--csv", status=None, rows=True)
            self.run_it("query", output, sql, "--json", status=None)
        sql = "SELECT DISTINCT name FROM operators"
        rows = json.loads(self.run_it("query", output, sql, "--json").out)["rows"]
        self.assertEqual({row[0] for row in rows}, set(NAMES))
        cells = self.read_tables(self.run_it("query", output, sql, "--csv", rows=True).out)
        self.assertLessEqual({NAMES[5], NAMES[7]}, cells)
        for evil in NAMES:  # as a name of a column, and in an error
            quoted = '"' + evil.replace("\0", "").replace('"', '""') + '"'
            self.run_it("query", output, f"SELECT 1 AS {quoted}")
            json.loads(self.run_it("query", output, f"SELECT 1 AS {quoted}", "--json").out)
            self.read_tables(self.run_it("query", output, f"SELECT 1 AS {quoted}", "--csv", rows=True).out)
            self.run_it("query", output, f"SELECT * FROM {quoted}", status=None)
            self.run_it("query", output, f"{quoted}", status=None)

    def test_what_a_run_is_called(self):
        """By a file that was made elsewhere: `record` takes none of these."""
        for evil in NAMES[:5]:
            if "\0" not in evil:
                for words in (("--name", evil), ("--tag", evil)):
                    self.run_it("record", *words, "--", "true", status=2)
        files = [self.path(b"called%d" % number + FILES[1] + b".sscope") for number in range(2)]
        for number, file in enumerate(files):
            shutil.copy(self.recording(), file)
            held = sqlite3.connect(os.fsdecode(file))
            rows = [("name", NAMES[number]), *(("tag:" + evil, evil) for evil in NAMES)]
            held.executemany("INSERT INTO facts (name, host, rank, value) VALUES (?, -1, -1, ?)", rows)
            held.commit()
            held.close()
            for verb in ("info", "report"):
                self.assertIn(NAMES[number][:9].encode(), self.run_it(verb, file).out)
                run = json.loads(self.run_it(verb, file, "--json").out)["run"]
                self.assertEqual((run["name"], set(run["tags"])), (NAMES[number], set(NAMES)))
            self.run_it("query", file, "SELECT * FROM facts")
            self.run_it("query", file, "SELECT * FROM facts", "--csv", rows=True)
        self.run_it("compare", *files, "--anyway")
        json.loads(self.run_it("compare", *files, "--anyway", "--json").out)
        self.run_it("compare", *files, "--scaling", "--anyway", status=None)

    def test_compare(self):
        pairs = (self.recording(), self.recording()), (self.failed(), self.failed())
        for pair in pairs:
            self.run_it("compare", *pair, "--all", "--anyway", status=None)
            self.run_it("compare", *pair, "--anyway", "--csv", status=None, rows=True)
            self.run_it("compare", *pair, "--anyway", "--json", status=None)
            self.run_it("compare", *pair, "--scaling", "--anyway", status=None)
        gate = self.path(b"gate" + FILES[1])
        for evil in NAMES:
            with open(gate, "w") as file:
                file.write("rules = [%s]\n" % json.dumps(evil))
            said = self.run_it("compare", *pairs[0], "--anyway", "--gate", gate, status=2)
            self.assertIn(b"gate", said.err)

    def export(self, output, form, ending, *more):
        target = self.path(b"export" + FILES[1] + form.encode() + ending)
        said = self.run_it("export", output, "--format", form, "--output", target, *more)
        self.assertIn(b"wrote", said.out)
        return target

    def test_exports(self):
        listed = self.run_it("export", "--help").out.decode().split("Formats:\n")[1].split("\n\n")[0]
        left = {line.split()[0] for line in listed.splitlines()}
        output = self.recording()

        def exported(form, ending, *more):
            left.discard(form)
            return self.export(output, form, ending, *more)

        for path in pathlib.Path(os.fsdecode(exported("kineto", b""))).iterdir():
            text = gzip.decompress(path.read_bytes())
            self.assertLessEqual(set(NAMES), self.names_in(json.loads(text)), path)
        with open(exported("speedscope", b".json")) as file:
            self.assertLessEqual(set(NAMES[3:6]), self.names_in(json.load(file)))
        with open(exported("folded", b".txt"), "rb") as file:
            for line in file.read().decode().removesuffix("\n").split("\n"):
                self.assertRegex(line, r"^[^\r\n]+ \d+$")
        with open(exported("csv", b".csv", "--view", "operators"), newline="") as file:
            rows = list(csv.reader(file, strict=True))
            self.assertEqual({len(row) for row in rows}, {len(rows[0])})
        with open(exported("json", b".report.json")) as file:
            json.load(file)
        nsys = sqlite3.connect(os.fsdecode(exported("nsys-sqlite", b".sqlite")).replace("%", "%25"))
        self.assertEqual(nsys.execute("PRAGMA integrity_check").fetchone(), ("ok",))
        nsys.close()
        exported("perfetto", b".pftrace")
        self.run_it("info", exported("sscope", b".sscope"))
        for form in left:  # what they are of is not in a trace
            self.run_it("export", output, "--format", form, "--output", self.path(b"none" + FILES[0]), status=None)

    def test_names_of_files(self):
        for evil in FILES:
            none, text = self.path(b"none" + evil), self.path(b"words" + evil)
            with open(text, "wb") as file:
                file.write(b"words\n")
            for words in (("info", none), ("report", none), ("query", none, "SELECT 1"), ("analyze", none, "work"),
                          ("compare", none, none), ("import", none, "-o", self.path(b"x.sscope")),
                          ("import", text, "-o", self.path(b"x.sscope")), ("info", text), ("info", "--verify", text), ("report", text),
                          ("repair", none, "-o", self.path(b"x.sscope")), ("repair", text, "-o", text),
                          ("export", none, "-o", none), ("export", text, "-o", text), ("record", none), ("record", text),
                          ("record", "--data", none), ("record", "--tokenizer", text), ("record", "--resume", none),
                          ("record", "--hosts", none), ("record", "-o", none + b"/x", "--", "true"), ("record", "--", none),
                          ("attach", "--socket-dir", none), ("attach", "-o", none + b"/x"),
                          ("verify", none), ("plan", "--from", none), ("plan", "--from", text), ("tune", none), ("tune", text),
                          ("bench", evil), ("calibrate", "--data", none), ("doctor", none), ("doctor", "--hosts", none),
                          ("control", none, "stop"), ("control", text, evil), ("tokenize", none, "-o", none),
                          ("tokenize", "--train", text, "-o", text), ("tokenize", text, "--tokenizer", text, "-o", none + b"/"),
                          ("info", b"ssh://" + evil + b"/x"), ("info", evil), (evil,), ("info", b"--" + evil)):
                said = self.run_it(*words, status=None)
                self.assertNotEqual(said.status, 0, words)
                self.assertTrue(said.err, words)
            self.covered.discard(evil)

    def test_accounts(self):
        """What names its output, where it has done what was asked."""
        for evil in FILES:
            data, kept = self.path(b"data" + evil), self.path(b"run" + evil + b".sscope")
            with open(data, "wb") as file:
                file.write(b"one text, two texts and three texts\n" * 20)
            said = self.run_it("record", "--data", data, "--steps", "3", "--output", kept)
            next_command = said.err.decode().split("Next: ", 1)[1].splitlines()[0]
            # What it says is to be typed means this very file.
            typed = subprocess.run(["bash", "-c", next_command.replace("shardscope", "printf '%s\\n'", 1)],
                                   env={**self.environment, "LC_ALL": "C"}, capture_output=True, check=True)
            self.assertEqual(typed.stdout, b"report\n" + kept + b"\n")
            json.loads(self.run_it("record", "--data", data, "--steps", "3", "--json", "--force", "--output", kept).out)
            self.run_it("record", "--data", data, "--dry-run", "--json")
            self.run_it("info", kept)
            self.run_it("repair", kept, "--output", self.path(b"again" + evil + b".sscope"))
            self.run_it("plan", "--from", kept, status=None)
            self.run_it("plan", "--from", kept, "--markdown", status=None)
            tokenizer = self.path(b"t" + evil + b".json")
            self.run_it("tokenize", "--train", "--vocabulary", "260", "--output", tokenizer, data)
            self.run_it("tokenize", "--tokenizer", tokenizer, "--output", self.path(b"k" + evil + b".bin"), data)
            json.loads(self.run_it("tokenize", "--tokenizer", tokenizer, "--json", "--output", self.path(b"j" + evil), data).out)

    def test_folders_of_short_runs(self):
        """Their run files are TOML, which is UTF-8."""
        for evil in NAMES:
            data, folder = (self.path(front + evil.replace("\0", "").replace("/", "").encode()) for front in (b"data", b"tuned"))
            with open(data, "w") as file:
                file.write("one text, two texts and three texts\n" * 20)
            for form in ((), ("--markdown",), ("--json",)):
                self.run_it("tune", "--over", "batch=4", "--steps", "2", "--data", data, *form, "--output", folder)
        folder = self.path(b"benched" + NAMES[1].encode())
        words = "bench", "ddp", "--model", "tiny", "--strategy", "zero1,zero2", "--steps", "3", "--repetitions", "1"
        for form in ((), ("--markdown",), ("--json",)):
            said = self.run_it(*words, *form, "--output", folder)
            self.assertIn(b"zero1", said.out)
        self.run_it(*words, "--csv", "--output", folder, rows=True)
        xml.etree.ElementTree.parse(os.path.join(os.fsdecode(folder), "strategies.svg"))

    def test_words_of_a_rank_and_of_its_host(self):
        self.failed()
        for more in (("--quiet",), ("--json",), ("--quiet", "--json")):
            self.run_it("record", "--data", self.path(b"text.txt"), "--steps", "5", *more, "--output", self.path(b"f.sscope"),
                        "--force", status=5, FAKE_RANK_MODE="terminal")

    def test_words_of_hosts(self):
        """Two that a script stands in for, which speaks all the time, as do the ranks."""
        binaries = self.path(b"bin")
        os.makedirs(binaries)
        shutil.copy(PROGRAM, os.path.join(binaries, b"shardscope"))
        shutil.copy(FAKE_RANK, os.path.join(binaries, b"shardscope-rank"))
        speak = 'printf "%b" ' + "'" + r"\033]0;TITLE\007\033[2J\r\nFORGED by a host\n" + "' >&2"
        mute, ssh = self.path(b"mute"), self.path(b"ssh")
        with open(mute, "w") as script:
            script.write(f"#!/bin/sh\n{speak}\nexit 255\n")
        with open(ssh, "w") as script:
            script.write(f"#!/bin/sh\n{speak}\nfor last; do :; done\n"
                         'case " $* " in *" -M "*) echo; exec sleep 1000;; esac\n'
                         f"(for i in $(seq 50); do {speak}; sleep 0.02; done) </dev/null >/dev/null &\n"
                         'exec sh -c "$last"\n')
        for script in (mute, ssh):
            os.chmod(script, 0o755)

        def run(*words, **environment):
            return self.run_it(*words, program=os.path.join(binaries, b"shardscope"), status=None, **environment)

        hosts = "node1 slots=1 interface=lo; node2 slots=1 interface=lo"
        record = ("record", "--hosts", hosts, "--data", self.path(b"text.txt"), "--steps", "5", "--force", "--output", self.path(b"h.sscope"))
        said = run(*record, b"--ssh-command", mute)
        self.assertEqual(said.status, 4)
        self.assertIn(b"FORGED by a host", said.err)
        doctor = ("doctor", "--hosts", hosts, "--ssh-command", ssh)
        found = json.loads(run(*doctor, "--json").out)["hosts"][0]["problem"]
        torch = self.path(b"shardscope/libtorch-%s/torch/lib" % re.search(r"no LibTorch ([0-9.]+[0-9])", found)[1].encode())
        os.makedirs(torch)
        with open(os.path.join(torch, b"libtorch_cpu.so"), "w") as file:
            file.write("found, and not loaded by a fake rank")
        self.assertEqual(run(*doctor).status, 0)
        self.assertEqual(run(*record, b"--ssh-command", ssh).status, 0)
        said = run(*record, b"--ssh-command", ssh, FAKE_RANK_MODE="terminal")
        self.assertEqual(said.status, 5)
        for words in (b"node1: FORGED by a host", b"rank 1: \\x1b]0;EVIL"):
            self.assertIn(words, said.err)

    def test_tokens_that_are_decoded(self):
        """As they are, but for a terminal."""
        tokenizer, tokens, text = (self.path(name) for name in (b"d.json", b"d.bin", b"d.txt"))
        evil = "".join(NAMES).replace("\0", "").encode() + b"\xff"
        with open(text, "wb") as file:
            file.write(evil)
        self.run_it("tokenize", "--train", "--vocabulary", "257", "--output", tokenizer, self.path(b"text.txt"))
        self.run_it("tokenize", "--tokenizer", tokenizer, "--output", tokens, "--held-back", "0", text)
        decode = [PROGRAM, "tokenize", "--tokenizer", tokenizer, "--decode", tokens]
        self.assertIn(evil, subprocess.run(decode, capture_output=True, check=True).stdout)
        terminal, end = pty.openpty()
        with subprocess.Popen(decode, stdin=subprocess.DEVNULL, stdout=end, stderr=subprocess.DEVNULL) as running:
            os.close(end)
            said = b""
            try:
                while part := os.read(terminal, 4096):
                    said += part
            except OSError:  # its other end is closed
                pass
            self.assertEqual(running.wait(), 0)
        os.close(terminal)
        self.assertIn(b"TITLE", said)
        self.assertEqual(steers(said.decode().replace("\r\n", "\n")), [])

    @unittest.skipUnless(DESKTOP, "there is no window")
    def test_pictures(self):
        # Qt has names of files as UTF-8 only.
        named = self.path(b"in" + NAMES[1].encode() + b".sscope")
        shutil.copy(self.recording(), named)
        for number, output in enumerate((named, self.failed())):
            picture = self.path(b"sheet%d" % number + NAMES[5].replace("/", "").encode() + b".svg")
            said = self.run_it("report", output, "--dashboard", picture, SHARDSCOPE_DESKTOP_PROGRAM=DESKTOP)
            self.assertIn(b"sheet%d" % number, said.out)
            xml.etree.ElementTree.parse(picture)
            self.run_it("report", output, "--dashboard", picture, status=2, SHARDSCOPE_DESKTOP_PROGRAM=DESKTOP)
            self.run_it("report", self.path(b"none" + FILES[1]), "--dashboard", picture + b".svg", status=3,
                        SHARDSCOPE_DESKTOP_PROGRAM=DESKTOP)

    def test_zz_no_verb_was_left_out(self):
        listed = subprocess.run([PROGRAM, "--help"], capture_output=True, check=True).stdout.decode()
        verbs = {line.split()[0] for line in listed.split("Subcommands:\n")[1].split("\n\n")[0].splitlines()}
        self.assertGreater(len(verbs), 10)
        self.assertEqual(verbs - self.covered, set())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
