"""libshardscope_inject.so through ctypes; its functions are described in inject_api.h."""
import ctypes
import os

OFF, STEPS, LIGHT, FULL = 0, 1, 2, 3


def text(value):
    return str(value).encode("utf-8", "replace").replace(b"\0", b" ")


class Library:
    def __init__(self, path):
        mode = os.RTLD_NOW | os.RTLD_LOCAL
        waits = ctypes.CDLL(path, mode=mode)  # releases Python's lock
        short = ctypes.PyDLL(path, mode=mode)  # keeps it: cheaper, and no other thread runs in between
        number, words, address = ctypes.c_int32, ctypes.c_char_p, ctypes.c_void_p
        self._start = self._bind(waits, "start", number)
        self._why = self._bind(short, "why", words)
        # A sub-interpreter that ends with the program would not get the lock back: its thread is ended.
        self.flush = self._bind(short, "flush", None, number)
        self.level = self._bind(short, "level", number)
        self.api = self._bind(short, "api", address)
        self.on_level = self._bind(waits, "on_level", None, address)
        self._fact = self._bind(short, "fact", None, words, words)
        self._rank = self._bind(short, "rank", None, number, words)
        self.step = self._bind(short, "step", None, words)
        self._metric = self._bind(short, "metric", None, words, ctypes.c_double)
        self._range_begin = self._bind(short, "range_begin", None, words)
        self.range_end = self._bind(short, "range_end", None)
        self.waits_call = self._bind(short, "waits_call", None, address)
        self._python_stacks = self._bind(short, "python_stacks", words)
        self._library = short
        self.block = self._bind(short, "block", None, address, words)
        self._log = self._bind(short, "log", None, words, words)

    @staticmethod
    def _bind(library, name, result, *arguments):
        function = getattr(library, "shardscope_" + name)
        function.restype = result
        function.argtypes = arguments
        return function

    def address(self, name):
        return ctypes.cast(getattr(self._library, "shardscope_" + name), ctypes.c_void_p).value

    def start(self):
        return self._start()

    def why(self):
        return (self._why() or b"").decode("utf-8", "replace")

    def python_stacks(self):
        """None, or why there are none."""
        why = self._python_stacks()
        return None if why is None else why.decode("utf-8", "replace")

    def fact(self, name, value):
        self._fact(text(name), text(value))

    def rank(self, rank, source):
        self._rank(rank, text(source))

    def metric(self, name, value):
        self._metric(text(name), value)

    def range_begin(self, name):
        self._range_begin(text(name))

    def log(self, level, line):
        self._log(text(level), text(line))
