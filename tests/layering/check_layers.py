#!/usr/bin/env python3
"""Checks every #include and every call of a function against the arrows of the design, and what may
be named where.

  check_layers.py ROOT      prints each violation; exit status 1 when there is one
  check_layers.py --self-test
"""
import pathlib
import re
import sys
import tempfile

# folder: what it may include besides itself and storage/model. First match wins.
ENGINE_PARTS = ["engine/" + p for p in ("gpt", "kernels", "comm", "data", "parallel", "training", "worker")]
BELOW_RECORDINGS = ["storage/sqlite", "storage/columns", "storage/schema"]
ARROWS = {
    "storage/model": [],
    "storage/sqlite": [],
    "storage/columns": [],
    "storage/schema": [],
    # Floors: each may stand on those above it in this list.
    "storage/recording/beside": ["storage/sqlite"],
    "storage/recording/file": [*BELOW_RECORDINGS],
    "storage/recording/read": [*BELOW_RECORDINGS, "storage/recording/file"],
    "storage/recording/remote": [*BELOW_RECORDINGS, "storage/recording/read"],
    "storage/recording/write": [*BELOW_RECORDINGS, "storage/recording/file", "storage/recording/read"],
    "storage/recording/verify": [*BELOW_RECORDINGS, "storage/recording/file", "storage/recording/read",
                                 "storage/recording/write"],
    "storage/recording/repair": [*BELOW_RECORDINGS, "storage/recording/file", "storage/recording/read",
                                 "storage/recording/write", "storage/recording/verify"],
    "storage/interchange/nsys": ["storage/interchange", "storage/recording", "storage/sqlite"],
    "storage/interchange": ["storage/recording", "storage/columns"],
    "engine/run/config": [],
    "engine/run/theory": ["engine/run/config"],
    "engine/run/protocol": ["engine/run/config"],
    "engine/control": ["engine/run"],
    "engine/network": [],
    "engine/launch/program": ["engine/launch", "engine/run", "profiler/capture", "storage/columns"],
    "engine/launch": ["engine/run", "engine/control", "engine/network"],
    "engine/checkpoint": ["engine/run"],
    "engine/kernels": ["engine/run", "engine/control"],
    "engine/comm": ["engine/run", "engine/control", "engine/network"],
    "engine/tokens": ["engine/run"],
    "engine/data": ["engine/run", "engine/control", "engine/tokens"],
    "engine/gpt": ["engine/run", "engine/control", "engine/kernels"],
    "engine/parallel": ["engine/run", "engine/control", "engine/comm", "engine/kernels"],
    "engine/training": ["engine/run", "engine/control", "engine/comm", "engine/kernels", "engine/data",
                        "engine/gpt", "engine/parallel", "engine/checkpoint"],
    "engine/worker": ["engine", "profiler/capture", "profiler/collectors", "storage/columns"],
    "profiler/capture": ["storage/columns"],
    "profiler/collectors": ["profiler/capture"],
    # Into programs that know nothing of us: without the engine, and LibTorch only in shims.
    "profiler/inject/torch": ["profiler/inject/inject_api.h"],
    "profiler/inject": ["profiler/capture", "profiler/collectors/host", "storage/columns"],
    "profiler/analysis": ["engine/run/config", "engine/run/theory"],
    "profiler/questions": ["profiler/analysis", "profiler/planning", "storage/recording/read", "storage/interchange",
                           "engine/run/config", "engine/run/theory"],
    "profiler/planning": ["profiler/analysis", "engine/run/config", "engine/run/theory"],
    "app/cli": ["storage", "profiler/analysis", "profiler/planning", "profiler/questions", "engine/run", "engine/control", "engine/launch",
                "engine/checkpoint", "engine/tokens", "app/manual"],
    "app/manual": [],
    "app/desktop/session": ["engine/run"],
    "app/desktop/models": ["profiler/analysis", "profiler/questions", "engine/run", "storage/recording/file"],
    "app/desktop/widgets": ["app/desktop/models", "app/manual"],
    "app/desktop/loading": ["storage/recording", "storage/interchange", "profiler/analysis", "profiler/questions",
                            "app/desktop/models"],
    "app/desktop/pages": ["app/desktop/models", "app/desktop/widgets", "app/desktop/loading",
                          "app/desktop/session", "storage/recording/read", "storage/recording/remote",
                          "profiler/analysis", "profiler/planning", "profiler/questions",
                          "engine/run", "engine/checkpoint", "engine/tokens"],
    "app/desktop": ["app/desktop", "app/manual", "storage/recording", "profiler/analysis", "engine/run"],
}
# What only some folders may name: (what, pattern of a line, folders).
ONLY_IN = [
    ("a LibTorch or CUDA header", r'#include [<"](torch/|ATen/|c10/|cuda|cupti|nccl)',
     ENGINE_PARTS + ["profiler/collectors", "profiler/inject/torch"]),
    ("a Qt header", r"#include <Q[A-Zt]", ["app/desktop"]),
    ("sqlite3.h", r"#include <sqlite3", ["storage/sqlite"]),
    # The help of `shardscope query`, and the page for it, show people what to type.
    ("SQL text", r'"\s*(SELECT\s|INSERT\s+(OR|INTO)\s|CREATE\s+(TABLE|INDEX|VIEW)\s|UPDATE\s+\w+\s+SET\s'
                 r"|DELETE\s+FROM\s|PRAGMA\s)", ["storage", "app/cli/answers/query.cpp", "app/desktop/pages/sql"]),
]
# One format knows nothing of another; what they share lies beside their folders.
FORMATS = ["storage/interchange/" + p for p in ("csv", "folded", "kineto", "memory_snapshot", "nsys", "perfetto",
                                               "recording", "speedscope")]
