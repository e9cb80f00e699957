#!/usr/bin/env python3
"""Compares reader.py with `shardscope query`: reader_test.py RECORDING SHARDSCOPE"""
import json
import subprocess
import sys

try:
    from reader import connect, read, rows_of
except ImportError:
    print("skipped: the Python package zstandard (Debian: python3-zstandard) is not installed")
    sys.exit(77)

SQL = ("SELECT kind, rank, count(*), sum(start_ns), coalesce(sum(duration_ns), 0),"
       " coalesce(sum(size_bytes), 0), total(value), coalesce(sum(correlation), 0),"
       " coalesce(sum(length(arguments)), 0) FROM events GROUP BY kind, rank")

COLUMNS = ("rank, group_id, sequence, operation, cause, layer, size_bytes, issue_ns, end_ns, late_rank,"
           " arrivals")


def ask(sql):
    answer = subprocess.run([sys.argv[2], "query", "--json", sys.argv[1], sql],
                            capture_output=True, check=True, text=True)
    return json.loads(answer.stdout)["rows"]


def compare_collectives():
    names = COLUMNS.replace(" ", "").split(",")
    ours = [[f"x'{v.hex()}'" if isinstance(v, bytes) else v for v in map(row.get, names)]
            for row in rows_of(connect(sys.argv[1]), "collectives", names)]
    theirs = ask(f"SELECT {COLUMNS} FROM collectives ORDER BY rank, group_id, sequence")
    assert ours == theirs, (ours[:2], theirs[:2])
    print(f"{len(ours)} collectives")


def main():
    compare_collectives()
    sums, summarised = read(sys.argv[1])
    print(f"{sum(s[0] for s in sums.values())} events, pyramids count {summarised}")
    asked = {(row[0], int(row[1])): [float(cell) for cell in row[2:]] for row in ask(SQL)}
    assert asked.keys() == sums.keys(), (asked.keys(), sums.keys())
    for key, ours in sums.items():
        for mine, theirs in zip(ours, asked[key], strict=True):
            assert abs(mine - theirs) <= 1e-9 * max(1, abs(mine)), (key, ours, asked[key])
    print("agrees with `shardscope query`")


if __name__ == "__main__":
    main()
