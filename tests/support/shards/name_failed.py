#!/usr/bin/env python3
"""After a run of ctest: names the tests that failed inside of its shards.

  name_failed.py FOLDER            what failed, as ctest's own summary has only the shard
  name_failed.py FOLDER --forget   before a run: what an earlier one left
"""
import pathlib
import sys


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    files = sorted(folder.glob("*.txt"))
    if "--forget" in sys.argv:
        for file in files:
            file.unlink(missing_ok=True)
        return
    bad = [(verdict, name, file.stem) for file in files for verdict, _, name in
           (line.split() for line in file.read_text().splitlines())
           if verdict in ("failed", "crashed")]
    if bad:
        print("\nThe tests that failed inside of shards:")
    for verdict, name, shard in bad:
        print(f"\t{name} ({verdict}, in {shard})")


if __name__ == "__main__":
    main()
