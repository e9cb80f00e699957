"""Times at which something of a kind ran: lists of (begin, end)."""


def union(ranges):
    merged = []
    for begin, end in sorted(ranges):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return merged


def both(a, b):
    """Of two unions."""
    return [[max(x[0], y[0]), min(x[1], y[1])] for x in a for y in b if max(x[0], y[0]) < min(x[1], y[1])]


def length(ranges):
    return sum(end - begin for begin, end in ranges)


def use_of_device(compute, communication, steps):
    """As `report --json` has them, for work that lies in steps; None where some does not, or none is marked."""
    steps, compute, communication = union(steps), union(compute), union(communication)
    work = union(compute + communication)
    if not steps or length(both(work, steps)) != length(work):
        return None
    return {"compute_ns": length(compute), "communication_ns": length(communication),
            "hidden_ns": length(both(compute, communication)), "idle_ns": length(steps) - length(work)}
