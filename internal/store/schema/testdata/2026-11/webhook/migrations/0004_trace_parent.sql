-- The trace of the job that the event happened to, so that sending needs no table of the queue.
ALTER TABLE deliveries ADD COLUMN trace_parent TEXT NOT NULL DEFAULT '';
