-- What a job itself went through is told by its row, so its log needs no rows of their own: job.queued is
-- number 1, job.finished the last, and job.started has the number that is kept here.
ALTER TABLE jobs ADD COLUMN started_seq BIGINT NOT NULL DEFAULT 0;
UPDATE jobs SET started_seq = COALESCE((SELECT seq FROM events WHERE events.job_id = jobs.id AND type = 'job.started'), 0);
DELETE FROM events WHERE type IN ('job.queued', 'job.started', 'job.finished');

-- The items table has no index but its key, so that an item that moves through the queue is rewritten in
-- place. Where it stands is kept in small tables beside it. An item that failed waits apart from those that
-- are ready, so that claims never look at it in vain.
ALTER TABLE items ADD COLUMN parked BIGINT NOT NULL DEFAULT 0;      -- 1 while it is queued and waits for not_before
ALTER TABLE items ADD COLUMN input_bytes BIGINT NOT NULL DEFAULT 0; -- of the plain input
ALTER TABLE items ADD COLUMN claim_id TEXT NOT NULL DEFAULT '';     -- under which it runs
/*pg ALTER TABLE items SET (fillfactor = 40); */
UPDATE items SET parked = 1 WHERE status = 'queued' AND fence > 0;
UPDATE items SET claim_id = id WHERE status = 'running';
DROP INDEX items_queued;
DROP INDEX items_running;
DROP INDEX items_finished;

CREATE TABLE ready (
    lane      TEXT /*pg COLLATE "C" */ NOT NULL,
    tenant_id TEXT /*pg COLLATE "C" */ NOT NULL,
    model     TEXT /*pg COLLATE "C" */ NOT NULL,
    deadline  BIGINT NOT NULL,
    item_id   TEXT /*pg COLLATE "C" */ NOT NULL,
    job_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    estimate_tokens BIGINT NOT NULL,
    input_bytes     BIGINT NOT NULL,
    PRIMARY KEY (lane, tenant_id, model, deadline, item_id)
) WITHOUT ROWID;
INSERT INTO ready SELECT lane, tenant_id, model, deadline, id, job_id, estimate_tokens, input_bytes
    FROM items WHERE status = 'queued' AND parked = 0;

CREATE TABLE parked (
    not_before BIGINT NOT NULL,
    item_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    PRIMARY KEY (not_before, item_id)
) WITHOUT ROWID;
INSERT INTO parked SELECT not_before, id FROM items WHERE status = 'queued' AND parked = 1;

-- What a process took in one go. Its items name it while they run.
CREATE TABLE claims (
    id         TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    process_id TEXT /*pg COLLATE "C" */ NOT NULL,
    epoch      BIGINT NOT NULL,
    open       BIGINT NOT NULL,               -- items that still run; at 0 the row goes
    items      TEXT   NOT NULL                -- their ids, as JSON
) WITHOUT ROWID;
CREATE INDEX claims_by_process ON claims (process_id, epoch);
INSERT INTO claims SELECT id, process_id, epoch, 1, '["' || id || '"]' FROM items WHERE status = 'running';

-- What is queued, so that nobody ever has to count it: it says which models a claim may look at, how deep
-- the queue of a tenant is, and how long it will take.
DROP TABLE backlogs;
CREATE TABLE backlogs (
    lane      TEXT /*pg COLLATE "C" */ NOT NULL,
    tenant_id TEXT /*pg COLLATE "C" */ NOT NULL,
    model     TEXT /*pg COLLATE "C" */ NOT NULL,
    ready     BIGINT NOT NULL,                -- items that may start
    parked    BIGINT NOT NULL,                -- items that wait until they may
    tokens    BIGINT NOT NULL,                -- upper bound of both
    bytes     BIGINT NOT NULL,                -- of their inputs
    PRIMARY KEY (lane, tenant_id, model)
) WITHOUT ROWID /*pg WITH (fillfactor = 50) */;
INSERT INTO backlogs SELECT lane, tenant_id, model, SUM(1 - parked), SUM(parked), SUM(estimate_tokens), SUM(input_bytes)
    FROM items WHERE status = 'queued' GROUP BY lane, tenant_id, model;

-- An attempt is found by what it tried; nothing asks for it by its own id.
CREATE TABLE tries (
    subject_id  TEXT /*pg COLLATE "C" */ NOT NULL,   -- item or request
    number      BIGINT NOT NULL,
    id          TEXT /*pg COLLATE "C" */ NOT NULL,
    tenant_id   TEXT /*pg COLLATE "C" */ NOT NULL,
    fence       BIGINT NOT NULL,
    target      TEXT   NOT NULL,
    reason      TEXT   NOT NULL,
    config      TEXT   NOT NULL,
    error_kind  TEXT   NOT NULL,
    error_message TEXT NOT NULL,
    status_code BIGINT NOT NULL,
    input_tokens        BIGINT NOT NULL,
    cached_input_tokens BIGINT NOT NULL,
    output_tokens       BIGINT NOT NULL,
    usage_known BIGINT NOT NULL,
    cost_nano_usd BIGINT NOT NULL,
    started_at  BIGINT NOT NULL,
    first_token_at BIGINT NOT NULL,
    finished_at BIGINT NOT NULL,
    PRIMARY KEY (subject_id, number)
) WITHOUT ROWID;
INSERT INTO tries SELECT subject_id, number, id, tenant_id, fence, target, reason, config, error_kind, error_message, status_code,
    input_tokens, cached_input_tokens, output_tokens, usage_known, cost_nano_usd, started_at, first_token_at, finished_at
    FROM attempts;
DROP TABLE attempts;
ALTER TABLE tries RENAME TO attempts;

-- The attempt by which an item ended is kept with the item, as JSON: most items have no other.
ALTER TABLE items ADD COLUMN last_attempt TEXT NOT NULL DEFAULT '';

-- Nothing reads the ledger by tenant and time yet.
DROP INDEX ledger_by_tenant;
