"""The runs that are measured, as arguments of `shardscope record`."""
from __future__ import annotations

DEVICE = ["--device", "cuda", "--evaluate-every", "0"]
# REF: 203 M parameters, context 512; four sequences in eight micro-steps, 16,384 tokens a step.
REF = [*DEVICE, "--model", "ref", "--precision", "bf16", "--strategy", "single", "--ranks", "1",
       "--batch", "4", "--accumulate", "8"]
# How much of the profiler is on.
LEVELS = {
    "never": ["--capture", "light", "--device-capture", "never"],
    "idle": ["--capture", "light", "--device-capture", "idle"],
    "kernels": ["--capture", "light", "--device-capture", "kernels"],
    "launches": ["--capture", "light", "--device-capture", "launches"],
    "full": ["--capture", "full", "--device-capture", "full"],
}


def ref(level, steps, calibrate=False):
    return [*REF, *LEVELS[level], "--steps", str(steps), *([] if calibrate else ["--no-calibrate"])]


def traced():
    """The recording that most checks look into."""
    return ref("full", 12)


def two_processes():
    return [*DEVICE, "--model", "ref", "--precision", "bf16", "--strategy", "zero3", "--ranks",
            "2", "--share-device", "--batch", "4", "--accumulate", "1", "--steps", "8",
            "--no-calibrate", *LEVELS["full"]]
