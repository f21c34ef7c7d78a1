-- What a pool keeps beside its level: places, and who used it of late; see store.Kept.
ALTER TABLE pools ADD COLUMN kept TEXT NOT NULL DEFAULT '';

-- A synchronous call that runs as a job, so as not to run twice: the model that answers for its name. It counts against
-- the concurrency of its caller until the job ends.
ALTER TABLE jobs ADD COLUMN call_model TEXT NOT NULL DEFAULT '';
CREATE INDEX jobs_open_calls ON jobs (tenant_id, key_name) WHERE call_model <> '' AND finished_at = 0;
