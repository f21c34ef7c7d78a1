-- How fast a backlog drains is the difference between two readings of its odometers, whoever did the work:
-- a claim moves them on, an item that comes back to the queue moves them back.
ALTER TABLE backlogs ADD COLUMN drained_items  BIGINT NOT NULL DEFAULT 0;
ALTER TABLE backlogs ADD COLUMN drained_tokens BIGINT NOT NULL DEFAULT 0;

-- Where a job stood when it was accepted, and what its caller was told.
ALTER TABLE jobs ADD COLUMN queue_mark   BIGINT NOT NULL DEFAULT 0; -- drained_tokens at which its first item is due
ALTER TABLE jobs ADD COLUMN queue_tokens BIGINT NOT NULL DEFAULT 0; -- of all its items
ALTER TABLE jobs ADD COLUMN promised_at  BIGINT NOT NULL DEFAULT 0; -- when it was said to finish
