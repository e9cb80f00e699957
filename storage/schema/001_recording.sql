-- Version 1 of a recording. Every table and column is described in FORMAT.md.
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE run (
    id TEXT PRIMARY KEY,
    config_json TEXT NOT NULL,
    command_line TEXT NOT NULL,
    product TEXT NOT NULL,
    libraries_json TEXT NOT NULL,
    environment_json TEXT NOT NULL,
    model TEXT NOT NULL,
    strategy TEXT NOT NULL,
    world_size INTEGER NOT NULL,
    parameters INTEGER NOT NULL,
    started_unix_ns INTEGER NOT NULL,
    status INTEGER NOT NULL,
    ended_ns INTEGER,
    finalised INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE hosts (
    host INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    cpu TEXT NOT NULL,
    cores INTEGER NOT NULL,
    memory_bytes INTEGER NOT NULL,
    boot_id TEXT NOT NULL,
    clock_offset_ns INTEGER NOT NULL,
    clock_error_ns INTEGER NOT NULL
) STRICT;

CREATE TABLE ranks (
    rank INTEGER PRIMARY KEY,
    host INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    device TEXT NOT NULL,
    peak_flops REAL,
    peak_source TEXT NOT NULL,
    emitted INTEGER NOT NULL,
    dropped INTEGER NOT NULL,
    exit_code INTEGER,
    exit_signal INTEGER
) STRICT;

CREATE TABLE lanes (
    rank INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    role INTEGER NOT NULL,
    name TEXT NOT NULL,
    unit TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (rank, lane)
) STRICT, WITHOUT ROWID;

CREATE TABLE strings (
    rank INTEGER NOT NULL,
    id INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (rank, id)
) STRICT;

CREATE TABLE steps (
    rank INTEGER NOT NULL,
    step INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    expected_gathers INTEGER NOT NULL,
    expected_reductions INTEGER NOT NULL,
    expected_phases INTEGER NOT NULL,
    emitted INTEGER NOT NULL,
    dropped INTEGER NOT NULL,
    cpu_time_ns INTEGER NOT NULL,
    resident_set_bytes INTEGER NOT NULL,
    PRIMARY KEY (step, rank)
) STRICT, WITHOUT ROWID;

CREATE TABLE collectives (
    rank INTEGER NOT NULL,
    group_id INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    operation TEXT NOT NULL,
    dtype TEXT NOT NULL,
    cause TEXT NOT NULL,
    layer INTEGER NOT NULL,
    step INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    algorithm_id INTEGER NOT NULL,
    protocol_id INTEGER NOT NULL,
    issue_ns INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL,
    last_arrival_ns INTEGER NOT NULL,
    late_rank INTEGER,
    arrivals BLOB NOT NULL,
    PRIMARY KEY (rank, group_id, sequence)
) STRICT, WITHOUT ROWID;

CREATE TABLE metrics (
    name TEXT NOT NULL,
    step INTEGER NOT NULL,
    time_ns INTEGER NOT NULL,
    value REAL
) STRICT;

CREATE TABLE memory_theory (
    rank INTEGER NOT NULL,
    category INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    PRIMARY KEY (rank, category)
) STRICT, WITHOUT ROWID;

CREATE TABLE diagnostics (
    id INTEGER PRIMARY KEY,
    severity INTEGER NOT NULL,
    code TEXT NOT NULL,
    message TEXT NOT NULL,
    remedy TEXT NOT NULL,
    rank INTEGER,
    time_ns INTEGER NOT NULL,
    count INTEGER NOT NULL
) STRICT;

CREATE TABLE chunks (
    id INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    lane INTEGER,
    first_ns INTEGER NOT NULL,
    last_ns INTEGER NOT NULL,
    count INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    data BLOB NOT NULL
) STRICT;
CREATE INDEX chunks_directory ON chunks (kind, rank, lane, first_ns, last_ns, count, bytes);

CREATE TABLE memory_state (
    chunk INTEGER PRIMARY KEY,
    before BLOB NOT NULL,
    peak_ns INTEGER NOT NULL,
    peak_bytes INTEGER NOT NULL,
    peak BLOB NOT NULL
) STRICT;

CREATE TABLE pyramid (
    id INTEGER PRIMARY KEY,
    rank INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    level INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    through_chunk INTEGER NOT NULL,
    data BLOB NOT NULL,
    UNIQUE (rank, lane, level, segment)
) STRICT;
