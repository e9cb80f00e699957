-- Version 2.0: rows of some tables as columns, in small finalised recordings.
CREATE TABLE packed (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    count INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    data BLOB NOT NULL
) STRICT;
