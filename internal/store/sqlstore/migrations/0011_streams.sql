-- How a job's answers are shown while they arrive: '' not at all | text | wire (the events of the endpoint's dialect).
ALTER TABLE jobs ADD COLUMN stream TEXT NOT NULL DEFAULT '';
-- Whether the job has rows in events: '' none | kept | purging | purged.
ALTER TABLE jobs ADD COLUMN log TEXT NOT NULL DEFAULT '';
-- How many items its first claim took, for job.started; when its last job.progress was, for the next.
ALTER TABLE jobs ADD COLUMN started_items BIGINT NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN progress_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX jobs_by_log ON jobs (tenant_id, finished_at) WHERE log IN ('kept', 'purging') AND finished_at > 0;
