"""What the scripts of this folder share: how a source is compiled, and what changed."""
import itertools
import json
import os
import pathlib
import re
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def flags_of(entry):
    """The compiler's arguments without its name, input and output."""
    words, flags, skip = shlex.split(entry["command"]), [], False
    for i, word in enumerate(words):
        if skip:
            skip = False
        elif word in ("-o", "-c"):
            skip = True
        elif word == "-include" and "cmake_pch" in words[i + 1]:
            skip = True
        elif word != entry["file"]:
            flags.append(word)
    # The compiler, and before it perhaps a cache.
    first = next(i for i, word in enumerate(flags) if word.startswith("-"))
    return flags[first:]


def without(flags, dropped):
    """Those that no pattern of the whole flag matches."""
    return [flag for flag in flags if not re.fullmatch(dropped, flag)]


def each_source(entry):
    """The entry, or those that the sources of a batch (SHARDSCOPE_BATCHES) would have alone."""
    if "/Unity/unity_" not in entry["file"]:
        return [entry]
    text = pathlib.Path(entry["directory"], entry["file"]).read_text()
    return [{**entry, "file": source, "command": entry["command"].replace(entry["file"], source)}
            for source in re.findall(r'^#include "([^"]+)"', text, re.M)]


def database(build):
    """Entry of compile_commands.json by a source's path from the root of the tree."""
    path = build / "compile_commands.json"
    if not path.is_file():
        raise SystemExit(f"{path} is not there; configure first: cmake --preset release")
    entries = {}
    for entry in itertools.chain.from_iterable(map(each_source, json.loads(path.read_text()))):
        file = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
        relative = os.path.relpath(file, ROOT)
        if relative.endswith(".cpp") and not relative.startswith(".."):
            entries.setdefault(relative, entry)
    return entries


def changed():
    """Relative to what is known upstream, else to the commit before; with what is not committed."""
    git = ["git", "-C", str(ROOT)]
    base = subprocess.run([*git, "merge-base", "@{upstream}", "HEAD"], capture_output=True, text=True)
    commit = base.stdout.strip() if base.returncode == 0 else "HEAD~1"
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    if commit == head:
        commit = "HEAD~1"
    listed = subprocess.run([*git, "diff", "--name-only", "--diff-filter=d", commit], capture_output=True, text=True)
    return listed.stdout.split() if listed.returncode == 0 else []


def newest_first(files):
    """By the last commit that changed each; what is not committed before all."""
    log = subprocess.run(["git", "-C", str(ROOT), "log", "--format=", "--name-only", "-n", "400"],
                         capture_output=True, text=True).stdout.split()
    place = {}
    for name in log:
        place.setdefault(name, len(place))
    dirty = subprocess.run(["git", "-C", str(ROOT), "diff", "--name-only", "HEAD"],
                           capture_output=True, text=True).stdout.split()
    place.update((name, -1) for name in dirty)
    return sorted(files, key=lambda name: (place.get(name, len(place)), name))
