-- The queue's and the money's tables: one schema for SQLite and PostgreSQL.
--   * Text between /*pg and */ is for PostgreSQL alone; SQLite reads it as a comment. WITHOUT ROWID, which
--     stores the rows of a table in its primary key, is for SQLite alone.
--   * Times are microseconds since 1970 by the database's clock; 0 means "not yet" or "never".
--   * Money is integer nano-dollars. JSON is TEXT. Payloads are sealed by the payload codec.
--   * Ids are bare ULIDs, compared byte by byte.
--   * Large columns come last: SQLite reads a row from its front.

-- Facts about the database itself.
CREATE TABLE facts (
    name  TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    value BYTEA NOT NULL
);

-- ---- Tenants, keys, configuration -------------------------------------------------------------------------

-- Each change of tenants or keys takes the next version and writes it to the rows that it changes. A process that
-- has read everything up to a version reads the rows above it, and If-Match compares it.
CREATE TABLE directory (
    id      BIGINT PRIMARY KEY,                     -- one row: a change locks it until the commit
    version BIGINT NOT NULL
);
INSERT INTO directory (id, version) VALUES (1, 0);

CREATE TABLE tenants (
    id          TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    source      TEXT   NOT NULL,              -- file | api: where it is managed
    weight      BIGINT NOT NULL,
    settings    TEXT   NOT NULL,              -- lanes, region, retention, allowed models; JSON
    tier        TEXT   NOT NULL DEFAULT '',
    enabled     BIGINT NOT NULL DEFAULT 1,
    version     BIGINT NOT NULL DEFAULT 0,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL
);
CREATE INDEX tenants_by_version ON tenants (version, id);

