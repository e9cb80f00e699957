"""Traces of PyTorch's profiler for several devices, of several years."""
from form import P, X, Form, array, gpu, launch, text, training, work

OF_2021 = {"kernel": "Kernel", "gpu_memcpy": "Memcpy", "cuda_runtime": "Runtime", "user_annotation": "Operator"}


def profilers():
    both = training(3) + training(3, device=1, correlation=100)
    yield Form("kineto_one_device", text(training(), schemaVersion=1, deviceProperties=[{"id": 0}]))
    yield Form("kineto_two_devices", text([e for i, e in enumerate(both) if not (i >= len(both) // 2 and "Profiler" in e["name"])]))
    yield Form("kineto_wall_clock", text(training(start=1700000000000000.125)))
    started = training(start=1700000000000000)
    yield Form("kineto_lost_times", text([{**e, "ts": 0, **({"dur": 0} if "dur" in e else {})}
                                          if e["pid"] == 0 and i % 4 == 2 else e for i, e in enumerate(started)]),
               rejected=sum(1 for i, e in enumerate(started) if e["pid"] == 0 and i % 4 == 2))
    yield Form("gpu_annotations", text(training() + [
        X(f"ProfilerStep#{i}", i * 1000 + 30, 480, "gpu_user_annotation", 0, 7, {"device": 0, "stream": 7})
        for i in range(3)]))
    yield Form("steps_as_begin_end", text([P("B", "ProfilerStep#4", 0, cat="user_annotation"),
                                           P("E", "ProfilerStep#4", 900, cat="user_annotation"), gpu("k", 10, 5)]))
    yield Form("graph_launch", text([X("ProfilerStep#0", 0, 1000, "user_annotation"),
                                     launch(10, 5, name="cudaGraphLaunch")]
                                    + [gpu(f"node{i}", 50 + i * 20, 10, correlation=5) for i in range(10)]))
    yield Form("overlapping_streams", text([X("ProfilerStep#0", 0, 1000, "user_annotation")] + [
        gpu(name, at, dur, stream=stream) for name, at, dur, stream in (
            ("gemm", 100, 300, 7), ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 200, 400, 20), ("gemm", 350, 100, 8),
            ("add", 500, 50, 7), ("ncclDevKernel_AllGather_RING_LL", 590, 100, 20))]))
    yield Form("kineto_base_time", text(training(), baseTimeNanoseconds=1700000000000000000, trace_id="A"))
    yield Form("kineto_2021", text([{**e, "cat": OF_2021.get(e["cat"], e["cat"])} for e in training()]))
    yield Form("kernels_of_the_host", text(training() + [
        P("i", "[memory]", at, s="t", cat="cpu_instant_event", args={
            "Addr": 64, "Bytes": size, "Total Allocated": total, "Device Type": 0, "Device Id": -1})
        for at, size, total in ((20, 4096, 5096), (900, -4096, 1000))], deviceProperties=[]))
    yield Form("kineto_cycles", text(training(2) + training(2, start=9000, correlation=50)))
    yield Form("kineto_backwards", text(training()[::-1]))
    names = {"hip": "hipLaunchKernel", "xpu": "urEnqueueKernelLaunch", "privateuse1": "aclrtLaunchKernel"}
    for kind, call in names.items():
        yield Form("kineto_" + kind, text([{**e, "name": call, "cat": kind + "_runtime" if kind != "hip" else e["cat"]}
                                           if e["cat"] == "cuda_runtime" else e for e in training()]))
    for cat in ("hpu_op", "mtia_ccp_events"):
        yield Form("kineto_" + cat, text([{**e, "cat": cat} if e["cat"] == "kernel" else e for e in training()]))
    yield Form("steps_by_name", text([X(f"train step {i}/4", i * 100, 90, "user_annotation") for i in range(4)] + work(8)))
    yield Form("autograd_of_old", array([{**e, "pid": "CPU functions", "tid": 1, "args": {}} for e in work(8)]))
    own = [("cross_device_reduce_1stage<half, 8>", 10), ("void flashinfer::trtllm_allreduce_fusion::kernel<2>", 20),
           ("multimem_all_reduce_kernel<float>", 30), ("ncclSymkDevKernel_AllGather_LL", 40),
           ("void cub::DeviceReduceKernel<float>", 50), ("void softmax_warp_forward<float>", 60)]
    yield Form("kernels_of_servers", text([X("ProfilerStep#0", 0, 1000, "user_annotation")] + [
        e for i, (name, dur) in enumerate(own) for e in (launch(i * 5, i + 1), gpu(name, 100 * (i + 1), dur, correlation=i + 1))]))
    memory = [(0, 0, 1000), (0, 0, 500), (1, 0, 4096), (1, 1, 512), (0, 0, -1000), (1, 0, 4096), (1, 0, -8192), (1, 1, 1024)]
    totals, events = {}, [X("ProfilerStep#0", 0, 1000, "user_annotation")]
    for i, (kind, device, size) in enumerate(memory):
        totals[kind, device] = totals.get((kind, device), 0) + size
        events.append(P("i", "[memory]", i * 10 + 1, s="t", cat="cpu_instant_event", args={
            "Device Type": kind, "Device Id": device if kind else -1, "Bytes": size, "Addr": 4096 + abs(size),
            "Total Allocated": totals[kind, device], "Total Reserved": 8192 if kind else 0}))
    yield Form("memory_of_host_and_devices", text(events + [gpu("k", 100, 5), gpu("k", 100, 5, 1)]))
