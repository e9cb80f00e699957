"""Words of a training program to the recorder: steps, ranges, figures.

Nothing needs them: `shardscope record -- python train.py` records programs that do not import this.
Without a recorder every function does nothing and takes well under a microsecond, so they can stay in
the program.

    import shardscope
    for batch in batches:
        with shardscope.range("forward"):
            loss = model(batch)
        ...
        shardscope.metric("loss", loss.item())
        shardscope.step()
"""
import os as _os
import sys as _sys

__all__ = ["log", "metric", "model", "range", "step"]

_process = None  # of the hook, while there is a recorder


def _start():
    """The start hook has done this already, except under python -I and where PYTHONPATH was cleared."""
    global _process
    try:
        finder = _sys.modules.get("_shardscope_finder")
        if finder is None:
            import importlib.util

            path = _os.path.join(_os.path.dirname(_os.path.abspath(__file__)), "_finder.py")
            spec = importlib.util.spec_from_file_location("_shardscope_finder", path)
            finder = importlib.util.module_from_spec(spec)
            _sys.modules["_shardscope_finder"] = finder
            spec.loader.exec_module(finder)
        finder.install()
        hook = finder.load_hook()
        hook.begin()
        _process = hook.process
    except Exception as error:
        if _os.environ.get("SHARDSCOPE_DEBUG"):
            _sys.stderr.write("shardscope: this process is not recorded: %r\n" % (error,))


def step():
    """Ends a step, and begins the next. It ranks above everything else that could tell steps: from the
    first call on, optimizer steps end none."""
    if _process is not None and _process.active:
        try:
            _process.library.step(b"shardscope.step")
        except Exception as error:
            _process.failure("shardscope.step()", error)


class range:  # noqa: A001 - shardscope.range() is how it reads best
    """A named range of the calling thread: `with shardscope.range("forward"):`, or a decorator. As a
    decorator of a coroutine or a generator it covers its creation only."""

    __slots__ = ("name", "entered")

    def __init__(self, name):
        self.name = name
        self.entered = None

    def __enter__(self):
        if _process is not None and _process.active:
            self._begin()
        return self

    def __exit__(self, *exception):
        if self.entered:
            self._end(exception)
        return False

    def __call__(self, function):
        import functools

        kind, name = type(self), self.name

        @functools.wraps(function)
        def in_range(*args, **kwargs):
            with kind(name):
                return function(*args, **kwargs)

        return in_range

    def _begin(self):
        try:
            torch = _sys.modules.get("torch")
            profiler = getattr(getattr(torch, "autograd", None), "profiler", None)
            if _process.torch is not None and profiler is not None:
                inner = profiler.record_function(str(self.name))
                inner.__enter__()
            else:
                inner = None
                _process.library.range_begin(self.name)
            if self.entered is None:
                self.entered = []  # a list, as one object may be entered again before it is left
            self.entered.append(inner)
        except Exception as error:
            _process.failure("shardscope.range()", error)

    def _end(self, exception):
        try:
            inner = self.entered.pop()
            if inner is not None:
                inner.__exit__(*exception)
            else:
                _process.library.range_end()
        except Exception as error:
            _process.failure("shardscope.range()", error)


def metric(name, value):
    """A figure of the step in hand: a number, or a tensor with one number on the CPU. A tensor on a GPU is
    left out, with a line in the log: to read it, the program would have to wait for the GPU. Where it
    does so anyway, pass `loss.item()`."""
    if _process is not None and _process.active:
        try:
            number = _sys.modules["_shardscope"].tensors.number(value, operators=True)
            if number is not None:
                _process.library.metric(name, number)
            elif ("metric", name) not in _process.failed:
                _process.failed.add(("metric", name))
                _process.library.log(
                    "warning",
                    "metric %s is left out: a %s is neither a number nor a tensor with one on the CPU; pass .item()"
                    % (name, type(value).__name__),
                )
        except Exception as error:
            _process.failure("shardscope.metric()", error)


def model(model, tokens_per_step=None):
    """Names the model that is trained, counts its parameters, and marks their memory as such. Wrappers
    (DistributedDataParallel, torch.compile) are looked through. `tokens_per_step`: of this process in each
    step from now on, for tokens per second and 6 N x tokens. Returns the model."""
    if _process is not None and _process.active:
        try:
            inner = model
            for attribute in ("_orig_mod", "module") * 2:
                inner = getattr(inner, attribute, inner)
            _process.name_model(model, inner, tokens_per_step)
        except Exception as error:
            _process.failure("shardscope.model()", error)
    return model


def log(text):
    """One line in the log of the recording."""
    if _process is not None and _process.active:
        try:
            _process.library.log("info", text)
        except Exception as error:
            _process.failure("shardscope.log()", error)


if _os.environ.get("SHARDSCOPE_SOCKET"):
    _start()
