"""What differs between a recount and what the product made of the same file."""

TABLES = ("kernels", "communication", "copies")


def plain(table):
    return {key: list(value) for key, value in table.items() if any(value)}


def in_order(table):
    """Values in the order of devices; the ranks that stand for them have the same order."""
    keys = sorted(table, key=lambda k: (not str(k).isdigit(), int(k) if str(k).isdigit() else 0, str(k)))
    return [table[key] for key in keys]


def compare(what, expected, got):
    if expected == got:
        return
    if isinstance(expected, dict):
        keys = [k for k in {**expected, **got} if expected.get(k) != got.get(k)]
        expected, got = {k: expected.get(k) for k in keys[:3]}, {k: got.get(k) for k in keys[:3]}
    yield f"{what}: expected {expected}, got {got}"


def differences(expected, got):
    yield from compare("spans", plain(expected.spans), plain(got.spans))
    for table in TABLES:
        ours, theirs = plain(getattr(expected, table)), plain(getattr(got, table))
        yield from compare(table, in_order(ours), in_order(theirs))
    for rank, steps in got.steps.items() if expected.steps is not None else ():
        yield from compare(f"steps of rank {rank}", expected.steps, steps)
    if expected.instants is not None:
        yield from compare("instants", dict(expected.instants), dict(got.instants))
    yield from compare("flows", dict(expected.flows), dict(got.flows))
    own = ("allocated", "reserved")  # samples that memory events make
    yield from compare("counters", sorted(plain(expected.counters).values()),
                       sorted(v for (_, _, name), v in got.counters.items() if not name.startswith(own)))
    yield from peaks(expected.peaks, got.peaks)
    yield from uses(expected.use, got.use)


def peaks(expected, got):
    """A device's own; the host's where there is no device."""
    devices = {d: p for d, p in expected.items() if d != "host"} or expected
    yield from compare("peaks", in_order(devices), in_order(got))


def uses(expected, got):
    if expected is None or None in expected.values() or len(expected) != len(got):
        return
    for wanted, device in zip(in_order(expected), in_order(got), strict=True):
        yield from compare("use", wanted, {key: device[key] for key in wanted})
