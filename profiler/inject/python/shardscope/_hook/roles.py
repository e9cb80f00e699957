"""What this process is in the job: launcher, loader of data, helper, or a rank, by evidence."""
import os
import sys

LAUNCHER_MODULES = (
    "torch.distributed.run",
    "torch.distributed.launch",
    "torch.distributed.launcher",
    "accelerate.commands.launch",
    "deepspeed.launcher.runner",
    "deepspeed.launcher.launch",
)
LAUNCHER_SCRIPTS = ("torchrun", "accelerate-launch", "deepspeed", "ds", "horovodrun")
WITH_A_VERB = ("accelerate", "accelerate.commands.accelerate_cli")
RANKS_OF_OTHERS = (
    ("OMPI_COMM_WORLD_RANK", None, "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", None, "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_NTASKS"),
)
# Targets of multiprocessing.Process by module.
LOADER = "torch.utils.data._utils.worker"
RANKS = ("torch.multiprocessing.spawn", "torch.distributed.elastic.multiprocessing.api")
HELPERS = ("torch.distributed.checkpoint", "torch._inductor")


def of_proc(pid, name):
    try:
        with open("/proc/%s/%s" % (pid, name), "rb") as file:
            return file.read()
    except OSError:
        return b""


def words_of(pid="self"):
    return of_proc(pid, "cmdline").decode("utf-8", "replace").split("\0")[:-1]


def program_of(words):
    """(module or script, first word after it) of a Python command line"""
    at = 1
    while at < len(words):
        word = words[at]
        if word in ("-W", "-X", "--check-hash-based-pycs"):
            at += 2
        elif word.startswith("-m"):
            name = word[2:] or (words[at + 1] if at + 1 < len(words) else "")
            return name, words[at + (1 if word[2:] else 2) :][:1]
        elif word.startswith("-") and not word.startswith("--") and word.endswith("m") and "c" not in word:
            return (words[at + 1] if at + 1 < len(words) else ""), words[at + 2 :][:1]  # -um
        elif word.startswith("-c") or word == "-":
            return "", []
        elif word.startswith("-"):
            at += 1
        else:
            return word, words[at + 1 :][:1]
    return "", []


def is_launcher(words):
    program, verb = program_of(words)
    name = os.path.basename(program)
    if name in WITH_A_VERB:
        return verb == ["launch"]
    return name in LAUNCHER_SCRIPTS or program in LAUNCHER_MODULES


def is_compile_worker(words):
    return any("_inductor" in word and "compile_worker" in word for word in words[1:3])


def of_command_line():
    words = words_of()
    if is_launcher(words):
        return "launcher"
    if is_compile_worker(words):
        return "helper"
    return None


def launched_from_python():
    """Asked at exit: a program that ran torch's agent itself and trained nothing."""
    return "torch.distributed.elastic.agent.server.api" in sys.modules


# multiprocessing -----------------------------------------------------------------------------

def process_module():
    return sys.modules.get("multiprocessing.process")


def is_being_prepared():
    """A child of spawn or forkserver that imports the main module, or the fork server doing so: what it
    will run is not known yet."""
    module = process_module()
    return module is not None and bool(getattr(module.current_process(), "_inheriting", False))


class Prepared:
    """Stands for the True that multiprocessing puts on the current process while it prepares a child, and
    deletes when the child's target is known: the one moment between these two at which code runs."""

    def __init__(self, then):
        self.then = then
        self.pid = os.getpid()

    def __bool__(self):
        return True

    def __del__(self):
        try:
            process = sys._getframe(1).f_locals.get("self")
            target = getattr(process, "_target", None)
            # Not in the fork server, which prepares itself for its children and runs nothing.
            if process is not None and os.getpid() == self.pid:
                self.then(getattr(target, "__module__", None) or "")
        except Exception:
            pass


def when_prepared(then):
    process_module().current_process()._inheriting = Prepared(then)


def is_multiprocessing_child():
    module = process_module()
    return module is not None and module.parent_process() is not None


def target_module():
    """Module of the function that this child runs; "" if unknown."""
    module = process_module()
    process = module.current_process() if module is not None else None
    target = getattr(process, "_target", None)
    return getattr(target, "__module__", None) or ""


def of_target(module):
    if module == LOADER:
        return "loader"
    if module.startswith(HELPERS):
        return "helper"
    return None


