"""Reads numbers and addresses of tensors without running an operator and without any mode or
subclass of the program seeing it."""
import ctypes
import sys


def unseen(torch):
    """Context in which neither __torch_function__ of subclasses nor function modes are called."""
    return torch._C.DisableTorchFunction()


def local(tensor):
    """The tensor with this process's storage: a DTensor's local one, which asks no collective, or the piece
    of a parameter of DeepSpeed's ZeRO-3."""
    piece = getattr(tensor, "_local_tensor", None)
    if piece is None:
        piece = getattr(tensor, "ds_tensor", None)
    return tensor if piece is None else piece


def address(torch, tensor):
    """Of the storage; None where there is none that can be named. Call it within unseen()."""
    try:
        tensor = local(tensor)
        if type(tensor) is not torch.Tensor and type(tensor) is not torch.nn.Parameter:
            return None
        return tensor.untyped_storage().data_ptr() or None
    except Exception:
        return None


def number(value, operators=False):
    """A float of a number or of a one-element CPU tensor; None for anything else, and for tensors of
    other devices: reading those would wait for the device. `operators`: also of data types that only an
    operator of the program's PyTorch reads."""
    if isinstance(value, (int, float)):
        return float(value)
    torch = sys.modules.get("torch")
    tensor_type = getattr(torch, "Tensor", None)
    if tensor_type is None or not isinstance(value, tensor_type):
        try:
            return float(value)  # of numpy, Decimal
        except Exception:
            return None
    with unseen(torch):
        value = local(value)
        if value.device.type != "cpu" or value.numel() != 1 or type(value) not in (torch.Tensor, torch.nn.Parameter):
            return None
        if value.dtype == torch.float32:
            return ctypes.c_float.from_address(value.data_ptr()).value
        if value.dtype == torch.float64:
            return ctypes.c_double.from_address(value.data_ptr()).value
        return float(value.item()) if operators else None


def blocks(process, tensors, category):
    torch, block = process.torch, process.library.block
    with unseen(torch):
        for tensor in tensors:
            at = address(torch, tensor)
            if at:
                block(at, category)


def sizes(parameter):
    """(elements, bytes, bytes of this process) of a parameter: whole where it is shared out over ranks, as a
    DTensor, a flat parameter of FSDP, whose own sizes without the padding behind them, or a parameter of
    DeepSpeed's ZeRO-3. Call it within unseen()."""
    here = local(parameter)
    whole = getattr(parameter, "ds_numel", None) or parameter.numel()
    flat = getattr(parameter, "_unpadded_unsharded_size", None)
    if flat is not None:
        whole = flat.numel()
    each = parameter.element_size()
    return whole, whole * each, here.numel() * each


WORDS_OF_TYPES = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "float64": "fp64"}


def kind(parameters):
    """(device, type of numbers) of most elements; as in "cpu", "fp32". Call it within unseen()."""
    counts = {}
    for parameter in parameters:
        dtype = str(parameter.dtype).split(".")[-1]
        key = parameter.device.type, WORDS_OF_TYPES.get(dtype, dtype)
        counts[key] = counts.get(key, 0) + parameter.numel()
    return max(counts, key=counts.get) if counts else None


def parameters_of(optimizer):
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def tensors_of_state(torch, optimizer):
    found = []

    def gather(value, depth):
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif depth < 3 and isinstance(value, dict):
            for inner in value.values():
                gather(inner, depth + 1)
        elif depth < 3 and isinstance(value, (list, tuple)):
            for inner in value:
                gather(inner, depth + 1)

    gather(dict(optimizer.state), 0)
    return found
