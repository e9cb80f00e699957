"""What the figures were measured on."""
from __future__ import annotations

import contextlib
import pathlib
import platform
import re

from .results import Failed, Skipped


def _first(session, command, ours=True):
    with contextlib.suppress(Failed, Skipped, OSError):
        return session.run(command, ours=ours).strip()
    return ""


def device(session):
    fields = _first(session, ["nvidia-smi", "--query-gpu=name,driver_version,memory.total",
                              "--format=csv,noheader"], ours=False).splitlines()
    parts = [part.strip() for part in fields[0].rsplit(",", 2)] if fields else []
    if len(parts) != 3:
        return {"name": None, "driver": None, "memory": None}
    name, driver, memory = parts
    return {"name": name, "driver": driver, "memory": memory, "count": len(fields)}


def why_no_device(facts, nodes=pathlib.Path("/dev")):
    """Empty where there may be a GPU. nvidia-smi is missing in some containers that have one."""
    if facts["device"]["name"] or any(nodes.glob("nvidia[0-9]*")):
        return ""
    return "no NVIDIA GPU on this machine: neither nvidia-smi nor /dev knows one"


def versions(session):
    product = _first(session, [session.bin / "shardscope", "--version"])
    commit = re.search(r"\(([0-9a-f]{7,40})", product)
    found = {"shardscope": product, "commit": commit[1] if commit else None,
             "python": platform.python_version(), "system": platform.platform(), "torch": None}
    if session.torch is not None:
        with contextlib.suppress(OSError):
            text = (session.torch / "version.py").read_text()
            match = re.search(r"__version__\s*(?::\s*str)?\s*=\s*'([^']+)'", text)
            found["torch"] = match[1] if match else None
    return found


def facts(session):
    session.check_name = "machine"
    return {"device": device(session), "versions": versions(session)}
