"""Sound Chrome traces in the forms that tools write them."""
from form import M, P, X, Form, array, packed, text, training, work

def phases():
    pairs = [P("B", "inner", 20, args={"a": 1}), P("E", "inner", 50), P("B", "outer", 0), P("E", "outer", 100),
             P("B", "late", 60), P("E", "", 80, args={"b": 2}), P("B", "other thread", 5, tid=12), P("E", "", 7, tid=12)]
    yield Form("begin_end_unsorted", text(pairs))
    yield Form("begin_end_same_times", text([P("B", "a", 0), P("B", "b", 0), P("E", "b", 10), P("B", "c", 10),
                                             P("E", "c", 20), P("E", "a", 20)]))
    yield Form("async_nested", text(work(4) + [
        P("b", "request", 0, cat="net", id="0x1"), P("b", "read", 5, cat="net", id="0x1"),
        P("n", "first byte", 6, cat="net", id="0x1"), P("b", "request", 3, cat="net", id="0x2"),
        P("e", "read", 25, cat="net", id="0x1"), P("e", "request", 40, cat="net", id="0x1"),
        P("e", "request", 50, cat="net", id="0x2")]))
    yield Form("async_siblings_of_one_id", text([
        P(phase, name, time, cat="c", id="1") for phase, name, time in (
            ("b", "all", 0), ("b", "first", 0), ("e", "first", 3), ("b", "second", 1), ("e", "second", 4), ("e", "all", 5))]))
    yield Form("async_local_ids", text(work(4) + [
        P("b", "load", 0, cat="net", id2={"local": "0x1"}), P("b", "load", 5, pid=20, cat="net", id2={"local": "0x1"}),
        P("e", "load", 10, cat="net", id2={"local": "0x1"}), P("e", "load", 25, pid=20, cat="net", id2={"local": "0x1"})]))
    yield Form("async_of_old", text(work(4) + [P("S", "job", 1, cat="q", id=7), P("T", "job", 3, cat="q", id=7,
                                                                                 args={"step": "half"}),
                                               P("F", "job", 9, cat="q", id=7)]))
    yield Form("instants", text(work(4) + [P("i", "a", 1, s="g"), P("i", "b", 2, s="p"), P("i", "c", 3, s="t"),
                                           P("I", "d", 4), P("R", "mark", 5), P("i", "a", 6)]))
    yield Form("counters", text(work(2) + [P("C", "mem", t, args={"used": t * 2, "free": 100 - t, "name": "x"})
                                           for t in range(5)]
                                + [P("C", "q", t, id=i, args={"v": t * 10 + len(i)}) for t in range(3) for i in ("a", "bb")]))
    yield Form("objects", text(work(4) + [P("N", "Widget", 1, id="0x10"), P("O", "Widget", 2, id="0x10",
                                                                            args={"snapshot": {"a": [1, 2]}}),
                                          P("D", "Widget", 9, id="0x10")]), rejected=3)
    yield Form("dumps_and_clocks", text(work(4) + [P("V", "periodic_interval", 2, id="7", args={"dumps": {"x": {}}}),
                                                   P("v", "explicitly", 3, id="8", args={"dumps": {}}),
                                                   P("c", "clock_sync", 4, args={"sync_id": "z", "issue_ts": 2}),
                                                   P("=", "ref", 5, id="1")]), rejected=4)
    yield Form("samples_with_frames", text(work(4) + [P("P", "cpu", t, sf=2) for t in (1, 5, 9)],
                                           stackFrames={"1": {"category": "c", "name": "main"},
                                                        "2": {"category": "c", "name": "work", "parent": "1"}}), rejected=3)


def writing():
    events = work()
    yield Form("array_only", array(events))
    yield Form("keys_behind_events", b'{"traceEvents":' + array(events) + b',"displayTimeUnit":"ns","otherData":{"v":"1"}}')
    yield Form("indented", text(events, 4))
    yield Form("gzip", packed(text(events)), text(events), ending=".json.gz")
    halves = text(events)
    yield Form("gzip_two_members", packed(halves[:200]) + packed(halves[200:]), halves, ending=".json.gz")
    yield Form("ph_last", text([dict(reversed(list(e.items()))) for e in events]))
    yield Form("backwards", text(events[::-1]))
    yield Form("text_pids", text([{**e, "pid": "trainer", "tid": "main \u00e9"} for e in events]))
    yield Form("no_pid_no_tid", text([{k: v for k, v in e.items() if k not in ("pid", "tid")} for e in events]))
    yield Form("text_times", text([{**e, "ts": f"{1700000000000000 + e['ts']:.3f}", "dur": str(e["dur"])} for e in events]))
    yield Form("wall_clock", text([{**e, "ts": 1700000000000000 + round(e["ts"])} for e in events]))
    yield Form("exponents", text(events).replace(b'"dur": ', b'"dur": 1e-3, "dur": 2.5E+1, "x": '),
               text([{**e, "dur": 25} for e in events]))
    yield Form("picoseconds", text([X("a", 0.000001, 1.0000004), X("b", 2.5000001, 0.0005), X("c", 4, 0.0004999)]))
    yield Form("negative_start", text([{**e, "ts": e["ts"] - 50} for e in events]))
    yield Form("huge_numbers", text([{**e, "args": {"big": 1 << 70, "id": 18446744073709551615}, "id": 1 << 63}
                                     for e in events]))
    yield Form("key_twice", text(events).replace(b'"name": "', b'"name": "first", "name": "'), text(events))
    yield Form("escaped_keys", text(events).replace(b'"ph"', b'"\\u0070h"').replace(b'"dur"', b'"\\u0064ur"'), text(events))
    yield Form("escaped_values", text(work(3) + [X("tab\tquote\"back\\slash\u65e5\U0001f600", 1000, 5)]).replace(
        b'"aten::op0"', b'"aten\\u003a:op\\u0030"').replace(b'"ph": "X"', b'"ph": "\\u0058"'), None)
    yield Form("events_named_in_metadata", b'{"note": {"traceEvents": [{"ph": "X"}]}, "text": "\\"traceEvents\\": [", '
               + text(events)[1:])
    yield Form("deep_arguments", text(work(3)).replace(b'"dur"', b'"args": {"a": ' + b"[" * 150 + b"]" * 150 + b'}, "dur"'))
    yield Form("metadata_last", text(events + [M("process_name", 10, "trainer"), M("thread_name", 10, "main", 11)]))


