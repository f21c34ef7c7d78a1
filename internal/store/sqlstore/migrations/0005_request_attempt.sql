-- The only attempt of a call that succeeded at once stands in the row of the call: its charge and its first token are those of
-- the call. attempt_id is '' for all other calls, whose attempts are rows of attempts.
ALTER TABLE requests ADD COLUMN attempt_id          TEXT   NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN reason              TEXT   NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN config              TEXT   NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN price_version       TEXT   NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN attempt_started_at  BIGINT NOT NULL DEFAULT 0;
ALTER TABLE requests ADD COLUMN attempt_finished_at BIGINT NOT NULL DEFAULT 0;
