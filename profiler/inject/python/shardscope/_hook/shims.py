"""The shim of this PyTorch: the library that reads its operators, built for one minor version."""
import ctypes
import os


def name_of(version, new_strings):
    """File of the shim for `version`, or None where its layouts are unknown: alphas and nightlies
    change them within a minor version."""
    public = version.split("+")[0]
    parts = public.split(".")
    if len(parts) < 3 or not all(part.isdigit() for part in parts[:3]) or len(parts) > 3 and "dev" in parts[3]:
        return None
    return "libshardscope_torch_%s_%s%s.so" % (parts[0], parts[1], "" if new_strings else "_pre")


def choose(folder, version, new_strings):
    """(path or None, what the fact "shim" says)"""
    name = name_of(version, new_strings)
    if name is not None and os.path.exists(os.path.join(folder, name)):
        return os.path.join(folder, name), name
    short = ".".join(version.split("+")[0].split(".")[:2]) if name is not None else version
    spans = os.path.join(folder, "libshardscope_torch_spans.so")
    if os.path.exists(spans):
        return spans, "none for PyTorch %s: spans only are recorded" % short
    return None, "none for PyTorch %s: only ranges of the program and steps are recorded" % short


def load(process, torch):
    library = process.library
    folder = os.environ.get("SHARDSCOPE_SHIMS")
    if not folder:
        library.fact("shim", "none: SHARDSCOPE_SHIMS is not set; only ranges of the program and steps are recorded")
        return
    try:
        new_strings = bool(torch.compiled_with_cxx11_abi())
    except Exception:
        new_strings = True
    path, word = choose(folder, str(torch.__version__), new_strings)
    if path is None:
        library.fact("shim", word)
        return
    try:
        shim = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
        start, level = shim.shardscope_torch_start, shim.shardscope_torch_level
    except Exception as error:
        library.fact("shim", "none: %s: only ranges of the program and steps are recorded" % error)
        return
    start.restype = ctypes.c_int32
    start.argtypes = (ctypes.c_void_p,)
    if start(library.api()) != 0:
        library.fact("shim", "none: %s was built for another libshardscope_inject.so" % os.path.basename(path))
        return
    process.shim = shim
    process.shim_level = ctypes.cast(level, ctypes.c_void_p)
    library.on_level(process.shim_level)
    library.fact("shim", word)
