"""Steps by PyTorch's global optimizer hooks. Nothing of the program is patched.

One optimizer is the clock: the first that steps. A program may have several (GAN, Muon and AdamW);
the others end no step. ProfilerStep ranges and the range that SHARDSCOPE_STEP_RANGE names are seen by
the library itself.

The first forward is left to the shim, which sees the first operator that autograd records. A global
forward hook on modules is no option: while there is one, modules compiled by torch.compile warn at each
call, and torch.compile(fullgraph=True) of a function that calls modules fails.
"""
import importlib
import sys
import weakref

from . import deepspeed
from . import library as api
from . import tensors

# Steps of another optimizer without one of the clock, after which that one is the clock.
PATIENCE = 3


def is_nested(frame):
    """Whether the step that `frame` wraps runs within another one: of an optimizer that calls another's
    step, or of a class that calls its parent's. Found on the stack, since a step may raise."""
    code, frame = frame.f_code, frame.f_back
    while frame is not None:
        if frame.f_code is code:
            return True
        frame = frame.f_back
    return False


def wrapper_frame():
    """The frame of PyTorch that calls the hooks."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") == "torch.optim.optimizer":
            return frame
        frame = frame.f_back
    return None


class Steps:
    def __init__(self, process):
        self.process = process
        self.reset()

    def reset(self):
        self.clock = None  # weak reference
        self.round = deepspeed.Round()  # of the clock
        self.steps = 0  # of the clock
        self.others = {}  # steps of other optimizers since the clock's last
        self.seen = {}  # id: weak reference
        self.names = []
        self.parameters = {}  # id: sizes
        self.kind = None  # device and type of numbers of the first optimizer's parameters
        self.unreported = False

    def install(self):
        module = importlib.import_module("torch.optim.optimizer")
        before = self.process.guarded("gradients", lambda *call: self.before(*call))
        after = self.process.guarded("steps", lambda *call: self.after(*call))
        module.register_optimizer_step_pre_hook(self.untraced(before))
        module.register_optimizer_step_post_hook(self.untraced(after))

    def untraced(self, function):
        """Not to be compiled by Dynamo; PyTorch's own mark, which does not load Dynamo before the first call,
        and by then the construction of an optimizer has loaded it."""
        mark = getattr(self.process.torch, "_disable_dynamo", None)
        return mark(function) if mark is not None else function

    def before(self, optimizer, args, kwargs):
        process = self.process
        if not process.active:
            return
        known = self.seen.get(id(optimizer))
        if known is not None and known() is optimizer and process.library.level() < api.FULL:
            return
        gradients = []
        with tensors.unseen(process.torch):
            for parameter in tensors.parameters_of(optimizer):
                gradient = parameter.grad
                if gradient is not None:
                    gradients.append(gradient)
        tensors.blocks(process, gradients, b"gradient")

    def after(self, optimizer, args, kwargs):
        process = self.process
        if not process.active and not process.wake("optimizer step"):
            return
        frame = wrapper_frame()
        if frame is not None and is_nested(frame):
            return
        if self.is_new(optimizer):
            process.guarded("memory categories", self.meet)(optimizer, frame)
        if not self.is_clock(optimizer) or not self.round.ends(optimizer):
            return
        self.steps += 1
        self.others.clear()
        process.guarded("ranks", process.ranks.at_step)()
        if self.steps <= 2 and self.unreported:
            process.guarded("optimizers", self.report)()
        process.guarded("learning rate", self.learning_rate)(optimizer)
        process.library.step(b"optimizer")

    def is_new(self, optimizer):
        """Or what it has now are parameters of another group."""
        known = self.seen.get(id(optimizer))
        if known is None or known() is not optimizer:
            self.seen[id(optimizer)] = weakref.ref(optimizer)
            return True
        return self.clock is not None and self.clock() is optimizer and self.round.is_new(optimizer)

    def is_clock(self, optimizer):
        clock = self.clock() if self.clock is not None else None
        if clock is optimizer:
            return True
        if self.clock is None:
            self.clock = weakref.ref(optimizer)
            return True
        count = self.others[id(optimizer)] = self.others.get(id(optimizer), 0) + 1
        if clock is not None and count < PATIENCE:
            return False
        why = "was deleted" if clock is None else "has not stepped while another stepped %d times" % count
        self.process.library.log(
            "info", "the optimizer that ended steps %s; from now on %s ends them" % (why, type(optimizer).__name__)
        )
        self.clock = weakref.ref(optimizer)
        self.round = deepspeed.Round()
        return True

    def meet(self, optimizer, frame):
        """After an optimizer's first step: its name, its parameters, and which blocks are whose."""
        process = self.process
        name = type(optimizer).__name__
        if name not in self.names:
            self.names.append(name)
        parameters, pieces = deepspeed.parameters(frame), ()
        if parameters is None:
            parameters = tensors.parameters_of(optimizer)
        else:
            pieces = tensors.parameters_of(optimizer)
        with tensors.unseen(process.torch):
            for parameter in parameters:
                self.parameters[id(parameter)] = tensors.sizes(parameter)
            kind = tensors.kind(parameters)
        if kind is not None and not self.kind:
            self.kind = kind
        self.unreported = True
        tensors.blocks(process, parameters, b"parameter")
        tensors.blocks(process, [*pieces, *tensors.tensors_of_state(process.torch, optimizer)], b"optimizer")

    def report(self):
        self.unreported = False
        library = self.process.library
        library.fact("optimizers", ", ".join(self.names))
        if not self.process.models:  # which knows of frozen parameters as well
            self.process.count_parameters(self.parameters.values())
        if self.kind:
            library.fact("device", self.kind[0])
            library.fact("dtype", self.kind[1])
        library.fact("threads", self.process.torch.get_num_threads())

    def learning_rate(self, optimizer):
        value = tensors.number(optimizer.param_groups[0].get("lr"))
        if value is not None:
            self.process.library._metric(b"learning_rate", value)

    def at_exit(self):
        if self.unreported and self.steps:
            self.report()
