-- One schema for SQLite and PostgreSQL.
--   * Text between /*pg and */ is for PostgreSQL alone; SQLite reads it as a comment. WITHOUT ROWID, which
--     keeps the rows of a table in its primary key, is for SQLite alone.
--   * Times are microseconds since 1970 by the database's clock; 0 means "not yet" or "never".
--   * Money is integer nano-dollars. JSON is TEXT. Payloads are sealed by the payload codec.
--   * ids are bare ULIDs, compared byte by byte.

-- Facts about the database itself.
CREATE TABLE facts (
    name  TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    value BYTEA NOT NULL
);

CREATE TABLE tenants (
    id          TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    source      TEXT   NOT NULL,              -- file | api: who may change it
    weight      BIGINT NOT NULL,
    settings    TEXT   NOT NULL,              -- lanes, region, retention, allowed models
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL
);

CREATE TABLE api_keys (
    id           TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    tenant_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    name         TEXT   NOT NULL,
    hash         BYTEA  NOT NULL UNIQUE,      -- SHA-256 of the secret, which is shown once and never stored
    prefix       TEXT   NOT NULL,             -- enough of the secret to recognise it by
    scopes       TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL DEFAULT 0,
    revoked_at   BIGINT NOT NULL DEFAULT 0,
    last_used_at BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX api_keys_by_tenant ON api_keys (tenant_id, id);

CREATE TABLE config_snapshots (
    hash       TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    body       TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);

-- A process and the right of everything it claimed. One row, one heartbeat.
CREATE TABLE leases (
    process_id TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    epoch      BIGINT NOT NULL,               -- higher each time the process takes the lease anew
    expires_at BIGINT NOT NULL,
    started_at BIGINT NOT NULL
) WITHOUT ROWID;

CREATE TABLE jobs (
    id           TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    tenant_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    key_name     TEXT   NOT NULL,
    endpoint     TEXT   NOT NULL,
    model        TEXT   NOT NULL,
    lane         TEXT   NOT NULL,
    tags         TEXT   NOT NULL,
    status       TEXT   NOT NULL,             -- derived from the counts; stored so that lists can filter
    total        BIGINT NOT NULL,
    queued       BIGINT NOT NULL,
    running      BIGINT NOT NULL DEFAULT 0,
    succeeded    BIGINT NOT NULL DEFAULT 0,
    failed       BIGINT NOT NULL DEFAULT 0,
    cancelled    BIGINT NOT NULL DEFAULT 0,
    expired      BIGINT NOT NULL DEFAULT 0,
    input_tokens        BIGINT NOT NULL DEFAULT 0,
    cached_input_tokens BIGINT NOT NULL DEFAULT 0,
    output_tokens       BIGINT NOT NULL DEFAULT 0,
    cost_nano_usd       BIGINT NOT NULL DEFAULT 0,
    seq          BIGINT NOT NULL,             -- number of the newest event; grows under this row's lock
    max_attempts BIGINT NOT NULL,
    item_timeout BIGINT NOT NULL,             -- microseconds
    resolved     TEXT   NOT NULL,
    retry_of     TEXT /*pg COLLATE "C" */ NOT NULL DEFAULT '',
    waiting_on   TEXT   NOT NULL DEFAULT '',
    trace_parent TEXT   NOT NULL DEFAULT '',
    created_at   BIGINT NOT NULL,
    deadline     BIGINT NOT NULL,
    started_at   BIGINT NOT NULL DEFAULT 0,
    finished_at  BIGINT NOT NULL DEFAULT 0,
    cancel_requested_at BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX jobs_by_tenant ON jobs (tenant_id, id);
CREATE INDEX jobs_running ON jobs (lane, id) WHERE running > 0;
CREATE INDEX jobs_deadline ON jobs (deadline, id) WHERE queued > 0;
CREATE INDEX jobs_cancelling ON jobs (id) WHERE cancel_requested_at > 0 AND queued > 0;

-- An item's id is its job's id plus n + 1, so a job's items are one range of the primary key.
CREATE TABLE items (
    id           TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    job_id       TEXT /*pg COLLATE "C" */ NOT NULL,
    tenant_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    lane         TEXT   NOT NULL,
    model        TEXT   NOT NULL,
    n            BIGINT NOT NULL,
    custom_id    TEXT   NOT NULL,
    status       TEXT   NOT NULL,
    seq          BIGINT NOT NULL DEFAULT 0,   -- a terminal item is its own event
    input        BYTEA,                       -- sealed; NULL when it lies in a blob
    input_blob   TEXT   NOT NULL DEFAULT '',
    estimate_tokens   BIGINT NOT NULL,
    reserved_nano_usd BIGINT NOT NULL,
    not_before   BIGINT NOT NULL DEFAULT 0,
    deadline     BIGINT NOT NULL,
    process_id   TEXT /*pg COLLATE "C" */ NOT NULL DEFAULT '',
    epoch        BIGINT NOT NULL DEFAULT 0,
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
    finished_at  BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX items_queued   ON items (lane, tenant_id, deadline, id) WHERE status = 'queued';
CREATE INDEX items_running  ON items (process_id, id)     WHERE status = 'running';
CREATE INDEX items_finished ON items (job_id, seq)        WHERE seq > 0;

-- Token-fair claiming: how much a tenant was given in a lane, over its weight. The tenant with the least
-- is next. A tenant that is not active has nothing queued there.
CREATE TABLE shares (
    lane      TEXT /*pg COLLATE "C" */ NOT NULL,
    tenant_id TEXT /*pg COLLATE "C" */ NOT NULL,
    vtime     BIGINT NOT NULL,
    active    BIGINT NOT NULL,
    PRIMARY KEY (lane, tenant_id)
) WITHOUT ROWID;
CREATE INDEX shares_next ON shares (lane, vtime, tenant_id) WHERE active = 1;

CREATE TABLE attempts (
    id          TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    subject_id  TEXT /*pg COLLATE "C" */ NOT NULL,   -- item or request
    tenant_id   TEXT /*pg COLLATE "C" */ NOT NULL,
    number      BIGINT NOT NULL,
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
    finished_at BIGINT NOT NULL
);
CREATE INDEX attempts_by_subject ON attempts (subject_id, number);

-- Events that are not a terminal item: job.queued, job.started, job.finished, deltas.
CREATE TABLE events (
    job_id     TEXT /*pg COLLATE "C" */ NOT NULL,
    seq        BIGINT NOT NULL,
    type       TEXT   NOT NULL,
    item_id    TEXT /*pg COLLATE "C" */ NOT NULL DEFAULT '',
    attempt    BIGINT NOT NULL DEFAULT 0,
    data       BYTEA,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (job_id, seq)
) WITHOUT ROWID;

CREATE TABLE idempotency_keys (
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    key        TEXT /*pg COLLATE "C" */ NOT NULL,
    body_hash  BYTEA  NOT NULL,
    job_id     TEXT /*pg COLLATE "C" */ NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);

-- Append-only. The key says what is booked, so that nothing is booked twice.
CREATE TABLE ledger (
    key           TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    tenant_id     TEXT /*pg COLLATE "C" */ NOT NULL,
    kind          TEXT   NOT NULL,            -- reserve | settle | release | forfeit
    subject_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    job_id        TEXT /*pg COLLATE "C" */ NOT NULL DEFAULT '',
    target        TEXT   NOT NULL DEFAULT '',
    reserved_nano_usd BIGINT NOT NULL,
    cost_nano_usd     BIGINT NOT NULL,
    input_tokens        BIGINT NOT NULL,
    cached_input_tokens BIGINT NOT NULL,
    output_tokens       BIGINT NOT NULL,
    price_version TEXT   NOT NULL DEFAULT '',
    created_at    BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX ledger_by_tenant ON ledger (tenant_id, created_at, key);

CREATE TABLE dead_letters (
    item_id     TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    job_id      TEXT /*pg COLLATE "C" */ NOT NULL,
    tenant_id   TEXT /*pg COLLATE "C" */ NOT NULL,
    model       TEXT   NOT NULL,
    error_code  TEXT   NOT NULL,
    error_kind  TEXT   NOT NULL,
    fingerprint TEXT   NOT NULL,              -- failures with the same cause share it
    created_at  BIGINT NOT NULL,
    resolved_at BIGINT NOT NULL DEFAULT 0,
    resolution  TEXT   NOT NULL DEFAULT ''    -- retried | dismissed
);
CREATE INDEX dead_letters_open ON dead_letters (tenant_id, item_id) WHERE resolved_at = 0;

CREATE TABLE requests (
    id          TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    tenant_id   TEXT /*pg COLLATE "C" */ NOT NULL,
    key_name    TEXT   NOT NULL,
    endpoint    TEXT   NOT NULL,
    model       TEXT   NOT NULL,
    stream      BIGINT NOT NULL,
    status      TEXT   NOT NULL,
    status_code BIGINT NOT NULL,
    error_code  TEXT   NOT NULL,
    error_message TEXT NOT NULL,
    target      TEXT   NOT NULL,
    input_tokens        BIGINT NOT NULL,
    cached_input_tokens BIGINT NOT NULL,
    output_tokens       BIGINT NOT NULL,
    cost_nano_usd       BIGINT NOT NULL,
    started_at     BIGINT NOT NULL,
    first_token_at BIGINT NOT NULL,
    finished_at    BIGINT NOT NULL
);
CREATE INDEX requests_by_tenant ON requests (tenant_id, id);

-- What follows is laid out now, so that later versions only add to it.

-- Which models have work waiting.
CREATE TABLE backlogs (
    lane      TEXT /*pg COLLATE "C" */ NOT NULL,
    model     TEXT /*pg COLLATE "C" */ NOT NULL,
    tenant_id TEXT /*pg COLLATE "C" */ NOT NULL,
    active    BIGINT NOT NULL,
    PRIMARY KEY (lane, model, tenant_id)
) WITHOUT ROWID;

-- Money: settled + held never exceeds a hard limit; a hold belongs to one epoch of one process.
CREATE TABLE budgets (
    id         TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    period     TEXT   NOT NULL,
    limit_nano_usd   BIGINT NOT NULL,
    settled_nano_usd BIGINT NOT NULL DEFAULT 0,
    held_nano_usd    BIGINT NOT NULL DEFAULT 0,
    hard       BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX budgets_by_tenant ON budgets (tenant_id, id);
CREATE TABLE budget_allowances (
    budget_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    process_id TEXT /*pg COLLATE "C" */ NOT NULL,
    epoch      BIGINT NOT NULL,
    amount_nano_usd BIGINT NOT NULL,
    PRIMARY KEY (budget_id, process_id, epoch)
) WITHOUT ROWID;

-- Webhook messages, written in the transaction of the event they announce.
CREATE TABLE outbox (
    id          TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    tenant_id   TEXT /*pg COLLATE "C" */ NOT NULL,
    job_id      TEXT /*pg COLLATE "C" */ NOT NULL,
    seq         BIGINT NOT NULL,
    endpoint_id TEXT   NOT NULL,
    body        BYTEA  NOT NULL,
    attempts    BIGINT NOT NULL DEFAULT 0,
    not_before  BIGINT NOT NULL,
    delivered_at BIGINT NOT NULL DEFAULT 0,
    created_at  BIGINT NOT NULL
);
CREATE INDEX outbox_due ON outbox (not_before, id) WHERE delivered_at = 0;

CREATE TABLE audit (
    id         TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    actor      TEXT   NOT NULL,
    action     TEXT   NOT NULL,
    subject    TEXT   NOT NULL,
    before     TEXT   NOT NULL,
    after      TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX audit_by_tenant ON audit (tenant_id, id);
