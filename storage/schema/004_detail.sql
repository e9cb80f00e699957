-- Version 1.3: steps of which the file holds less than the run's capture level.
CREATE TABLE detail (
    id INTEGER PRIMARY KEY,
    rank INTEGER NOT NULL,
    first_step INTEGER NOT NULL,
    last_step INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL,
    level INTEGER NOT NULL,
    reason INTEGER NOT NULL,
    removed INTEGER,
    peak_ns INTEGER,
    peak_bytes INTEGER,
    peak BLOB
) STRICT;
