"""Forms and files that are not imported by their meaning yet, and what is wrong. The test fails when one of them is
right, so that the list stays true."""

WRONG_TODAY = {
    # Events with times as texts, at 0, or out of order.
    "text_times": "times of today as texts are rejected",
    "text_times_wall_clock.json": "the same",
    "kineto_lost_times": "a time of 0 is taken for the start of the trace, and all else is rejected",
    "zero_time_kernel.json": "the same",
    "unsorted_begin_end.json": "ends are matched in order of the file",
    "end_before_begin_in_time": "the same",
    # Devices and ranks.
    "kineto_two_devices": "devices of one process are one rank",
    "two_gpus_one_process.json": "the same",
    "two_processes_same_correlations.json": "the same",
    "merged_ranks": "the same",
    "memory_of_host_and_devices": "host and devices are one sum",
    "memory_of_host_and_devices.json": "the same",
    # Steps, kernels and rows by name.
    "kineto_cycles": "steps of the second cycle are left out",
    "two_profiler_cycles.json": "the same",
    "kernels_of_servers": "kernels that communicate count as compute",
    "custom_all_reduce_kernels.json": "the same",
    "xla_gpu": "XLA's rows of devices and steps are not known",
    "jax_gpu_rows.json": "the same",
    "empty_last_event.json": "the same, and the empty event is rejected",
    "empty_events_between": "empty events are rejected",
    "paddle": "names of steps and members of memory events are not known",
    # Counters.
    "counters": "counters of different ids are one series",
    "counter_ids.json": "the same",
    # Asynchronous events are rejected.
    "async_nested": "b, e and n are rejected",
    "async_siblings_of_one_id": "the same",
    "async_local_ids": "the same",
    "async_of_old": "S, T and F are rejected",
    # Text that is not quite JSON, or unusual.
    "missing_quote.json": "all behind the damage is lost",
    "comma_behind_last_of_open_array": "the comma counts as an event that was cut off",
    "one_event_a_line": "refused as JSON without traceEvents",
    "escaped_keys": "keys that are escaped are not known",
    "escaped_values": "the phase is compared with its escapes",
    "brace_too_many": "one stray brace, and nothing is imported",
    "comma_missing": "the event before is lost",
    # Folders.
    "ranks_by_name": "ranks are counted in the order of names, in which 10 is before 2",
    "cycles_of_one_process": "one process that exported twice is two ranks",
    "settings_beside_traces": "a file that is no trace refuses the folder",
    "folder_for_each_rank": "folders within folders are not looked into",
    # Other formats.
    "folded_crlf": "not recognised",
    "folded_tab": "not recognised",
    "snapshot_protocol_0": "not recognised",
    "snapshot_protocol_1": "not recognised",
}
