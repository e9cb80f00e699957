-- Version 2.4: the processes of a recorded program.
CREATE TABLE processes (
    host INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    parent INTEGER NOT NULL,
    role INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    command TEXT NOT NULL,
    started_ns INTEGER NOT NULL,
    ended_ns INTEGER,
    exit_code INTEGER,
    exit_signal INTEGER,
    cpu_time_ns INTEGER NOT NULL,
    peak_resident_bytes INTEGER NOT NULL,
    not_recorded TEXT NOT NULL,
    PRIMARY KEY (host, pid, started_ns)
) STRICT;
