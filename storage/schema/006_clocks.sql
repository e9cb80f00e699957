-- Version 2.1: comparisons of other hosts' clocks with the recorder's.
CREATE TABLE clocks (
    id INTEGER PRIMARY KEY,
    host INTEGER NOT NULL,
    time_ns INTEGER NOT NULL,
    offset_ns INTEGER NOT NULL,
    drift_ppb INTEGER NOT NULL,
    error_ns INTEGER NOT NULL,
    residual_ns INTEGER NOT NULL,
    stepped INTEGER NOT NULL
) STRICT;
