#!/usr/bin/env python3
"""Limits that may only fall: files per folder, headers with one user, words of a private dialect.

  check_limits.py ROOT         prints what is above its limit; exit status 1 when anything is
  check_limits.py --self-test

A limit above its goal is what the tree had when it was set: lower it with what you remove.
"""
import collections
import pathlib
import re
import sys
import tempfile

TOPS = ("app", "engine", "profiler", "storage")
FILES_PER_FOLDER = 60
# Folders that may be larger, with their limit.
LARGER = {}
HEADERS_WITH_ONE_USER = 178
# In text that people read, which is what string literals hold.
NEVER_SAID = re.compile(r"\b(cannot be told|could not (?:be told|tell)|nobody|somebody|anybody|whoever"
                        r"|for want of|is no number)\b", re.I)
SAID_ALL_THE_SAME = {"app/cli/hosts/launched_tasks.cpp": 1}  # --launched-by nobody, the former word for none
# Anywhere in a file, comments and names included.
WORDS = {"told": 0, "nobody": 2, "whoever": 0, "for want of": 0}
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def sources(root):
    for top in TOPS:
        for path in sorted((root / top).rglob("*")):
            if path.suffix in (".h", ".cpp", ".cu", ".cuh"):
                yield path.relative_to(root).as_posix(), path.read_text(errors="replace")


def said(text):
    """Literals of one statement belong together: a sentence goes on in the next line."""
    return LITERAL.findall(re.sub(r'"\s*\n\s*(?:u8?|U|L)?"', "", re.sub(r"//[^\n]*", "", text)))


def above(root, larger=None, one_user=HEADERS_WITH_ONE_USER, words=None):
    larger = LARGER if larger is None else larger
    words = WORDS if words is None else words
    folders, users, counts = collections.Counter(), collections.Counter(), collections.Counter()
    headers = set()
    for path, text in sources(root):
        folders[path.rsplit("/", 1)[0]] += 1
        if path.endswith(".h"):
            headers.add(path)
        own = path.rsplit(".", 1)[0] + ".h"
        users.update({name for name in re.findall(r'^#include "([^"]+)"', text, re.M) if name != own})
        for word in words:
            counts[word] += len(re.findall(rf"\b{word}\b", text, re.I))
        found = [match[0] for literal in said(text) for match in NEVER_SAID.finditer(literal)]
        if len(found) > SAID_ALL_THE_SAME.get(path, 0):
            yield f"{path} says {', '.join(found)}: write what an engineer would say (docs/style.md)"
    for folder, count in sorted(folders.items()):
        limit = larger.get(folder, FILES_PER_FOLDER)
        if count > limit:
            yield f"{folder} has {count} files, at most {limit}: divide it, or join files that are read together"
    single = sum(users[header] == 1 for header in headers)
    if single > one_user:
        yield f"{single} headers serve one file, at most {one_user}: join a new one with its user"
    for word, limit in words.items():
        if counts[word] > limit:
            yield f"'{word}' is used {counts[word]} times, at most {limit}: use a standard term (docs/style.md)"


def self_test():
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for top in TOPS:
            (root / top).mkdir()
        (root / "app/a.h").write_text("#pragma once\n// nobody\n")
        (root / "app/a.cpp").write_text('#include "app/a.h"\n')
        (root / "app/b.cpp").write_text('#include "app/a.h"\nauto b = "it cannot be "\n    "told";\n')
        limits = {"larger": {"app": 2}, "one_user": 0, "words": {"nobody": 0}}
        caught = [line.split()[0] for line in above(root, **limits)]
        calm = list(above(root, larger={"app": 3}, one_user=1, words={"nobody": 1}))
    return caught == ["app/b.cpp", "app", "1", "'nobody'"] and len(calm) == 1


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        sys.exit(0 if self_test() else 1)
    lines = list(above(pathlib.Path(sys.argv[1])))
    print("\n".join(lines) or "nothing is above its limit")
    sys.exit(1 if lines else 0)
