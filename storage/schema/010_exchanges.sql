-- Version 2.5: what ranks that share layers exchanged in a step; -1: not known.
ALTER TABLE steps ADD COLUMN expected_exchanges INTEGER NOT NULL DEFAULT -1;
