"""SQL over a recording. Device lanes are numbered from 0x1000 up (profiler/capture/device_sink.h)."""

# Kernels of all streams: name, start, end, step.
KERNELS = ("SELECT name, start_ns, end_ns, step FROM events WHERE kind='span' AND "
           "role IN ('compute', 'communication') AND lane >= 4096 AND lane < 8192 AND rank = {rank} "
           "ORDER BY start_ns")
# Calls that launch a kernel; one cooperative or graph launch is one call as well.
LAUNCHES = ("SELECT count(*) FROM events WHERE kind='span' AND role='runtime' AND rank = {rank} "
            "AND (name LIKE 'cudaLaunch%Kernel%' OR name LIKE 'cuLaunchKernel%')")
# NCCL's kernels, to find a collective's times among them.
COLLECTIVE_KERNELS = ("SELECT rank, start_ns FROM events WHERE kind='span' AND "
                      "role='communication' AND lane >= 4096 AND lane < 8192")
COLLECTIVES = "SELECT rank, start_ns FROM collectives"
LAST_STEP_END = ("SELECT (SELECT started_unix_ns FROM run) + max(end_ns) FROM steps")
EVENTS = "SELECT sum(count) + (SELECT count(*) FROM collectives) FROM chunks"
STEPS = "SELECT step, end_ns - start_ns FROM steps WHERE rank = 0 AND step >= {first} ORDER BY step"
