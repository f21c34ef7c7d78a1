-- Items are accepted, wait and are given out together, so they are kept together: an input group has what a job's
-- consecutive items came with, and is never changed. An item gets a row of its own when something happens to
-- it that sets it apart: most do once, when they end.
CREATE TABLE input_groups (
    job_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    first_n BIGINT NOT NULL,
    facts   BYTEA  NOT NULL,                  -- of each item: its custom id, how much it may use, where its input lies
    inputs  BYTEA  NOT NULL,                  -- each sealed by itself, one behind the other
    PRIMARY KEY (job_id, first_n)
) WITHOUT ROWID;
/*pg ALTER TABLE input_groups ALTER COLUMN inputs SET STORAGE EXTERNAL; */

-- Inputs that were too large for an input group: a blob that neither this nor an item names is an orphan.
CREATE TABLE input_blobs (
    name   TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    job_id TEXT /*pg COLLATE "C" */ NOT NULL
) WITHOUT ROWID;

-- What all items of a job share is told by the job.
CREATE TABLE items_apart (
    id           TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    job_id       TEXT /*pg COLLATE "C" */ NOT NULL,
    tenant_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    n            BIGINT NOT NULL,
    custom_id    TEXT   NOT NULL,
    status       TEXT   NOT NULL,
    seq          BIGINT NOT NULL DEFAULT 0,   -- a terminal item is its own event
    input        BYTEA,                       -- sealed; NULL when it lies in a blob or an input group
    input_blob   TEXT   NOT NULL DEFAULT '',
    estimate_tokens   BIGINT NOT NULL,
    input_bytes       BIGINT NOT NULL,
    reserved_nano_usd BIGINT NOT NULL,
    not_before   BIGINT NOT NULL DEFAULT 0,
    parked       BIGINT NOT NULL DEFAULT 0,   -- 1 while it is queued and waits for not_before
    claim_id     TEXT   NOT NULL DEFAULT '',  -- under which it runs, or ran last
    fence        BIGINT NOT NULL DEFAULT 0,   -- +1 per claim; a holder with an older one cannot write
    tries        BIGINT NOT NULL DEFAULT 0,   -- attempts recorded
    attempts     BIGINT NOT NULL DEFAULT 0,   -- attempts that count against max_attempts
    crashes      BIGINT NOT NULL DEFAULT 0,   -- workers that died while holding it
    target       TEXT   NOT NULL DEFAULT '',
    status_code  BIGINT NOT NULL DEFAULT 0,
    result       BYTEA,                       -- sealed; NULL when there is none or it lies in a blob
    result_blob  TEXT   NOT NULL DEFAULT '',
    error_code   TEXT   NOT NULL DEFAULT '',
    error_message TEXT  NOT NULL DEFAULT '',
    input_tokens        BIGINT NOT NULL DEFAULT 0,
    cached_input_tokens BIGINT NOT NULL DEFAULT 0,
    output_tokens       BIGINT NOT NULL DEFAULT 0,
    cost_nano_usd       BIGINT NOT NULL DEFAULT 0,
    price_version TEXT  NOT NULL DEFAULT '',
    finished_at  BIGINT NOT NULL DEFAULT 0,
    last_attempt TEXT   NOT NULL DEFAULT ''
);
INSERT INTO items_apart SELECT i.id, i.job_id, i.tenant_id, i.n, i.custom_id, i.status, i.seq, i.input, i.input_blob,
    i.estimate_tokens, i.input_bytes, i.reserved_nano_usd, i.not_before, i.parked, CASE WHEN i.status = 'running' THEN i.id ELSE '' END,
    i.fence, i.tries, i.attempts, i.crashes, i.target, i.status_code, i.result, i.result_blob, i.error_code, i.error_message,
    i.input_tokens, i.cached_input_tokens, i.output_tokens, i.cost_nano_usd, COALESCE(l.price_version, ''), i.finished_at, i.last_attempt
    FROM items i LEFT JOIN ledger l ON l.key = 'item:' || i.id;

