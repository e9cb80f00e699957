"""SQL over a recording. A device's streams are lanes 0x1000 to 0x1fff (storage/model/lanes.h)."""

# Kernels of all streams, those of collectives too. Step and correlation may be null, or 0.
KERNELS = ("SELECT name, start_ns, end_ns, step, correlation FROM events WHERE kind='span' AND "
           "role IN ('compute', 'communication') AND lane >= 4096 AND lane < 8192 AND "
           "rank = {rank} ORDER BY start_ns")
# Calls that launch a kernel. One that launches through another is there twice, with one number.
LAUNCHES = ("SELECT correlation FROM events WHERE kind='span' AND role='runtime' AND rank = {rank} "
            "AND (name LIKE 'cudaLaunch%Kernel%' OR name LIKE 'cuLaunch%Kernel%')")
# NCCL's kernels, to find a collective's times among them.
COLLECTIVE_KERNELS = ("SELECT rank, start_ns FROM events WHERE kind='span' AND "
                      "role='communication' AND lane >= 4096 AND lane < 8192")
COLLECTIVES = "SELECT rank, start_ns, operation, cause FROM collectives"
EVALUATIONS = ("SELECT start_ns, end_ns FROM phases WHERE phase='evaluation' AND lane < 4096 AND "
               "rank = {rank}")
STEPS = "SELECT step, start_ns, end_ns FROM steps WHERE rank = {rank} ORDER BY step"
# Steps that were captured at less than the run's level.
LESS = "SELECT first_step, last_step FROM detail WHERE rank = 0"
STARTED = "SELECT started_unix_ns FROM run"
TRACING = "SELECT tracing FROM devices WHERE rank = 0"
LOSSES = "SELECT value FROM metrics WHERE name='loss' ORDER BY step"
ATTENTION = "SELECT attention FROM devices WHERE rank = 0"
EVENTS = "SELECT sum(count) + (SELECT count(*) FROM collectives) FROM chunks"
