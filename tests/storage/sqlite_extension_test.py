#!/usr/bin/env python3
"""The loadable extension in sqlite3's shell and in Python's sqlite3.

  sqlite_extension_test.py EXTENSION RECORDING SHARDSCOPE
Skips aloud (77) what is not there: the shell, or a Python that may load extensions.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

QUERIES = [
    "SELECT kind, rank, count(*), sum(start_ns), sum(duration_ns) FROM events GROUP BY 1, 2",
    "SELECT name, count(*), sum(duration_ns) FROM operators GROUP BY name ORDER BY 1",
    "SELECT name, count(*) FROM kernels GROUP BY name ORDER BY 1",
    "SELECT count(*), sum(duration_ns), min(algorithm) FROM collectives",
    "SELECT rank, count(*), sum(length(text)) FROM strings GROUP BY rank",
    "SELECT action, category, sum(size_bytes) FROM memory_events GROUP BY 1, 2",
    "SELECT step, rank, duration_ns FROM steps ORDER BY 1, 2",
    "SELECT phase, count(*) FROM phases GROUP BY phase",
    "SELECT name, max(value) FROM counters GROUP BY name",
    "SELECT count(*) FROM events WHERE name='step' AND rank=1 AND start_ns > 500000000",
]
PYTHON = """
import json, sqlite3, sys
file = sqlite3.connect(f"file:{sys.argv[2]}?mode=ro", uri=True)
file.enable_load_extension(True)
file.load_extension(sys.argv[1])
print(json.dumps([file.execute(sql).fetchall() for sql in json.loads(sys.argv[3])]))
"""


def asked(program, recording):
    """What `shardscope query` answers."""
    def answer(sql):
        done = subprocess.run([program, "query", "--json", recording, sql], check=True,
                              capture_output=True, text=True)
        return json.loads(done.stdout)["rows"]
    return [answer(sql) for sql in QUERIES]


def in_shell(shell, extension, recording):
    def answer(sql):
        done = subprocess.run([shell, "-json", recording, f".load {extension}", sql], check=True,
                              capture_output=True, text=True)
        return [list(row.values()) for row in json.loads(done.stdout or "[]")]
    return [answer(sql) for sql in QUERIES]


def refuses(shell, extension):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([shell, os.path.join(folder, "other.db"), f".load {extension}"],
                              capture_output=True, text=True)
    assert "is no recording" in done.stderr, done.stderr


def main():
    extension, recording, program = sys.argv[1:]
    extension = extension.removesuffix(".so")
    expected = asked(program, recording)
    assert all(expected), "every query must find something"
    tried = 0
    shell = shutil.which("sqlite3")
    if shell:
        assert in_shell(shell, extension, recording) == expected
        refuses(shell, extension)
        tried += 1
        print("sqlite3's shell agrees with `shardscope query`")
    else:
        print("skipped: there is no sqlite3 shell")
    for python in dict.fromkeys([sys.executable, "/usr/bin/python3"]):
        done = subprocess.run([python, "-c", PYTHON, extension, recording, json.dumps(QUERIES)],
                              capture_output=True, text=True)
        if "enable_load_extension" in done.stderr or "not found" in done.stderr:
            print(f"skipped: the sqlite3 of {python} loads no extensions")
            continue
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == expected
        tried += 1
        print(f"{python} agrees with `shardscope query`")
    sys.exit(0 if tried else 77)


if __name__ == "__main__":
    main()
