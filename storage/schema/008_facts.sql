-- Version 2.3: how ranks computed and what their machines were like; who used the cores of a step.
CREATE TABLE facts (
    name TEXT NOT NULL,
    host INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (name, host, rank)
) STRICT;
ALTER TABLE steps ADD COLUMN busy_ns INTEGER NOT NULL DEFAULT -1;
