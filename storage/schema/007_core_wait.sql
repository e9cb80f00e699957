-- Version 2.2: what others took of a step's processor time; -1: not known.
ALTER TABLE steps ADD COLUMN core_wait_ns INTEGER NOT NULL DEFAULT -1;
ALTER TABLE steps ADD COLUMN stolen_ns INTEGER NOT NULL DEFAULT -1;
