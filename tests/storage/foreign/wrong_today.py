"""Forms and files that are not imported by their meaning yet, and what is wrong. The test fails when one of them is
right, so that the list stays true."""

WRONG_TODAY = {
    # Steps, kernels and rows by name.
    "paddle": "members of its memory events are not known",
    # Text that is not quite JSON, or unusual.
    "one_event_a_line": "refused as JSON without traceEvents",
    "escaped_keys": "keys that are escaped are not known",
    "escaped_values": "the phase is compared with its escapes",
    # Other formats.
    "snapshot_protocol_0": "not recognised",
    "snapshot_protocol_1": "not recognised",
}