# One page knows nothing of another; what they share lies beside their folders.
PAGES = "app/desktop/pages"
# A free function's declaration begins at the left; a class's members are indented.
DECLARED = re.compile(r"^(?:\[\[nodiscard\]\] )?(?:inline |constexpr |extern )*[\w:]+(?:<.*>)?[&*]* [&*]?(\w+)\(")
# Called by its bare name or through a namespace, not as somebody's member.
CALLED = re.compile(r"(?<![\w.>\"~])(?:\w+::)*(\w+)\(")
COMMENT_OR_TEXT = re.compile(r'//.*|"(?:[^"\\\n]|\\.)*"')
OURS = re.compile(r'\s*#include "((?:storage|engine|profiler|app|tests)/[^"]+)"')


def within(path, folders):
    return any(path == f or path.startswith(f + "/") for f in folders)


def page_of(path):
    """The page in whose folder a file lies."""
    parts = path[len(PAGES) + 1:].split("/") if within(path, [PAGES]) else []
    return parts[0] if len(parts) > 1 else None


def folder_of(path):
    return next((f for f in ARROWS if within(path, [f])), None)


def sources(root):
    """Path and text of every source and header of the product."""
    for top in ("storage", "engine", "profiler", "app"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix in (".h", ".cpp", ".cu", ".cuh"):
                yield file.relative_to(root).as_posix(), file.read_text(errors="replace")


def reached(path, includes, known):
    """Our headers that a file includes, or that they include, however far."""
    if path not in known:
        known[path] = set()  # of a circle, what the first round finds
        known[path] = set().union(includes.get(path, ()),
                                  *(reached(header, includes, known) for header in includes.get(path, ())))
    return known[path]


def borrowed(files):
    """Calls of functions that came in through somebody else's include, from where the caller may not
    include: their headers are reached, and none that declares the name may be."""
    includes, homes, known = {}, {}, {}
    for path, text in files:
        lines = text.splitlines()
        includes[path] = [found[1] for line in lines if (found := OURS.match(line))]
        for line in lines:
            if path.endswith(".h") and (declared := DECLARED.match(line)):
                homes.setdefault(declared[1], set()).add(path)
    for path, text in files:
        folder = folder_of(path)
        if folder is None:
            continue
        allowed = [folder, "storage/model", *ARROWS[folder]]
        seen = reached(path, includes, known)
        for number, line in enumerate(text.splitlines(), 1):
            for name in CALLED.findall(COMMENT_OR_TEXT.sub('""', line)):
                near = homes.get(name, set()) & seen
                if near and not any(within(home, allowed) for home in near) \
                        and not re.search(rf"[\w>&*] [&*]?{name}\(|\bauto {name} =", text):
                    yield f"{path}:{number}: {folder} may not use {name} of {min(near)}"


def violations(root):
    files = list(sources(root))
    yield from borrowed(files)
    yield from misplaced(files)


# Of app/desktop/pages: no page itself, but what several have.
SHARED_BY_PAGES = ["run_fields"]
# Parts of a page that others show too: lanes over time, of the Timeline.
PARTS_OF_PAGES = ["app/desktop/pages/timeline/" + part for part in ("canvas", "timeline_query.h")]


def misplaced(files):
    for path, text in files:
        folder = folder_of(path)
        if folder is None:
            yield f"{path}: its folder has no arrows; add it to tests/layering/check_layers.py"
            continue
        for number, line in enumerate(text.splitlines(), 1):
            include = OURS.match(line)
            if include and not within(include[1], [folder, "storage/model", *ARROWS[folder]]):
                yield f"{path}:{number}: {folder} may not include {include[1]}"
            own = next((f for f in FORMATS if within(path, [f])), None)
            if include and own and within(include[1], [f for f in FORMATS if f != own]):
                yield f"{path}:{number}: the format of {own} may not include {include[1]}"
            page, other = page_of(path), page_of(include[1]) if include else None
            shared = other in SHARED_BY_PAGES or (include and within(include[1], PARTS_OF_PAGES))
            if page and other and page != other and not shared:
                yield f"{path}:{number}: the page {page} may not include {include[1]}"
            for what, pattern, folders in ONLY_IN:
                if re.search(pattern, line) and not within(path, folders):
                    yield f"{path}:{number}: {what} does not belong here"


def self_test():
    wrong = {
        "storage/columns/a.cpp": '#include "storage/sqlite/connection.h"\n',
        "engine/control/a.h": "#include <ATen/ATen.h>\n",
        "profiler/analysis/a.cpp": 'auto sql = "SELECT name FROM events";\n',
        "app/cli/a.cpp": "#include <QString>\n",
        "app/cli/b.cpp": '#include "engine/training/trainer.h"\n',
        "app/desktop/pages/a/a.cpp": '#include "app/desktop/shell/window.h"\n',
        "app/desktop/pages/a/b.cpp": '#include "app/desktop/pages/b/model.h"\n',
        "storage/recording/read/a.cpp": "#include <sqlite3.h>\n",
        "storage/recording/file/a.cpp": '#include "storage/recording/read/b.h"\n',
        "engine/misc/a.cpp": "\n",
        "engine/run/config/b.h": '#include "engine/launch/b.h"\n',
        "storage/interchange/perfetto/a.cpp": '#include "storage/interchange/kineto/out/b.h"\n',
        "engine/run/config/a.cpp": '#include "engine/run/config/b.h"\nint a(A x) { return control::readClock(x); }\n',
    }
    right = {
        "storage/interchange/kineto/in/a.cpp": '#include "storage/interchange/kineto/out/b.h"\n',
        "engine/worker/a.cpp": '#include <ATen/ATen.h>\n#include "engine/comm/ring.h"\n',
        "storage/sqlite/a.cpp": '#include <sqlite3.h>\nauto sql = "SELECT 1";\n',
        "app/desktop/shell/a.cpp": '#include <QWidget>\n#include "app/desktop/pages/live/page.h"\n',
        "app/desktop/pages/pages.cpp": '#include "app/desktop/pages/live/page.h"\n',
        "app/desktop/pages/live/page.cpp": '#include "app/desktop/pages/page.h"\n',
        "engine/control/clock.h": "[[nodiscard]] std::int64_t readClock(int kind);\n",
        "engine/launch/b.h": '#include "engine/control/clock.h"\n',
        "engine/launch/a.cpp": '#include "engine/launch/b.h"\nint a() { return control::readClock(1); }\n',
        "app/desktop/models/b.cpp": "// readClock(1)\nint b() { return readClock(1); }\n",
        "engine/run/config/b.cpp": '#include "engine/run/config/b.h"\nint b(C& c) { return c.readClock(1); }\n',
        "engine/run/config/c.cpp": '#include "engine/run/config/b.h"\nint readClock(int) { return 1; }\n'
                                   'int c() { return readClock(1); }\n',
        "app/cli/answers/report.cpp": '#include "profiler/analysis/report/report.h"\nauto s = "updates the settings";\n',
    }
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in {**wrong, **right}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        caught = {line.split(":")[0] for line in violations(root)}
    missed, wronged = set(wrong) - caught, caught - set(wrong)
    for path in sorted(missed):
        print("not caught:", path)
    for path in sorted(wronged):
        print("caught without reason:", path)
    return not missed and not wronged


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        sys.exit(0 if self_test() else 1)
    found = list(violations(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "every include follows the arrows")
    sys.exit(1 if found else 0)
