-- Parts of a pool that are kept for holders, see store.Place.
ALTER TABLE pools ADD COLUMN places TEXT NOT NULL DEFAULT '';

-- A synchronous call that runs as a job, so as not to run twice: the model that answers for its name. It counts against
-- the concurrency of its caller until the job ends.
ALTER TABLE jobs ADD COLUMN call_model TEXT NOT NULL DEFAULT '';
CREATE INDEX jobs_open_calls ON jobs (tenant_id, key_name) WHERE call_model <> '' AND finished_at = 0;
