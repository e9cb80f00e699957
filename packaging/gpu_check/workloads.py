"""The runs that are measured, as arguments of `shardscope record`."""
from __future__ import annotations

DEVICE = ["--device", "cuda", "--evaluate-every", "0"]
# How much of the profiler is on.
LEVELS = {
    # No tracer, and marks on the device for steps and waits only: what the others are measured by.
    "untraced": ["--capture", "steps", "--device-capture", "never"],
    "idle": ["--capture", "steps", "--device-capture", "idle"],
    "marks": ["--capture", "light", "--device-capture", "never"],
    "kernels": ["--capture", "light", "--device-capture", "kernels"],
    "launches": ["--capture", "light", "--device-capture", "launches"],
    "full": ["--capture", "full", "--device-capture", "full"],
}


def _model(session, batch, accumulate):
    """REF: 203 M parameters, context 512. The tiny one is for trying out the script."""
    if session.tiny:
        return [*DEVICE, "--model", "tiny", "--vocabulary", "256", "--batch", "2", "--accumulate",
                str(min(accumulate, 2)), "--threads", "1"]
    return [*DEVICE, "--model", "ref", "--batch", str(batch), "--accumulate", str(accumulate)]


def single(session, level, steps, batch=4, accumulate=8, precision="bf16", calibrate=False):
    """One rank; 16,384 tokens a step unless said otherwise."""
    return [*_model(session, batch, accumulate), "--precision", precision, "--strategy", "single",
            "--ranks", "1", *LEVELS[level], "--steps", str(steps),
            *([] if calibrate else ["--no-calibrate"])]


def traced(session):
    """The recording that most checks look into."""
    return single(session, "full", 12)


def two_processes(session):
    """A third of REF's layers: it is counted, not timed. What hangs says so before time is up."""
    layers = [] if session.tiny else ["--layers", "4"]
    return [*_model(session, 4, 1), *layers, "--precision", "bf16", "--strategy", "zero3",
            "--ranks", "2", "--share-device", "--steps", "8", "--no-calibrate",
            "--collective-timeout", "20", *LEVELS["full"]]