-- The line of what is ready holds ranges of a job's items. A claim takes from their front.
DROP TABLE ready;
CREATE TABLE ready (
    lane      TEXT /*pg COLLATE "C" */ NOT NULL,
    tenant_id TEXT /*pg COLLATE "C" */ NOT NULL,
    model     TEXT /*pg COLLATE "C" */ NOT NULL,
    deadline  BIGINT NOT NULL,
    job_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    last_n    BIGINT NOT NULL,
    first_n   BIGINT NOT NULL,                -- of those that are left
    input_group_n  BIGINT NOT NULL,                -- first item of the input group that they are in
    item_id   TEXT /*pg COLLATE "C" */ NOT NULL, -- of one item that has a row of its own, or ''
    estimate_tokens BIGINT NOT NULL,          -- where it is one item; the input group tells those of several
    input_bytes     BIGINT NOT NULL,
    PRIMARY KEY (lane, tenant_id, model, deadline, job_id, last_n)
) WITHOUT ROWID /*pg WITH (fillfactor = 70) */;
INSERT INTO ready SELECT i.lane, i.tenant_id, i.model, i.deadline, i.job_id, i.n, i.n, i.n, i.id, i.estimate_tokens, i.input_bytes
    FROM items i WHERE i.status = 'queued' AND i.parked = 0;

-- What a process took of one job in one go. How many of a job's items run is the sum of its claims.
DROP TABLE claims;
CREATE TABLE claims (
    id         TEXT /*pg COLLATE "C" */ NOT NULL,
    job_id     TEXT /*pg COLLATE "C" */ NOT NULL,
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    process_id TEXT /*pg COLLATE "C" */ NOT NULL,
    epoch      BIGINT NOT NULL,
    open       BIGINT NOT NULL,               -- items that still run; at 0 the row goes
    items      TEXT   NOT NULL,               -- their indexes, as JSON
    PRIMARY KEY (job_id, id)
) WITHOUT ROWID /*pg WITH (fillfactor = 50) */;
CREATE INDEX claims_by_process ON claims (process_id, epoch);
INSERT INTO claims SELECT i.id, i.job_id, i.tenant_id, i.process_id, i.epoch, 1, '[' || i.n || ']' FROM items i WHERE i.status = 'running';

DROP TABLE items;
ALTER TABLE items_apart RENAME TO items;
CREATE INDEX items_input_blob ON items (input_blob) WHERE input_blob <> '';
CREATE INDEX items_result_blob ON items (result_blob) WHERE result_blob <> '';
CREATE INDEX items_queued ON items (job_id, n) WHERE status = 'queued';

-- How many of a job's items wait and run is told by its claims, so a claim need not wait for a finish.
DROP INDEX jobs_running;
DROP INDEX jobs_deadline;
DROP INDEX jobs_cancelling;
ALTER TABLE jobs DROP COLUMN queued;
ALTER TABLE jobs DROP COLUMN running;
ALTER TABLE jobs ADD COLUMN swept BIGINT NOT NULL DEFAULT 0; -- 1 once all that was queued past its end was ended
CREATE INDEX jobs_deadline ON jobs (deadline, id) WHERE finished_at = 0 AND swept = 0;
CREATE INDEX jobs_cancelling ON jobs (id) WHERE cancel_requested_at > 0 AND finished_at = 0 AND swept = 0;

-- A terminal item is its own settlement. The ledger adds up those of a job that were committed together.
ALTER TABLE ledger ADD COLUMN outcomes BIGINT NOT NULL DEFAULT 0; -- how many it settles
UPDATE ledger SET outcomes = 1 WHERE kind IN ('settle', 'release');

-- In what order the items of a large job ended: those that did in one transaction are one row. The items of a
-- small one are sorted when they are read.
CREATE TABLE endings (
    job_id   TEXT /*pg COLLATE "C" */ NOT NULL,
    last_seq BIGINT NOT NULL,
    items    TEXT   NOT NULL,                 -- their indexes, as JSON; their numbers are consecutive
    PRIMARY KEY (job_id, last_seq)
) WITHOUT ROWID;

-- A job whose items are the lines of a file gets them in steps.
ALTER TABLE jobs ADD COLUMN file_id TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN split BIGINT NOT NULL DEFAULT 0; -- how many of its items it has
UPDATE jobs SET split = total;
CREATE INDEX jobs_unsplit ON jobs (id) WHERE split < total AND finished_at = 0;
