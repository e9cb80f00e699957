"""What names say: kernels that communicate, steps, rows of devices."""
import re

KERNEL = {"kernel", "Kernel", "hpu_op", "mtia_ccp_events", "collective_comm", "xpu_kernel"}
COPY = {"gpu_memcpy", "gpu_memset", "Memcpy", "Memset"}

# Libraries (NCCL, RCCL, HCCL, oneCCL) by the front of the name; others by the operation, written in
# snake or camel case. A reduction is one only with the word that makes it a collective.
LIBRARY = re.compile(r"(?:void )?(?:nccl|rccl|hccl|oneccl|xccl|mscclpp|deep_ep::)", re.I)
OPERATION = re.compile(
    r"ncclKernel|ncclDevKernel|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|all2all"
    r"|cross_device_reduce|nvshmem|multimem|(?:one|two)_shot|^all-reduce|^collective-permute"
    r"|^all-gather|^reduce-scatter|^all-to-all", re.I)


def communicates(name):
    return bool(LIBRARY.match(name) or OPERATION.search(name))


def without_duration(name, duration):
    """Paddle writes how long a span took behind its name."""
    found = re.fullmatch(r"(.*)\[(\d+\.\d+) (ms|us)\]", name, re.S)
    unit = found and {"ms": 10**6, "us": 10**3}[found[3]]
    return found[1] if found and abs(float(found[2]) * unit - duration) <= unit / 1000 + duration / 4e6 else name


STEP = re.compile(
    r"[#*=\-\[\]:_() ]*(?:(?:train|training|global|optimizer)[ _-])?(step|iteration|iter|batch)"
    r"[#=\-:_ ]+(\d+)(?:(?: ?/ ?| of )\d+)?[#*=\-\[\]:_() ]*", re.I)


def step_of(name):
    """(naming, number) or None; the lower naming wins."""
    own = re.fullmatch(r"Profiler?Step#(\d+)(?:\[.*\])?", name)  # Paddle adds the duration
    if own:
        return 0, int(own[1])
    found = STEP.fullmatch(name) if len(name) <= 64 else None
    word = found and found[1].lower()
    return found and ({"step": 1, "iteration": 2, "iter": 2, "batch": 3}[word], int(found[2]))


def xla_device(process):
    """The number in XLA's "/device:GPU:0"."""
    found = re.match(r"/device:[A-Z]+:(\d+)", process or "")
    return found and int(found[1])
