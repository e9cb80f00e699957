"""What the start hook does once PyTorch is imported, or the package `shardscope` is: it connects this
process to the recorder and switches on what costs nothing measurable.

Loaded by path under the name _shardscope. Rules: an error in here never reaches the program; each part
stands for itself, so that one which fails takes no other with it; of the program nothing is patched but
what waits.py replaces, and where --stacks asks for it what stacks/lock_calls.h says.
"""
import atexit
import os
import sys

from . import library as api
from . import roles
from . import tensors  # noqa: F401 - for the package `shardscope`

debug = sys.modules["_shardscope_finder"].debug


class Process:
    """This process; after fork() the child's, which sleeps until it is seen to train."""

    def __init__(self):
        self.library = None
        self.torch = None
        self.shim = None
        self.shim_level = None
        self.waits = False  # are seen
        self.steps = None
        self.ranks = roles.Ranks(self)
        self.tried = False  # shardscope_start() was called, with whatever result
        self.active = False
        self.asleep = False  # for good
        self.forked = False
        self.role = None
        self.failed = set()
        self.models = {}  # that shardscope.model() was given, by id: class and sizes of parameters by id
        self.watched = False
        self.watched_multiprocessing = False

    # Failures -------------------------------------------------------------------------------

    def failure(self, what, error):
        if what in self.failed:
            return
        self.failed.add(what)
        line = "%s: not recorded from now on: %s: %s" % (what, type(error).__name__, error)
        try:
            if self.library is not None:
                self.library.log("error", line)
            else:
                debug(line)
        except Exception:
            pass

    def guarded(self, what, function):
        """`function`, whose first error becomes a line in the log and switches it off."""

        def call(*args):
            if what in self.failed:
                return None
            try:
                function(*args)
            except Exception as error:
                self.failure(what, error)
            return None

        return call

    # Start ----------------------------------------------------------------------------------

    def watch_process(self):
        """Fork, multiprocessing and exit, once."""
        if self.watched:
            return
        self.watched = True
        os.register_at_fork(after_in_child=self.guarded_after_fork)
        self.exit = self.guarded("exit", lambda: self.at_exit())
        atexit.register(self.exit)

    def watch_multiprocessing(self):
        util = sys.modules.get("multiprocessing.util")
        if util is not None and not self.watched_multiprocessing:
            self.watched_multiprocessing = True
            # Called in each child of fork and forkserver when its target is known.
            util.register_after_fork(self, lambda self: self.in_multiprocessing_child(roles.target_module()))

    def begin(self):
        """Connects, unless it is too early to say what this process will be."""
        self.watch_process()
        if self.tried or self.asleep:
            return
        if roles.is_being_prepared():
            self.watch_multiprocessing()
            roles.when_prepared(self.in_multiprocessing_child)
            return
        self.role = roles.of_command_line()
        if roles.is_multiprocessing_child():
            self.role = roles.of_target(roles.target_module())
        self.start()
        if roles.is_multiprocessing_child():
            self.flush_at_end_of_child()

    def start(self):
        self.tried = True
        if self.library is None:
            path = os.environ.get("SHARDSCOPE_INJECT")
            if not path:
                debug("SHARDSCOPE_INJECT is not set")
                return
            self.library = api.Library(path)
        if self.library.start() < 0:
            debug(self.library.why())
            return
        self.active = True
        if self.shim_level is not None:  # after fork: the shim is in place, its level is to be set anew
            self.library.on_level(self.shim_level)
        self.library.fact("python", ".".join(map(str, sys.version_info[:3])))
        if self.role is not None:
            self.library.fact("role", self.role)
        if self.torch is not None:
            self.library.fact("torch", str(self.torch.__version__))
        self.guarded("ranks", self.ranks.by_variable)()

    def begin_torch(self, torch):
        if self.torch is not None:
            return
        self.torch = torch
        if self.active:  # the package `shardscope` was imported before
            self.library.fact("torch", str(torch.__version__))
        self.begin()
        self.watch_multiprocessing()
        if self.active or not self.tried:
            self.install()

    def install(self):
        """The parts that need PyTorch."""
        if self.steps is None and self.torch is not None:
            from . import steps

            self.steps = steps.Steps(self)
            self.guarded("steps", lambda: self.steps.install())()
        self.load_shim()
        self.watch_waits()
        self.watch_stacks()

    def watch_waits(self):
        if self.active and self.torch is not None and not self.waits and self.role in (None, "rank"):
            from . import waits

            self.waits = True
            self.guarded("waits", lambda: waits.install(self, self.torch))()

    def load_shim(self):
        if self.active and self.torch is not None and self.shim is None and self.role in (None, "rank"):
            from . import shims

            self.guarded("operators", lambda: shims.load(self, self.torch))()

    def watch_stacks(self):
        """Of each session anew: what fork() copied is the parent's."""
        asked = os.environ.get("SHARDSCOPE_STACKS")
        if asked and self.active and self.torch is not None and self.role in (None, "rank"):
            from . import stacks

            self.guarded("stacks", lambda: stacks.install(self))()

    def count_parameters(self, sizes):
        """`sizes`: of each parameter once, whoever names it."""
        for name, place in (("parameters", 0), ("parameter_bytes", 1), ("parameter_bytes_of_rank", 2)):
            self.library.fact(name, sum(each[place] for each in sizes))

    def name_model(self, model, inner, tokens_per_step):
        parameters = {id(parameter): parameter for parameter in model.parameters()}
        with tensors.unseen(self.torch):
            sizes = {key: tensors.sizes(parameter) for key, parameter in parameters.items()}
        self.models[id(inner)] = type(inner).__name__, sizes
        self.library.fact("model", ", ".join(name for name, _ in self.models.values()))
        self.count_parameters({key: size for _, each in self.models.values() for key, size in each.items()}.values())
        if tokens_per_step is not None:
            tokens = int(tokens_per_step)
            if tokens <= 0:
                raise ValueError("tokens_per_step is %d" % tokens)
            self.library.fact("tokens_per_step", tokens)
        tensors.blocks(self, parameters.values(), b"parameter")

    def set_role(self, role):
        if role != self.role:
            self.role = role
            self.library.fact("role", role)

    # Fork, multiprocessing, exit ---------------------------------------------------------------

    def guarded_after_fork(self):
        try:
            self.after_fork()
        except Exception:
            self.active = False

    def after_fork(self):
        self.active = False
        self.tried = False
        self.forked = True
        self.role = None
        self.models = {}
        self.ranks.reset()
        if self.steps is not None:
            self.steps.reset()

    def wake(self, why):
        """In a child of fork() that trains. Whether it is recorded now."""
        if self.asleep or self.tried or self.library is None:
            return False
        self.start()
        self.load_shim()
        self.watch_waits()
        self.watch_stacks()
        return self.active

    def in_multiprocessing_child(self, target):
        try:
            if self.forked and self.library is not None:  # fork of a recorded process
                if roles.of_target(target) is not None:
                    self.asleep = True
                elif target in roles.RANKS:
                    self.wake("spawned as a rank")
            elif not self.tried:  # spawn and forkserver: it imported torch a moment ago
                self.forked = False
                self.role = roles.of_target(target)
                self.start()
                self.load_shim()
                self.watch_waits()
                self.watch_stacks()
            self.flush_at_end_of_child()
        except Exception as error:
            self.failure("start in a child process", error)

    def flush_at_end_of_child(self):
        """Children of multiprocessing end by os._exit(), after these."""
        util = sys.modules.get("multiprocessing.util")
        if util is not None:
            util.Finalize(None, self.exit, exitpriority=-100)

    def at_exit(self):
        if not self.active:
            return
        self.guarded("ranks", self.ranks.at_exit)()
        if self.steps is not None:
            self.guarded("optimizers", self.steps.at_exit)()
        # Children of multiprocessing end by os._exit() now, and then nothing is missing.
        self.guarded("last word", lambda: self.library.fact("said_all", "yes"))()
        self.guarded("last flush", lambda: self.library.flush(500))()
        self.active = False


process = Process()


def begin():
    try:
        process.begin()
    except Exception as error:
        process.failure("this process", error)


def begin_torch(torch):
    try:
        process.begin_torch(torch)
    except Exception as error:
        process.failure("PyTorch", error)
