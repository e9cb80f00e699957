"""Waits of the program: `wait` of torch.distributed.Work and of torch.futures.Future, which DDP's hooks,
FSDP2 and synchronous collectives end in.

The method on the class is replaced by one of the same kind, made of a C function of
libshardscope_inject.so that calls it: its name, documentation, exceptions and tracebacks are the same,
Python runs no frame more, and torch.compile treats it as it treats the original.
"""
import ctypes
import sys

VARARGS_AND_KEYWORDS = 1 | 2


class Definition(ctypes.Structure):
    """PyMethodDef"""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    ]


kept = []  # Definitions, which Python refers to as long as the methods live


class Python:
    """Functions of Python's C API, bound on a library object of our own: ctypes.pythonapi is everyone's."""

    def __init__(self):
        api = ctypes.PyDLL(None)
        whatever = ctypes.py_object
        self.call = ctypes.cast(api.PyObject_Call, ctypes.c_void_p)
        self.function = api.PyCFunction_NewEx
        self.function.restype, self.function.argtypes = whatever, (ctypes.c_void_p, whatever, whatever)
        self.method = api.PyInstanceMethod_New
        self.method.restype, self.method.argtypes = whatever, (whatever,)

    def standing_for(self, original, function):
        documentation = getattr(original, "__doc__", None)
        inner = getattr(original, "__func__", original)
        definition = Definition(
            b"wait", function, VARARGS_AND_KEYWORDS, documentation.encode() if documentation else None
        )
        kept.append(definition)
        made = self.function(ctypes.addressof(definition), original, getattr(inner, "__module__", None))
        return self.method(made)


def classes(torch):
    """Those that have a `wait` of their own, with the name of what stands for it."""
    c10d = sys.modules.get("torch._C._distributed_c10d")  # none: PyTorch was built without
    found = (getattr(c10d, "Work", None), "work_wait"), (getattr(torch._C, "Future", None), "future_wait")
    return [(owner, name) for owner, name in found if owner is not None and "wait" in vars(owner)]


def install(process, torch):
    owners = classes(torch) if sys.implementation.name == "cpython" else []
    if not owners:
        return
    python = Python()
    process.library.waits_call(python.call)
    for owner, name in owners:
        owner.wait = python.standing_for(vars(owner)["wait"], process.library.address(name))
