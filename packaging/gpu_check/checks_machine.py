"""What is needed before anything is measured: libraries in memory."""
from __future__ import annotations

import re
import sys
import time

from .results import Skipped, info

LIBRARY = re.compile(r"\.so(\.\d+)*$")
PART = 16 << 20
PYTORCH = ("import torch; torch.zeros(1, device='cuda'); "
           "print(torch.__version__, torch.version.cuda, torch.cuda.get_device_name(0))")


def _read_libraries(session, seconds) -> int:
    """Bytes read. In order, which is many times faster than page by page as they are loaded."""
    end, total = time.monotonic() + seconds, 0
    files = {file.resolve() for folder in session.libraries for file in folder.glob("*.so*")
             if LIBRARY.search(file.name) and file.is_file()}
    for path in sorted(files):
        with path.open("rb", buffering=0) as file:
            while time.monotonic() < end and (part := len(file.read(PART))):
                total += part
    return total


def libraries(session):
    """libraries brought into memory: later checks have time limits"""
    began = time.monotonic()
    size = _read_libraries(session, 0.6 * session.left())
    yield info("libraries-read", size / 1e9, "GB", f"in {time.monotonic() - began:.0f} s")
    if session.torch is None:
        raise Skipped("this Python has no torch")
    began = time.monotonic()
    word = session.run([sys.executable, "-c", PYTORCH], ours=False).strip()
    yield info("pytorch-start", time.monotonic() - began, "s", word)
