"""Waits for the first `import torch` without importing it: a finder of sys.meta_path that lets the
other finders do the work, and runs the hook once the module has been executed.

Loaded by path under the name _shardscope_finder: by sitecustomize.py when torch is first asked for, or
by the package `shardscope`.
"""
import os
import sys
import _thread


def debug(text):
    if os.environ.get("SHARDSCOPE_DEBUG"):
        try:
            sys.stderr.write("shardscope: pid %d: %s\n" % (os.getpid(), text))
        except Exception:
            pass


def load_hook():
    """The package of the hook, once per process. By path, as its name must not be importable."""
    hook = sys.modules.get("_shardscope")
    if hook is None:
        import _frozen_importlib as importing
        import _frozen_importlib_external as files

        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_hook")
        spec = files.spec_from_file_location(
            "_shardscope", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )
        hook = importing.module_from_spec(spec)
        sys.modules["_shardscope"] = hook
        try:
            spec.loader.exec_module(hook)
        except BaseException:
            sys.modules.pop("_shardscope", None)
            raise
    return hook


def torch_is_there(torch):
    try:
        load_hook().begin_torch(torch)
    except Exception as error:
        debug("this process is not recorded: %r" % (error,))


def executed(module):
    # Not through the module's own lookup: that would load a lazy module.
    return "__version__" in object.__getattribute__(module, "__dict__")


class TorchFinder:
    def __init__(self):
        self.done = False
        self.searching = set()  # threads in find_spec, against finders that ask all finders again

    def find_spec(self, name, path=None, target=None):
        if name != "torch" or self.done:
            return None
        thread = _thread.get_ident()
        if thread in self.searching:
            return None
        self.searching.add(thread)
        try:
            spec = self.found_by_others(name, path, target)
        finally:
            self.searching.discard(thread)
        # find_spec() is asked for without an import as well: nothing is used up here.
        if spec is not None and spec.loader is not None:
            self.watch(spec.loader)
        return spec

    def found_by_others(self, name, path, target):
        finders = list(sys.meta_path)
        for at, finder in enumerate(finders):
            if finder is self:
                finders = finders[at + 1 :]
                break
        for finder in finders:
            find = getattr(finder, "find_spec", None)
            if find is None or finder is self:
                continue
            spec = find(name, path, target)
            if spec is not None:
                return spec
        return None

    def watch(self, loader):
        """exec_module of this one loader also runs the hook; its type and all else stay as they are."""
        try:
            attributes = vars(loader)
            run = loader.exec_module
        except Exception:
            return  # neither: an old loader, or one without attributes of its own
        if "exec_module" in attributes or isinstance(loader, type):
            return

        def exec_module(module):
            if getattr(module, "__name__", None) != "torch":  # a loader of several modules
                return run(module)
            attributes.pop("exec_module", None)
            run(module)
            finder.through(module, loader)

        finder = self
        # Tracebacks leave frames of the import system out; a failing `import torch` must print the
        # same one with this frame in between.
        exec_module.__code__ = exec_module.__code__.replace(co_filename="<frozen importlib._bootstrap_external>")
        try:
            loader.exec_module = exec_module
        except Exception:
            pass

    def through(self, module, loader):
        try:
            if not executed(module):  # a lazy loader: the one that it stands for comes later
                inner = object.__getattribute__(module, "__dict__").get("__spec__").loader
                if inner is not loader:
                    self.watch(inner)
                return
            # It stays in sys.meta_path, idle: taking it out would make an import that another thread
            # is looking up skip the finder behind it.
            self.done = True
        except Exception as error:
            debug("waiting for torch failed: %r" % (error,))
            return
        torch_is_there(module)


the_finder = TorchFinder()


def replace(waiting):
    """Puts the finder where sitecustomize.py waited with another."""
    finders = sys.meta_path
    if waiting in finders and the_finder not in finders:
        finders[finders.index(waiting)] = the_finder
    return the_finder


def install():
    """For the package `shardscope`; where torch is there already, at once."""
    torch = sys.modules.get("torch")
    if torch is not None and not getattr(getattr(torch, "__spec__", None), "_initializing", False) and executed(torch):
        torch_is_there(torch)
    elif the_finder not in sys.meta_path:
        sys.meta_path.insert(0, the_finder)
