-- Lists and counts over millions of jobs. Nothing here is written when a job is accepted, claimed or succeeds.

-- Segments summarize consecutive jobs of a tenant: jobs with ids above the segment before, up to last_id. Package jobsegment
-- has the form of facts and ids. The facts of a job that has ended never change.
CREATE TABLE job_segments (
    tenant_id   TEXT /*pg COLLATE "C" */ NOT NULL,
    last_id     TEXT /*pg COLLATE "C" */ NOT NULL,
    first_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    open        BIGINT NOT NULL,              -- jobs that had not ended when the segment was built
    stale       BIGINT NOT NULL,              -- 1 after a job of the segment was deleted
    due_at      BIGINT NOT NULL,              -- the segment is built again from then on; 0: never
    min_created BIGINT NOT NULL,
    max_created BIGINT NOT NULL,
    facts       BYTEA  NOT NULL,
    ids         BYTEA  NOT NULL,
    PRIMARY KEY (tenant_id, last_id)
);
CREATE INDEX job_segments_due ON job_segments (tenant_id, due_at) WHERE due_at > 0;
/*pg ALTER TABLE job_segments ALTER COLUMN facts SET STORAGE EXTERNAL */;
/*pg ALTER TABLE job_segments ALTER COLUMN ids SET STORAGE EXTERNAL */;

-- Where the segments of a tenant end. A process that builds segments of the tenant locks the row.
CREATE TABLE job_segment_ends (
    tenant_id TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    last_id   TEXT /*pg COLLATE "C" */ NOT NULL
) WITHOUT ROWID;

-- Jobs by the failures of their items, those that were retried or dismissed as well.
CREATE INDEX dead_letters_by_fingerprint ON dead_letters (tenant_id, fingerprint /*pg COLLATE "C" */, item_id);
CREATE INDEX dead_letters_by_code        ON dead_letters (tenant_id, error_code, item_id);
-- Groups of open dead letters: the index has all that a group shows, so that counting does not read the rows.
CREATE INDEX dead_letters_groups ON dead_letters (tenant_id, fingerprint /*pg COLLATE "C" */, item_id, created_at, model) WHERE resolved_at = 0;

CREATE INDEX files_by_purpose ON files (tenant_id, purpose, id);
-- Deliveries that failed are few.
CREATE INDEX deliveries_failed ON deliveries (tenant_id, webhook_id, id) WHERE status = 'failed';