CREATE TABLE api_keys (
    id           TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    tenant_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    name         TEXT   NOT NULL,
    hash         BYTEA  NOT NULL UNIQUE,      -- SHA-256 of the secret, which is shown once and never stored
    prefix       TEXT   NOT NULL,             -- enough of the secret to recognise it
    scopes       TEXT   NOT NULL,
    settings     TEXT   NOT NULL DEFAULT '',  -- limits and budgets that the admin API manages; JSON
    version      BIGINT NOT NULL DEFAULT 0,
    replaced_by  TEXT   NOT NULL DEFAULT '',
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL DEFAULT 0,
    revoked_at   BIGINT NOT NULL DEFAULT 0,
    last_used_at BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX api_keys_by_tenant ON api_keys (tenant_id, id);
CREATE INDEX api_keys_by_version ON api_keys (version, id);

CREATE TABLE config_snapshots (
    hash       TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    body       TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);

-- What operators paused or drain. A row is in force while it exists; resuming deletes it.
CREATE TABLE controls (
    kind       TEXT /*pg COLLATE "C" */ NOT NULL,   -- lane | model | target | tenant
    name       TEXT /*pg COLLATE "C" */ NOT NULL,
    state      TEXT   NOT NULL,                     -- paused | draining
    reason     TEXT   NOT NULL,
    actor      TEXT   NOT NULL,
    since      BIGINT NOT NULL,
    PRIMARY KEY (kind, name)
) WITHOUT ROWID;

-- ---- Processes --------------------------------------------------------------------------------------------

-- A process and its right to everything that it claimed. One row, one heartbeat.
CREATE TABLE leases (
    process_id TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    epoch      BIGINT NOT NULL,               -- grows each time the process takes the lease anew
    expires_at BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    calls      TEXT   NOT NULL DEFAULT '',    -- its open calls to targets that it knows to be paused; JSON
    told_at    BIGINT NOT NULL DEFAULT 0,     -- when it reported them
    state      TEXT   NOT NULL DEFAULT ''     -- whether it works on jobs, and the targets that it may not call; JSON
) WITHOUT ROWID;

-- Upstream capacity that processes share. A pool is an allowance per minute or a number of concurrent permits.
-- Every change of either locks the pool's row.
CREATE TABLE pools (
    name       TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    level      BIGINT NOT NULL DEFAULT 0,     -- in fractions of a unit, see store.Pool
    filled_at  BIGINT NOT NULL DEFAULT 0,     -- the time of level
    rest_until BIGINT NOT NULL DEFAULT 0,     -- no process uses the pool before
    kept       TEXT   NOT NULL DEFAULT ''     -- reserved places and recent users, see store.Kept; JSON
) WITHOUT ROWID;

-- Permits of a pool by process. They count while the process's lease of that epoch lasts.
CREATE TABLE permits (
    pool       TEXT /*pg COLLATE "C" */ NOT NULL,
    process_id TEXT /*pg COLLATE "C" */ NOT NULL,
    epoch      BIGINT NOT NULL,
    permits    BIGINT NOT NULL,
    want       BIGINT NOT NULL,
    PRIMARY KEY (pool, process_id)
) WITHOUT ROWID;

-- ---- Jobs and items ---------------------------------------------------------------------------------------

-- A job's own events are columns of its row: job.queued is number 1, job.finished the last, and started_seq numbers
-- job.started. The claims tell how many of its items wait and run, so a claim does not wait for a finish.
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
    succeeded    BIGINT NOT NULL DEFAULT 0,
    failed       BIGINT NOT NULL DEFAULT 0,
    cancelled    BIGINT NOT NULL DEFAULT 0,
    expired      BIGINT NOT NULL DEFAULT 0,
    input_tokens          BIGINT NOT NULL DEFAULT 0,
    cached_input_tokens   BIGINT NOT NULL DEFAULT 0,
    cache_write_tokens    BIGINT NOT NULL DEFAULT 0, -- a part of the input
    cache_write_1h_tokens BIGINT NOT NULL DEFAULT 0, -- a part of those: the upstream caches them for an hour
    audio_input_tokens    BIGINT NOT NULL DEFAULT 0, -- a part of the input
    output_tokens         BIGINT NOT NULL DEFAULT 0,
    reasoning_tokens      BIGINT NOT NULL DEFAULT 0, -- a part of the output
    audio_output_tokens   BIGINT NOT NULL DEFAULT 0, -- a part of the output
    cost_nano_usd         BIGINT NOT NULL DEFAULT 0,
    seq          BIGINT NOT NULL,             -- number of the newest event; grows under this row's lock
    started_seq  BIGINT NOT NULL DEFAULT 0,
    started_items BIGINT NOT NULL DEFAULT 0,  -- items of its first claim, for job.started
    progress_at  BIGINT NOT NULL DEFAULT 0,   -- time of its last job.progress
    stream       TEXT   NOT NULL DEFAULT '',  -- how running answers are shown: '' not at all | text | wire (the endpoint's dialect)
    log          TEXT   NOT NULL DEFAULT '',  -- its rows in events: '' none | kept | purging | purged
    max_attempts BIGINT NOT NULL,
    item_timeout BIGINT NOT NULL,             -- microseconds
    resolved     TEXT   NOT NULL,
    budgets      TEXT   NOT NULL DEFAULT '',  -- ids of the budgets that pay for it, one after the other
    retry_of     TEXT /*pg COLLATE "C" */ NOT NULL DEFAULT '',
    call_model   TEXT   NOT NULL DEFAULT '',  -- of a synchronous call that runs as a job: the model it was resolved to
    waiting_on   TEXT   NOT NULL DEFAULT '',
    trace_parent TEXT   NOT NULL DEFAULT '',
    queue_mark   BIGINT NOT NULL DEFAULT 0,   -- the backlog's drained_tokens at which its first item is due
    queue_tokens BIGINT NOT NULL DEFAULT 0,   -- of all its items
    promised_at  BIGINT NOT NULL DEFAULT 0,   -- the finish time that its caller was given
    stored_bytes BIGINT NOT NULL DEFAULT 0,   -- of its inputs and results, uncompressed
    file_id      TEXT   NOT NULL DEFAULT '',  -- its items are the lines of this file
    split        BIGINT NOT NULL DEFAULT 0,   -- the number of items that were made of the file so far
    split_after  BIGINT NOT NULL DEFAULT 0,   -- a job that waits on its budget is tried again from then on
    swept        BIGINT NOT NULL DEFAULT 0,   -- 1 once every item that was queued past the end is ended
    created_at   BIGINT NOT NULL,
    deadline     BIGINT NOT NULL,
    started_at   BIGINT NOT NULL DEFAULT 0,
    finished_at  BIGINT NOT NULL DEFAULT 0,
    cancel_requested_at BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX jobs_by_tenant  ON jobs (tenant_id, id);
CREATE INDEX jobs_deadline   ON jobs (deadline, id) WHERE finished_at = 0 AND swept = 0;
CREATE INDEX jobs_cancelling ON jobs (id) WHERE cancel_requested_at > 0 AND finished_at = 0 AND swept = 0;
CREATE INDEX jobs_finished   ON jobs (tenant_id, finished_at) WHERE finished_at > 0;
CREATE INDEX jobs_by_log     ON jobs (tenant_id, finished_at) WHERE log IN ('kept', 'purging') AND finished_at > 0;
CREATE INDEX jobs_unsplit    ON jobs (id) WHERE split < total AND finished_at = 0;
CREATE INDEX jobs_open_calls ON jobs (tenant_id, key_name) WHERE call_model <> '' AND finished_at = 0;

-- Items are accepted, wait and are claimed together, so they are stored together: an input group holds the inputs of a
-- job's consecutive items and never changes. Input groups and result groups are large, and SQLite compares the keys of a
-- WITHOUT ROWID table in its whole rows, so these two have an index for their key.
CREATE TABLE input_groups (
    job_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    first_n BIGINT NOT NULL,
    facts   BYTEA  NOT NULL,                  -- of each item: custom id, bounds, where its input lies
    inputs  BYTEA  NOT NULL,                  -- each sealed by itself, one after the other
    PRIMARY KEY (job_id, first_n)
);
/*pg ALTER TABLE input_groups ALTER COLUMN inputs SET STORAGE EXTERNAL */;

-- Inputs that are too large for an input group. A blob that neither this table nor an item names is an orphan.
CREATE TABLE input_blobs (
    name   TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    job_id TEXT /*pg COLLATE "C" */ NOT NULL
) WITHOUT ROWID;

-- An item has a row of its own once something sets it apart from its group. Its id is its job's id plus n + 1, so a
-- job's items are one range of the primary key. The job holds what all of its items share.
CREATE TABLE items (
    id           TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    job_id       TEXT /*pg COLLATE "C" */ NOT NULL,
    tenant_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    n            BIGINT NOT NULL,
    custom_id    TEXT   NOT NULL,
    status       TEXT   NOT NULL,
    seq          BIGINT NOT NULL DEFAULT 0,   -- a terminal item is its own event
    input_blob   TEXT   NOT NULL DEFAULT '',
    result_blob  TEXT   NOT NULL DEFAULT '',
    estimate_tokens   BIGINT NOT NULL,
    input_bytes       BIGINT NOT NULL,
    reserved_nano_usd BIGINT NOT NULL,
    not_before   BIGINT NOT NULL DEFAULT 0,
    parked       BIGINT NOT NULL DEFAULT 0,   -- 1 while it is queued and waits for not_before
    claim_id     TEXT   NOT NULL DEFAULT '',  -- the claim under which it runs, or ran last
    fence        BIGINT NOT NULL DEFAULT 0,   -- +1 per claim; a holder with an older one cannot write
    tries        BIGINT NOT NULL DEFAULT 0,   -- attempts recorded
    attempts     BIGINT NOT NULL DEFAULT 0,   -- attempts that count against max_attempts
    crashes      BIGINT NOT NULL DEFAULT 0,   -- workers that died while they held it
    child_deaths BIGINT NOT NULL DEFAULT 0,   -- child processes that died while they ran it alone
    target       TEXT   NOT NULL DEFAULT '',
    status_code  BIGINT NOT NULL DEFAULT 0,
    error_code   TEXT   NOT NULL DEFAULT '',
    error_message TEXT  NOT NULL DEFAULT '',
    input_tokens          BIGINT NOT NULL DEFAULT 0,
    cached_input_tokens   BIGINT NOT NULL DEFAULT 0,
    cache_write_tokens    BIGINT NOT NULL DEFAULT 0,
    cache_write_1h_tokens BIGINT NOT NULL DEFAULT 0,
    audio_input_tokens    BIGINT NOT NULL DEFAULT 0,
    output_tokens         BIGINT NOT NULL DEFAULT 0,
    reasoning_tokens      BIGINT NOT NULL DEFAULT 0,
    audio_output_tokens   BIGINT NOT NULL DEFAULT 0,
    cost_nano_usd         BIGINT NOT NULL DEFAULT 0,
    price_version TEXT  NOT NULL DEFAULT '',
    finished_at  BIGINT NOT NULL DEFAULT 0,
    last_attempt TEXT   NOT NULL DEFAULT '',  -- the attempt that ended it, as JSON: most items have no other
    input        BYTEA,                       -- sealed; NULL when it lies in a blob or an input group
    result       BYTEA                        -- sealed; NULL when there is none or it lies in a blob
);
CREATE INDEX items_queued      ON items (job_id, n) WHERE status = 'queued';
CREATE INDEX items_input_blob  ON items (input_blob) WHERE input_blob <> '';
CREATE INDEX items_result_blob ON items (result_blob) WHERE result_blob <> '';

-- Items that succeed at their first attempt end together, so they are stored together: a result group holds their
-- results and never changes. Other items end in rows of items.
CREATE TABLE result_groups (
    job_id      TEXT /*pg COLLATE "C" */ NOT NULL,
    last_seq    BIGINT NOT NULL,              -- event number of the last item; their numbers are consecutive
    tenant_id   TEXT /*pg COLLATE "C" */ NOT NULL,
    min_n       BIGINT NOT NULL,              -- the indexes of the items lie between min_n and max_n
    max_n       BIGINT NOT NULL,
    items       BIGINT NOT NULL,              -- the number of items
    finished_at BIGINT NOT NULL,
    reserved_nano_usd     BIGINT NOT NULL,    -- this and the following: sums over the items
    cost_nano_usd         BIGINT NOT NULL,
    input_tokens          BIGINT NOT NULL,
    cached_input_tokens   BIGINT NOT NULL,
    cache_write_tokens    BIGINT NOT NULL,
    cache_write_1h_tokens BIGINT NOT NULL DEFAULT 0,
    audio_input_tokens    BIGINT NOT NULL DEFAULT 0,
    output_tokens         BIGINT NOT NULL,
    reasoning_tokens      BIGINT NOT NULL,
    audio_output_tokens   BIGINT NOT NULL DEFAULT 0,
    facts       BYTEA  NOT NULL,              -- of each item: everything but its result, and the attempt that ended it
    results     BYTEA  NOT NULL,              -- each sealed by itself, one after the other
    PRIMARY KEY (job_id, last_seq)
);
CREATE INDEX result_groups_by_n ON result_groups (job_id, max_n);
/*pg ALTER TABLE result_groups ALTER COLUMN facts SET STORAGE EXTERNAL */;
/*pg ALTER TABLE result_groups ALTER COLUMN results SET STORAGE EXTERNAL */;

-- The order in which the items of a large job ended: one row per transaction. Those of a small job are sorted when they
-- are read.
CREATE TABLE endings (
    job_id   TEXT /*pg COLLATE "C" */ NOT NULL,
    last_seq BIGINT NOT NULL,
    items    TEXT   NOT NULL,                 -- their indexes, as JSON; their event numbers are consecutive
    PRIMARY KEY (job_id, last_seq)
) WITHOUT ROWID;

-- Attempts, but for the one that ended an item.
CREATE TABLE attempts (
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
    input_tokens          BIGINT NOT NULL,
    cached_input_tokens   BIGINT NOT NULL,
    cache_write_tokens    BIGINT NOT NULL DEFAULT 0,
    cache_write_1h_tokens BIGINT NOT NULL DEFAULT 0,
    audio_input_tokens    BIGINT NOT NULL DEFAULT 0,
    output_tokens         BIGINT NOT NULL,
    reasoning_tokens      BIGINT NOT NULL DEFAULT 0,
    audio_output_tokens   BIGINT NOT NULL DEFAULT 0,
    usage_known BIGINT NOT NULL,
    cost_nano_usd BIGINT NOT NULL,
    price_version TEXT NOT NULL DEFAULT '',   -- of the price at the time of the attempt
    isolated    BIGINT NOT NULL DEFAULT 0,    -- 1 if a child process ran it alone
    started_at  BIGINT NOT NULL,
    first_token_at BIGINT NOT NULL,
    finished_at BIGINT NOT NULL,
    PRIMARY KEY (subject_id, number)
) WITHOUT ROWID;

-- Events that neither a job's nor an item's row tells: deltas and progress.
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

-- ---- The queue --------------------------------------------------------------------------------------------

-- Items that can start, as ranges of a job's items. A claim takes from their front.
CREATE TABLE ready (
    lane      TEXT /*pg COLLATE "C" */ NOT NULL,
    tenant_id TEXT /*pg COLLATE "C" */ NOT NULL,
    model     TEXT /*pg COLLATE "C" */ NOT NULL,
    deadline  BIGINT NOT NULL,
    job_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    last_n    BIGINT NOT NULL,
    first_n   BIGINT NOT NULL,                -- of the items that are left
    input_group_n BIGINT NOT NULL,            -- first item of their input group
    item_id   TEXT /*pg COLLATE "C" */ NOT NULL, -- of one item that has a row of its own, or ''
    estimate_tokens BIGINT NOT NULL,          -- of one item; the input group tells those of several
    input_bytes     BIGINT NOT NULL,
    PRIMARY KEY (lane, tenant_id, model, deadline, job_id, last_n)
) WITHOUT ROWID /*pg WITH (fillfactor = 70) */;

-- Items that wait for their next attempt, apart from those that can start, so that no claim reads them in vain.
CREATE TABLE parked (
    not_before BIGINT NOT NULL,
    item_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    PRIMARY KEY (not_before, item_id)
) WITHOUT ROWID;

-- Items that were in flight in several crashes. They run in child processes of a worker, one at a time, and only the
-- death of such a child counts against them.
CREATE TABLE suspects (
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    urgency    BIGINT NOT NULL,               -- of the lane, 0 for the most urgent
    deadline   BIGINT NOT NULL,
    item_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    not_before BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, urgency, deadline, item_id)
) WITHOUT ROWID;

-- The items that a process took of one job at once. The sum over a job's claims is the number of its running items.
-- There are as many claims as items run, so a heartbeat reads all of them to find its own: an index by process would cost
-- every claim a page of its commit.
CREATE TABLE claims (
    id         TEXT /*pg COLLATE "C" */ NOT NULL,
    job_id     TEXT /*pg COLLATE "C" */ NOT NULL,
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    process_id TEXT /*pg COLLATE "C" */ NOT NULL,
    epoch      BIGINT NOT NULL,
    open       BIGINT NOT NULL,               -- items that still run; at 0 the row is deleted
    items      TEXT   NOT NULL,               -- their indexes, as JSON
    ended      BIGINT NOT NULL DEFAULT 0,     -- a bit per item of the list that ended and has no row
    targets    TEXT   NOT NULL DEFAULT '',    -- where capacity was taken for them: one name for all, or a JSON list
    PRIMARY KEY (job_id, id)
) WITHOUT ROWID /*pg WITH (fillfactor = 50) */;

-- Queue depth, so that nobody has to count it: the models that a claim may look at, how deep a tenant's queue is, and how
-- long it takes. The drain rate is the difference between two readings of drained_*: a claim adds to them, an item that
-- returns to the queue subtracts.
CREATE TABLE backlogs (
    lane      TEXT /*pg COLLATE "C" */ NOT NULL,
    tenant_id TEXT /*pg COLLATE "C" */ NOT NULL,
    model     TEXT /*pg COLLATE "C" */ NOT NULL,
    ready     BIGINT NOT NULL,                -- items that can start
    parked    BIGINT NOT NULL,                -- items that wait for not_before
    tokens    BIGINT NOT NULL,                -- upper bound of both
    bytes     BIGINT NOT NULL,                -- of their inputs
    drained_items  BIGINT NOT NULL DEFAULT 0,
    drained_tokens BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (lane, tenant_id, model)
) WITHOUT ROWID /*pg WITH (fillfactor = 50) */;

-- Token-fair claiming: the tokens that a tenant was given in a lane, over its weight. The tenant with the least is next.
-- A tenant that is not active has nothing queued there.
CREATE TABLE shares (
    lane      TEXT /*pg COLLATE "C" */ NOT NULL,
    tenant_id TEXT /*pg COLLATE "C" */ NOT NULL,
    vtime     BIGINT NOT NULL,
    active    BIGINT NOT NULL,
    PRIMARY KEY (lane, tenant_id)
) WITHOUT ROWID;
CREATE INDEX shares_next ON shares (lane, vtime, tenant_id) WHERE active = 1;

-- Failed items that wait for a decision.
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

-- ---- Files and batches ------------------------------------------------------------------------------------

-- Uploaded files and artifacts. The content lies in a blob, which is durable before its row is written.
CREATE TABLE files (
    id          TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    tenant_id   TEXT /*pg COLLATE "C" */ NOT NULL,
    key_name    TEXT   NOT NULL,
    purpose     TEXT   NOT NULL,
    name        TEXT   NOT NULL,
    bytes       BIGINT NOT NULL,              -- of the content
    blob        TEXT /*pg COLLATE "C" */ NOT NULL,
    blob_bytes  BIGINT NOT NULL,
    index_at    BIGINT NOT NULL,              -- where in the blob its index begins
    lines       BIGINT NOT NULL,
    tokens      BIGINT NOT NULL,              -- upper bound of the input of all lines
    endpoint    TEXT   NOT NULL,
    error_count BIGINT NOT NULL,              -- invalid lines
    errors      TEXT   NOT NULL,              -- the first of them, as JSON
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL               -- 0: the retention of files applies
);
CREATE INDEX files_by_tenant ON files (tenant_id, id);
CREATE INDEX files_by_age    ON files (tenant_id, created_at);
CREATE INDEX files_expiry    ON files (tenant_id, expires_at) WHERE expires_at > 0;
CREATE INDEX files_by_blob   ON files (blob);

-- What a job over a file, or one that a batch endpoint submitted, has beside other jobs. A batch that was refused has no
-- job: its row says why.
CREATE TABLE batches (
    job_id      TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    tenant_id   TEXT /*pg COLLATE "C" */ NOT NULL,
    kind        TEXT   NOT NULL,              -- the API: native | openai | anthropic
    file_id     TEXT /*pg COLLATE "C" */ NOT NULL,
    endpoint    TEXT   NOT NULL,
    defaults    BYTEA,                        -- sealed; NULL for none
    metadata    TEXT   NOT NULL,              -- as JSON
    errors      TEXT   NOT NULL,              -- why it was refused, as JSON
    parts       TEXT   NOT NULL DEFAULT '[]', -- ids of further jobs: a job is for one model, a batch may name several; JSON
    output_life BIGINT NOT NULL,              -- how long its files are kept, in microseconds; 0: the retention of files applies
    output_file TEXT   NOT NULL DEFAULT '',
    error_file  TEXT   NOT NULL DEFAULT '',
    finisher    TEXT   NOT NULL DEFAULT '',   -- the process that writes its files
    finisher_until BIGINT NOT NULL DEFAULT 0, -- until when other processes leave it alone
    created_at  BIGINT NOT NULL,
    done_at     BIGINT NOT NULL DEFAULT 0     -- when its files were written and nothing was left to do
) WITHOUT ROWID;
CREATE INDEX batches_by_kind ON batches (tenant_id, kind, job_id);
CREATE INDEX batches_open    ON batches (job_id) WHERE done_at = 0;
CREATE INDEX batches_refused ON batches (tenant_id, created_at) WHERE errors <> '[]';

-- ---- Synchronous calls ------------------------------------------------------------------------------------

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
    input_tokens          BIGINT NOT NULL,
    cached_input_tokens   BIGINT NOT NULL,
    cache_write_tokens    BIGINT NOT NULL DEFAULT 0,
    cache_write_1h_tokens BIGINT NOT NULL DEFAULT 0,
    audio_input_tokens    BIGINT NOT NULL DEFAULT 0,
    output_tokens         BIGINT NOT NULL,
    reasoning_tokens      BIGINT NOT NULL DEFAULT 0,
    audio_output_tokens   BIGINT NOT NULL DEFAULT 0,
    cost_nano_usd         BIGINT NOT NULL,
    started_at     BIGINT NOT NULL,
    first_token_at BIGINT NOT NULL,
    finished_at    BIGINT NOT NULL
);
CREATE INDEX requests_by_tenant ON requests (tenant_id, id);

