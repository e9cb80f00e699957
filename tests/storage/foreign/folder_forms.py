"""Folders of traces: name, files, and the ranks that they are, each with its sum of span times in ns, or what the refusal says."""
from form import M, X, text, training, work


def folders():
    numbers = (0, 1, 2, 3, 10, 11)
    yield ("ranks_by_name", {f"trace_rank_{n}.json": text([X("op", 0, n + 1, "cpu_op")]) for n in numbers},
           {n: (n + 1) * 1000 for n in numbers})
    yield ("ranks_stated", {f"{'ab'[r]}.json": text([X("op", 0, 5 - r, "cpu_op")], distributedInfo={"rank": 1 - r})
                            for r in range(2)}, {0: 4000, 1: 5000})
    # One process that exported twice, as a schedule with repeat=2 does: its steps go on, and so does its clock.
    first, second = training(2), training(2, first=7, start=20_000, correlation=90)
    total = sum(round(e["dur"] * 1000) for e in first + second if "dur" in e)
    yield ("cycles_of_one_process", {f"host_10.{i}.pt.trace.json": text([M("process_name", 10, "python")] + cycle)
                                     for i, cycle in enumerate((first, second))}, {0: total})
    events = work(3)
    yield ("settings_beside_traces", {"rank_0.json": text(events), "settings.json": b'{"lr": 0.1}'},
           {0: sum(round(e["dur"] * 1000) for e in events)})
    xplane = b"\x0a\x15\x12\x09/host:CPU"
    yield ("xplane_alone", {"plugins/profile/1/vm.xplane.pb": xplane}, "xprof.convert")
    yield ("xplane_beside_trace", {"1/vm.xplane.pb": xplane, "1/vm.trace.json": text(events)},
           {0: sum(round(e["dur"] * 1000) for e in events)})
    yield ("folder_for_each_rank", {f"{r}/trace.json": text([X("op", 0, 5, "cpu_op")], distributedInfo={"rank": r})
                                    for r in range(2)}, {0: 5000, 1: 5000})
