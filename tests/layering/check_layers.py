#!/usr/bin/env python3
"""Checks every #include of the tree against the arrows of the design, and what may be named where.

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
    "storage/recording/file": [*BELOW_RECORDINGS],
    "storage/recording/read": [*BELOW_RECORDINGS, "storage/recording/file"],
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
    "engine/launch": ["engine/run", "engine/control"],
    "engine/checkpoint": ["engine/run"],
    "engine/kernels": ["engine/run", "engine/control"],
    "engine/comm": ["engine/run", "engine/control"],
    "engine/tokens": ["engine/run"],
    "engine/data": ["engine/run", "engine/control", "engine/tokens"],
    "engine/gpt": ["engine/run", "engine/control", "engine/kernels"],
    "engine/parallel": ["engine/run", "engine/control", "engine/comm", "engine/kernels"],
    "engine/training": ["engine/run", "engine/control", "engine/comm", "engine/kernels", "engine/data",
                        "engine/gpt", "engine/parallel", "engine/checkpoint"],
    "engine/worker": ["engine", "profiler/capture", "profiler/collectors", "storage/columns"],
    "profiler/capture": ["storage/columns"],
    "profiler/collectors": ["profiler/capture"],
    "profiler/analysis": ["engine/run/config", "engine/run/theory"],
    "app/cli": ["storage", "profiler/analysis", "engine/run", "engine/control", "engine/launch",
                "engine/checkpoint", "engine/tokens"],
    "app/desktop/session": ["engine/run"],
    "app/desktop/models": ["profiler/analysis", "engine/run"],
    "app/desktop/widgets": ["app/desktop/models"],
    "app/desktop/loading": ["storage/recording", "profiler/analysis", "app/desktop/models"],
    "app/desktop/pages": ["app/desktop/models", "app/desktop/widgets", "app/desktop/loading",
                          "app/desktop/session", "storage/recording/read", "profiler/analysis",
                          "engine/run", "engine/checkpoint", "engine/tokens"],
    "app/desktop": ["app/desktop", "storage/recording", "profiler/analysis", "engine/run"],
}
# What only some folders may name: (what, pattern of a line, folders).
ONLY_IN = [
    ("a LibTorch or CUDA header", r'#include [<"](torch/|ATen/|c10/|cuda|cupti|nccl)',
     ENGINE_PARTS + ["profiler/collectors"]),
    ("a Qt header", r"#include <Q[A-Zt]", ["app/desktop"]),
    ("sqlite3.h", r"#include <sqlite3", ["storage/sqlite"]),
    # The help of `shardscope query` shows people what to type.
    ("SQL text", r'"\s*(SELECT\s|INSERT\s+(OR|INTO)\s|CREATE\s+(TABLE|INDEX|VIEW)\s|UPDATE\s+\w+\s+SET\s'
                 r"|DELETE\s+FROM\s|PRAGMA\s)", ["storage", "app/cli/query.cpp"]),
]
# One format knows nothing of another; what they share lies beside their folders.
FORMATS = ["storage/interchange/" + p for p in ("csv", "folded", "kineto", "memory_snapshot", "nsys", "perfetto",
                                               "recording", "speedscope")]
# One page knows nothing of another; what they share lies beside their folders.
PAGES = "app/desktop/pages"
OURS = re.compile(r'\s*#include "((?:storage|engine|profiler|app|tests)/[^"]+)"')


def within(path, folders):
    return any(path == f or path.startswith(f + "/") for f in folders)


def page_of(path):
    """The page in whose folder a file lies."""
    parts = path[len(PAGES) + 1:].split("/") if within(path, [PAGES]) else []
    return parts[0] if len(parts) > 1 else None


def violations(root):
    for top in ("storage", "engine", "profiler", "app"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in (".h", ".cpp", ".cu", ".cuh"):
                continue
            path = file.relative_to(root).as_posix()
            folder = next((f for f in ARROWS if within(path, [f])), None)
            if folder is None:
                yield f"{path}: its folder has no arrows; add it to tests/layering/check_layers.py"
                continue
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
                include = OURS.match(line)
                if include and not within(include[1], [folder, "storage/model", *ARROWS[folder]]):
                    yield f"{path}:{number}: {folder} may not include {include[1]}"
                own = next((f for f in FORMATS if within(path, [f])), None)
                if include and own and within(include[1], [f for f in FORMATS if f != own]):
                    yield f"{path}:{number}: the format of {own} may not include {include[1]}"
                page, other = page_of(path), page_of(include[1]) if include else None
                if page and other and page != other:
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
        "storage/interchange/perfetto/a.cpp": '#include "storage/interchange/kineto/out/b.h"\n',
    }
    right = {
        "storage/interchange/kineto/in/a.cpp": '#include "storage/interchange/kineto/out/b.h"\n',
        "engine/worker/a.cpp": '#include <ATen/ATen.h>\n#include "engine/comm/ring.h"\n',
        "storage/sqlite/a.cpp": '#include <sqlite3.h>\nauto sql = "SELECT 1";\n',
        "app/desktop/shell/a.cpp": '#include <QWidget>\n#include "app/desktop/pages/live/page.h"\n',
        "app/desktop/pages/pages.cpp": '#include "app/desktop/pages/live/page.h"\n',
        "app/desktop/pages/live/page.cpp": '#include "app/desktop/pages/page.h"\n',
        "app/cli/report.cpp": '#include "profiler/analysis/report.h"\nauto s = "updates the settings";\n',
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