-- ---- Money ------------------------------------------------------------------------------------------------

-- Append-only. The key names what is booked, so that nothing is booked twice. A terminal item is its own settlement; an
-- entry adds up those of a job that were committed together.
CREATE TABLE ledger (
    key           TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    tenant_id     TEXT /*pg COLLATE "C" */ NOT NULL,
    kind          TEXT   NOT NULL,            -- reserve | settle | release | forfeit
    subject_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    job_id        TEXT /*pg COLLATE "C" */ NOT NULL DEFAULT '',
    target        TEXT   NOT NULL DEFAULT '',
    outcomes      BIGINT NOT NULL DEFAULT 0,  -- how many outcomes it settles
    reserved_nano_usd BIGINT NOT NULL,
    cost_nano_usd     BIGINT NOT NULL,
    input_tokens          BIGINT NOT NULL,
    cached_input_tokens   BIGINT NOT NULL,
    cache_write_tokens    BIGINT NOT NULL DEFAULT 0,
    cache_write_1h_tokens BIGINT NOT NULL DEFAULT 0,
    audio_input_tokens    BIGINT NOT NULL DEFAULT 0,
    output_tokens         BIGINT NOT NULL,
    reasoning_tokens      BIGINT NOT NULL DEFAULT 0,
    audio_output_tokens   BIGINT NOT NULL DEFAULT 0,
    price_version TEXT   NOT NULL DEFAULT '',
    budgets       TEXT   NOT NULL DEFAULT '', -- ids of the budgets that it counts against, one after the other
    key_name      TEXT   NOT NULL DEFAULT '', -- this and the following: what usage reports group by
    model         TEXT   NOT NULL DEFAULT '',
    lane          TEXT   NOT NULL DEFAULT '',
    tags          TEXT   NOT NULL DEFAULT '{}',
    created_at    BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX ledger_spent ON ledger (tenant_id, created_at) WHERE kind <> 'reserve';

-- A budget in one of its periods: settled + held never exceeds a hard limit. Its id is made of its names, so that a
-- process that draws on it knows it.
CREATE TABLE budgets (
    id         TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    key_name   TEXT   NOT NULL DEFAULT '',
    model      TEXT   NOT NULL DEFAULT '',
    period     TEXT   NOT NULL,
    starts_at  BIGINT NOT NULL DEFAULT 0,
    limit_nano_usd   BIGINT NOT NULL,
    settled_nano_usd BIGINT NOT NULL DEFAULT 0,
    held_nano_usd    BIGINT NOT NULL DEFAULT 0,
    hard       BIGINT NOT NULL,
    exceeded_at BIGINT NOT NULL DEFAULT 0,    -- when the event was written that a soft budget is used up
    created_at BIGINT NOT NULL
);
CREATE INDEX budgets_by_tenant ON budgets (tenant_id, id);

-- The part of a budget that a process spends on its own. It belongs to one epoch of the process.
CREATE TABLE budget_allowances (
    budget_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    process_id TEXT /*pg COLLATE "C" */ NOT NULL,
    epoch      BIGINT NOT NULL,
    tenant_id  TEXT   NOT NULL DEFAULT '',
    amount_nano_usd BIGINT NOT NULL,
    returns    BIGINT NOT NULL DEFAULT 0,     -- number of the last return
    PRIMARY KEY (budget_id, process_id, epoch)
) WITHOUT ROWID;
CREATE INDEX budget_allowances_by_process ON budget_allowances (process_id, epoch);

-- ---- Retention --------------------------------------------------------------------------------------------

-- Large jobs that were deleted. Their row is gone; their items are removed in steps.
CREATE TABLE deleted_jobs (
    job_id    TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    tenant_id TEXT /*pg COLLATE "C" */ NOT NULL,
    total     BIGINT NOT NULL,
    next      BIGINT NOT NULL             -- n of the first item that is still there
) WITHOUT ROWID;

-- The ledger keeps the settlements of deleted subjects. This is their number and their sum, so that the books can still
-- be checked.
CREATE TABLE forgotten (
    tenant_id     TEXT /*pg COLLATE "C" */ NOT NULL,
    kind          TEXT /*pg COLLATE "C" */ NOT NULL,   -- item | request
    subjects      BIGINT NOT NULL,
    cost_nano_usd BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, kind)
) WITHOUT ROWID;

-- The bytes that tenants store, so that nobody has to count them. A tenant's sums are divided into stripes, so that its
-- jobs do not wait for each other.
CREATE TABLE stored (
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    stripe     BIGINT NOT NULL,
    job_bytes  BIGINT NOT NULL,
    file_bytes BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, stripe)
) WITHOUT ROWID /*pg WITH (fillfactor = 50) */;