# Ranks ---------------------------------------------------------------------------------------

def integer(name):
    try:
        return int(os.environ[name])
    except (KeyError, ValueError):
        return None


def parent_of(pid):
    for line in of_proc(pid, "status").split(b"\n"):
        if line.startswith(b"PPid:"):
            return int(line[5:])
    return 0


def is_child_of_rank(name):
    """Whether an ancestor that is recorded has the same variable: then it is the ancestor's, inherited.
    A launcher may have it for reasons of its own; shells and wrappers load no library of ours."""
    mine = ("%s=%s" % (name, os.environ.get(name))).encode()
    library = os.path.basename(os.environ.get("SHARDSCOPE_INJECT") or "libshardscope_inject.so").encode()
    pid = os.getppid()
    for _ in range(32):
        if pid <= 1 or mine not in of_proc(pid, "environ").split(b"\0"):
            return False
        if library in of_proc(pid, "maps"):
            return not is_launcher(words_of(pid))
        pid = parent_of(pid)
    return False


def rank_of_variable():
    """(rank, variable, ranks or None) of RANK; None where it says nothing about this process"""
    rank = integer("RANK")
    if rank is None or rank < 0 or is_child_of_rank("RANK"):
        return None
    return rank, "RANK", integer("WORLD_SIZE")


def rank_of_other_variable():
    """The same of MPI and Slurm: weaker, since every process of a task inherits them."""
    for name, needed, size in RANKS_OF_OTHERS:
        rank = integer(name)
        if rank is None or rank < 0 or needed and (integer(needed) or 0) < 2 or is_child_of_rank(name):
            continue
        return rank, name, integer(size)
    return None


class Ranks:
    """Finds the rank of this process and the process groups it knows."""

    def __init__(self, process):
        self.process = process
        self.reset()

    def reset(self):
        self.rank = None
        self.source = None
        self.groups = -1  # how many were reported
        self.compared = False

    def set(self, rank, source, world):
        library = self.process.library
        if self.rank is None:
            self.rank, self.source = rank, source
            self.process.set_role("rank")
        library.rank(rank, source)
        if world:
            library.fact("world", world)

    def by_variable(self):
        """At the start, where RANK is this process's own."""
        if self.process.role is not None or is_multiprocessing_child() or self.process.forked:
            return
        found = rank_of_variable()
        if found is not None:
            self.set(*found)

    @staticmethod
    def distributed():
        dist = sys.modules.get("torch.distributed")
        if dist is None or not dist.is_available() or not dist.is_initialized():
            return None
        return dist

    def look(self):
        """Cheap enough for every step: what torch.distributed says, once it is initialised."""
        dist = self.distributed()
        if dist is None:
            return
        if not self.compared:
            self.compared = True
            rank = dist.get_rank()
            if self.rank is not None and self.rank != rank:
                self.process.library.log(
                    "warning",
                    "torch.distributed says rank %d, %s says %d; torch.distributed counts"
                    % (rank, self.source, self.rank),
                )
                self.rank = None
            self.set(rank, "init_process_group", dist.get_world_size())
        world = dist.distributed_c10d._world
        if len(world.pg_map) != self.groups:
            self.groups = len(world.pg_map)
            for group in list(world.pg_map):
                ranks = world.pg_group_ranks.get(group) or {}
                members = sorted(ranks, key=ranks.get)
                self.process.library.fact("group:%s" % world.pg_names.get(group), ",".join(map(str, members)))

    def at_step(self):
        self.look()
        if self.rank is None and self.process.role in (None, "launcher"):
            self.without_torch_distributed("first optimizer step")

    def at_exit(self):
        self.look()
        if self.rank is None and self.process.role is None:
            if launched_from_python():
                self.process.set_role("launcher")
            elif not is_multiprocessing_child() and not self.process.forked:
                found = rank_of_other_variable()  # it trained nothing, but it is one of MPI's or Slurm's
                if found is not None:
                    self.set(*found)

    def without_torch_distributed(self, source):
        if is_multiprocessing_child() or self.process.forked:
            return  # several such processes may train side by side: the recorder decides
        found = rank_of_variable() or rank_of_other_variable()
        if found is not None:
            self.set(*found)
        elif "RANK" not in os.environ:
            self.set(0, source, None)
