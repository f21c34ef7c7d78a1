-- What a process tells of itself with its heartbeat, as JSON: whether it works on jobs, and which targets it may not call.
ALTER TABLE leases ADD COLUMN state TEXT NOT NULL DEFAULT '';
