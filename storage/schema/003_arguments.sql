-- Version 1.2: arguments of spans as columns.
CREATE TABLE arguments (
    id INTEGER PRIMARY KEY,
    rank INTEGER NOT NULL,
    first_id INTEGER NOT NULL,
    count INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    data BLOB NOT NULL
) STRICT;
