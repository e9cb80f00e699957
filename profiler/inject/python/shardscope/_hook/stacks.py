"""Python stacks of operators, where SHARDSCOPE_STACKS asks for them; the fact "stacks" says what came of it.

The library reads them through Python's C API (stacks/python_stacks.h).
"""
import sys


def unfit():
    """Why this Python's stacks cannot be read; None: they can."""
    if sys.implementation.name != "cpython":
        return "this Python is %s, and the stacks of CPython are known only" % sys.implementation.name
    if sys.version_info < (3, 9):
        return "Python %d.%d has no functions that read them; 3.9 and later have" % sys.version_info[:2]
    if "t" in getattr(sys, "abiflags", ""):
        return "this Python is built without the lock under which they are read"
    return None


def install(process):
    why = unfit() or process.library.python_stacks()
    if why is None and process.shim is None:
        why = "operators are not recorded either"
    process.library.fact("stacks", "recorded" if why is None else "none: " + why)