def others():
    xla = [M("process_name", 1, "/device:GPU:0"), M("thread_name", 1, "Stream #20(Compute)", 3),
           M("process_name", 701, "/host:CPU"), M("thread_name", 701, "python", 9)]
    steps = [X("train", i * 1000, 900, pid=701, tid=9, args={"step_num": str(i)}) for i in range(3)]
    device = [X(name, i * 1000 + at, dur, pid=1, tid=3, args={"hlo_op": name, "correlation_id": "7"}) for i in range(3)
              for name, at, dur in (("fusion.1", 100, 200), ("all-reduce.2", 400, 90), ("MemcpyH2D", 600, 30))]
    yield Form("xla_gpu", text(xla + steps + device + [{}], displayTimeUnit="ns", metadata={"highres-ticks": True}))
    yield Form("viztracer", text([X("f (/a/b.py:1)", t, 5.5, "FEE", 4, 4) for t in (1, 2.25, 30)]
                                 + [P("C", "n", 3, 4, 4, args={"n": 1.5})], viztracer_metadata={"version": "1"},
                                 file_info={"files": {}, "functions": {}}))
    yield Form("clang_time_trace", text([X("Frontend", 10, 500, pid=3, tid=3), X("Total Frontend", 0, 500, pid=3, tid=4,
                                                                               args={"count": 1, "avg ms": 0}),
                                         {"cat": "", "pid": 3, "tid": 3, "ts": 0, "ph": "M", "name": "process_name",
                                          "args": {"name": "clang"}}], beginningOfTime=1700000000000000))
    paddle = [X(f"ProfileStep#{i}[90.000 us]", i * 100, 90, "ProfileStep", 5, "5(Python)") for i in range(3)]
    paddle += [X(f"matmul dygraph[{d}.000 us]", 10 + d, d, "Operator", 5, "5(C++)") for d in (3, 4)]
    paddle += [X("cudaLaunchKernel[5.000 us]", 20 + i * 50, 5, "CudaRuntime", 5, "5(C++)", {"correlation id": 7 + i}) for i in (0, 1)]
    paddle += [X(f"{name}[30.000 us]", 30 + i * 50, 30, "Kernel", 0, 7, {"device": 0, "stream": 7, "correlation id": 7 + i})
               for i, name in enumerate(("volta_sgemm_128x64_nn", "ncclKernel_AllReduce_RING_LL_Sum_float"))]
    yield Form("paddle", text(paddle + [
        P("i", "[memory]", t, 5, "5(C++)", cat=kind, args={"place": place, "addr": str(t), "increase_bytes": size,
                                                         "current_allocated": total, "current_reserved": 8192})
        for t, kind, place, size, total in (
            (0, "ReservedAllocate", "Place(gpu:0)", 8192, 1000), (1, "Allocate", "Place(gpu:0)", 512, 1512),
            (2, "Allocate", "Place(cpu)", 64, 64), (3, "Free", "Place(gpu:0)", -512, 1000),
            (4, "Allocate", "Place(gpu:0)", 256, 1256))] + [{}], schemaVersion="1.0.2", displayTimeUnit="ms"))
    yield Form("onnx_runtime", array([X("model_run", 10, 500, "Session", 47, 47, {}), X("gemm_kernel_time", 20, 100, "Node", 47, 47,
                                                                                     {"op_name": "Gemm"})]))
    yield Form("ninja_log", array([X("a.o", 100000, 250000, "targets", 0, 0, {}), X("b.o", 100000, 900000, "targets", 0, 1, {})]))
    yield Form("bazel_profile", text([M("thread_name", 1, "Critical Path", 0)] + [
        X("action 'Compiling a.cc'", 5, 700, "action processing", 1, 4, {"mnemonic": "CppCompile"}, out="a.o"),
        P("C", "CPU usage (Bazel)", 200, 1, 4, args={"cpu": "1.5"}), P("C", "action count", 200, 1, 4, args={"action": 3})],
        otherData={"build_id": "b"}))
    yield Form("devtools", text([X("RunTask", 1000, 50, "toplevel", 1, 1, {}, tdur=40, tts=3),
                                 P("I", "Paint", 1010, 1, 1, cat="devtools.timeline", s="t", args={"data": {}}),
                                 P("B", "Load", 1000, 1, 1, cat="net"), P("E", "Load", 1020, 1, 1, cat="net")]))
    yield Form("merged_ranks", text([{**e, "pid": f"rank {r} GPU 0"} if e["pid"] == 0 else e for r in range(2)
                                     for e in training(2, pid=100 + 10 * r, correlation=1 + 50 * r)]))


def sound():
    for group in (phases, writing, others):
        yield from group()
