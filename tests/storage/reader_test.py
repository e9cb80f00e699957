#!/usr/bin/env python3
"""Compares reader.py with `shardscope query`: reader_test.py RECORDING SHARDSCOPE"""
import json
import subprocess
import sys

try:
    from reader import read
except ImportError:
    print("skipped: the Python package zstandard (Debian: python3-zstandard) is not installed")
    sys.exit(77)

SQL = ("SELECT kind, rank, count(*), sum(start_ns), coalesce(sum(duration_ns), 0),"
       " coalesce(sum(size_bytes), 0), total(value), coalesce(sum(correlation), 0),"
       " coalesce(sum(length(arguments)), 0) FROM events GROUP BY kind, rank")


def main():
    sums, summarised = read(sys.argv[1])
    print(f"{sum(s[0] for s in sums.values())} events, pyramids count {summarised}")
    answer = subprocess.run([sys.argv[2], "query", "--json", sys.argv[1], SQL],
                            capture_output=True, check=True, text=True)
    asked = {(row[0], int(row[1])): [float(cell) for cell in row[2:]]
             for row in json.loads(answer.stdout)["rows"]}
    assert asked.keys() == sums.keys(), (asked.keys(), sums.keys())
    for key, ours in sums.items():
        for mine, theirs in zip(ours, asked[key], strict=True):
            assert abs(mine - theirs) <= 1e-9 * max(1, abs(mine)), (key, ours, asked[key])
    print("agrees with `shardscope query`")


if __name__ == "__main__":
    main()
