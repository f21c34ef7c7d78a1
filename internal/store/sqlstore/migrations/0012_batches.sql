-- What a job over a file, or one that came through a door for batches, has beside other jobs. A batch that was
-- refused has no job: its row says why.
CREATE TABLE batches (
    job_id      TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    tenant_id   TEXT /*pg COLLATE "C" */ NOT NULL,
    kind        TEXT   NOT NULL,              -- the door: native | openai | anthropic
    file_id     TEXT /*pg COLLATE "C" */ NOT NULL,
    endpoint    TEXT   NOT NULL,
    defaults    BYTEA,                        -- sealed; NULL for none
    metadata    TEXT   NOT NULL,              -- as JSON
    errors      TEXT   NOT NULL,              -- why it was refused, as JSON
    output_life BIGINT NOT NULL,              -- how long its files are kept, in microseconds; 0 for as long as files are
    output_file TEXT   NOT NULL DEFAULT '',
    error_file  TEXT   NOT NULL DEFAULT '',
    created_at  BIGINT NOT NULL,
    done_at     BIGINT NOT NULL DEFAULT 0     -- when nothing was left to be done for it: its files are written
) WITHOUT ROWID;
CREATE INDEX batches_by_kind ON batches (tenant_id, kind, job_id);
CREATE INDEX batches_open ON batches (job_id) WHERE done_at = 0;
CREATE INDEX batches_refused ON batches (tenant_id, created_at) WHERE errors <> '[]';
