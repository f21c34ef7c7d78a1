-- What a process tells with its heartbeat: how many calls it makes on targets that it knows to be held back.
ALTER TABLE leases ADD COLUMN calls   TEXT NOT NULL DEFAULT '';
ALTER TABLE leases ADD COLUMN told_at BIGINT NOT NULL DEFAULT 0;
