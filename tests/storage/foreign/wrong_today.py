"""Forms and files that are not imported by their meaning yet, and what is wrong. The test fails when one of them is
right, so that the list stays true."""

WRONG_TODAY = {
    "snapshot_protocol_0": "not recognised; no tool writes it",
    "snapshot_protocol_1": "not recognised; no tool writes it",
}
