"""What DeepSpeed keeps from PyTorch's optimizer, which it gives flat pieces of the parameters: whose they
are, and where a step ends. Nothing here is used unless the program has loaded DeepSpeed."""
import sys

from . import tensors


def is_loaded():
    return "deepspeed" in sys.modules


def parameters(frame):
    """Those of the model, all groups, of DeepSpeed's optimizer that called `frame`; None without one."""
    while is_loaded() and frame is not None:
        if str(frame.f_globals.get("__name__")).startswith("deepspeed.runtime."):
            owner = frame.f_locals.get("self")
            for name in ("bit16_groups", "bf16_groups", "fp16_groups"):
                if getattr(owner, name, None):
                    return [parameter for group in getattr(owner, name) for parameter in group]
        frame = frame.f_back
    return None


def first_of(optimizer):
    return next(map(id, tensors.parameters_of(optimizer)), None)


class Round:
    """ZeRO calls step() for each group of parameters in turn. Groups are known by their first parameter."""

    def __init__(self):
        self.groups = []
        self.last = None  # unknown until the first one comes again
        self.since = set()  # the last

    def is_new(self, optimizer):
        return is_loaded() and self.last is None and first_of(optimizer) not in self.groups

    def ends(self, optimizer):
        """Whether this call ends a step: that of the last group does, and of the first step its first."""
        if not is_loaded():
            return True
        group = first_of(optimizer)
        if self.last is not None and group != self.last and (group in self.since or group not in self.groups):
            self.__init__()  # not as before
        if self.last is None and group not in self.groups:
            self.groups.append(group)
            return len(self.groups) == 1
        if self.last is None:
            self.last = self.groups[-1]
        self.since = set() if group == self.last else self.since | {group}
        return group == self.last
