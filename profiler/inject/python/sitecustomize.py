"""Start hook of `shardscope record`: Python's site module imports it at every start of an
interpreter, because the recorder puts this folder first on PYTHONPATH.

It runs the sitecustomize that it hides, exactly as site would have done, and, where
SHARDSCOPE_SOCKET names a recorder, waits for the first `import torch`. Every Python process of the
program pays for what is here, so nothing is imported that the interpreter has not loaded already.
"""
import os
import sys


class _Waiting:
    """Finder of sys.meta_path that loads the one that does the work when torch is first asked for."""

    # This module's own names may be gone by then.
    own, loader = os.path.dirname(os.path.abspath(__file__)), type(__loader__)
    finder = None

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        try:
            if self.finder is None:
                self.finder = self.load()
        except Exception as error:
            if os.environ.get("SHARDSCOPE_DEBUG"):
                sys.stderr.write("shardscope: the start hook failed: %r\n" % (error,))
            return None
        return self.finder.find_spec(name, path, target)

    def load(self):
        # By path: the private parts of the hook must not be importable names of the program.
        module = sys.modules.get("_shardscope_finder")
        if module is None:
            module = type(sys)("_shardscope_finder")
            module.__file__ = os.path.join(self.own, "shardscope", "_finder.py")
            self.loader(module.__name__, module.__file__).exec_module(module)
            module = sys.modules.setdefault("_shardscope_finder", module)
        return module.replace(self)


def _run_the_next():
    """Whatever the next sitecustomize raises goes on to site, as it would without us. Where there is
    none, that is the ImportError that site expects, and no module of this name stays behind."""
    own = os.path.dirname(os.path.abspath(__file__))
    hidden = [(at, entry) for at, entry in enumerate(sys.path) if os.path.abspath(entry or ".") == own]
    for _, entry in hidden:
        sys.path.remove(entry)
    sys.modules.pop("sitecustomize", None)
    try:
        # Import locks are reentrant. The outer import takes what then stands in sys.modules.
        import sitecustomize  # noqa: F401
    finally:
        # Back in place: children are often given os.pathsep.join(sys.path) as their PYTHONPATH.
        for at, entry in hidden:
            if entry not in sys.path:
                sys.path.insert(at, entry)


if __name__ == "sitecustomize":
    if os.environ.get("SHARDSCOPE_SOCKET"):
        sys.meta_path.insert(0, _Waiting())
    _run_the_next()
