-- What a job itself went through is told by its row, so its log needs no rows of their own: job.queued is
-- number 1, job.finished the last, and job.started has the number that is kept here.
ALTER TABLE jobs ADD COLUMN started_seq BIGINT NOT NULL DEFAULT 0;
UPDATE jobs SET started_seq = COALESCE((SELECT seq FROM events WHERE events.job_id = jobs.id AND type = 'job.started'), 0);
DELETE FROM events WHERE type IN ('job.queued', 'job.started', 'job.finished');
