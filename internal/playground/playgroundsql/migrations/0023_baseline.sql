-- Runs of the playground. A run is owned by the lease of one process while it runs; revision and seq only grow.
CREATE TABLE playground_runs (
    tenant_id   TEXT /*pg COLLATE "C" */ NOT NULL,
    id          TEXT /*pg COLLATE "C" */ NOT NULL,
    author_id   TEXT /*pg COLLATE "C" */ NOT NULL,
    author      TEXT   NOT NULL,
    name        TEXT   NOT NULL,                       -- "" for none
    words       TEXT   NOT NULL,                       -- name, prompts and models in lower case, for searches
    prompts     TEXT   NOT NULL,                       -- JSON
    models      TEXT   NOT NULL,                       -- JSON
    state       TEXT /*pg COLLATE "C" */ NOT NULL,
    process_id  TEXT /*pg COLLATE "C" */ NOT NULL,     -- the owner of a running run, "" otherwise
    epoch       BIGINT NOT NULL,
    revision    BIGINT NOT NULL,                       -- of the name, for conditional changes
    seq         BIGINT NOT NULL,                       -- the number of the last change of a cell
    stops       TEXT   NOT NULL DEFAULT '',            -- columns that other processes asked to stop, with commas; * for all
    queued      BIGINT NOT NULL,
    running     BIGINT NOT NULL,
    succeeded   BIGINT NOT NULL,
    failed      BIGINT NOT NULL,
    stopped     BIGINT NOT NULL,
    interrupted BIGINT NOT NULL,
    cost        BIGINT NOT NULL,
    setup       BYTEA  NOT NULL,                       -- sealed
    bytes       BIGINT NOT NULL,                       -- of all that belongs to the run, before compression
    created_at  BIGINT NOT NULL,
    finished_at BIGINT NOT NULL DEFAULT 0,             -- 0 while it runs
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX playground_runs_by_author ON playground_runs (tenant_id, author_id, id);
CREATE INDEX playground_runs_running ON playground_runs (process_id, epoch) WHERE state = 'running';

-- The rendered body of the calls of one column and row. All trials share it.
CREATE TABLE playground_inputs (
    tenant_id TEXT /*pg COLLATE "C" */ NOT NULL,
    run_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    col       BIGINT NOT NULL,
    line      BIGINT NOT NULL,
    body      BYTEA  NOT NULL,                         -- sealed
    PRIMARY KEY (tenant_id, run_id, col, line)
);

CREATE TABLE playground_cells (
    tenant_id      TEXT /*pg COLLATE "C" */ NOT NULL,
    run_id         TEXT /*pg COLLATE "C" */ NOT NULL,
    n              BIGINT NOT NULL,
    col            BIGINT NOT NULL,
    line           BIGINT NOT NULL,
    trial          BIGINT NOT NULL,
    state          TEXT /*pg COLLATE "C" */ NOT NULL,
    attempt        BIGINT NOT NULL,                    -- grows when the cell runs again
    seq            BIGINT NOT NULL,                    -- of the last change
    prompt         TEXT   NOT NULL,                    -- "" for an inline content
    prompt_version BIGINT NOT NULL,                    -- 0 for a draft
    prompt_sha256  TEXT   NOT NULL,
    model          TEXT   NOT NULL,
    target         TEXT   NOT NULL DEFAULT '',
    request_ids    TEXT   NOT NULL DEFAULT '',         -- with commas
    schema_valid   BIGINT NOT NULL DEFAULT 0,          -- 1 valid, -1 invalid, 0 not checked
    first_token_us BIGINT NOT NULL DEFAULT 0,
    duration_us    BIGINT NOT NULL DEFAULT 0,
    input_tokens   BIGINT NOT NULL DEFAULT 0,
    output_tokens  BIGINT NOT NULL DEFAULT 0,
    cost           BIGINT NOT NULL DEFAULT 0,
    result         BYTEA  NOT NULL,                    -- sealed; empty while the cell has only chunks
    bytes          BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, run_id, n)
);

-- Output of cells that have not ended, or whose process died.
CREATE TABLE playground_chunks (
    tenant_id TEXT /*pg COLLATE "C" */ NOT NULL,
    run_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    n         BIGINT NOT NULL,
    seq       BIGINT NOT NULL,
    body      BYTEA  NOT NULL,                         -- sealed
    PRIMARY KEY (tenant_id, run_id, n, seq)
);

-- One mark per person and cell.
CREATE TABLE playground_marks (
    tenant_id TEXT /*pg COLLATE "C" */ NOT NULL,
    run_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    n         BIGINT NOT NULL,
    author_id TEXT /*pg COLLATE "C" */ NOT NULL,
    author    TEXT   NOT NULL,
    rating    BIGINT NOT NULL,                         -- 1, -1, or 0 for none
    body      BYTEA  NOT NULL,                         -- sealed
    bytes     BIGINT NOT NULL,
    marked_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, run_id, n, author_id)
);

CREATE TABLE playground_shares (
    tenant_id     TEXT /*pg COLLATE "C" */ NOT NULL,
    id            TEXT /*pg COLLATE "C" */ NOT NULL,
    run_id        TEXT /*pg COLLATE "C" */ NOT NULL,
    kind          TEXT /*pg COLLATE "C" */ NOT NULL,   -- role | snapshot
    role          TEXT /*pg COLLATE "C" */ NOT NULL,   -- "" for a snapshot
    created_by_id TEXT   NOT NULL,
    created_by    TEXT   NOT NULL,
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL,                     -- 0: never
    body          BYTEA  NOT NULL,                     -- of a snapshot, sealed; empty otherwise
    bytes         BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX playground_shares_by_run ON playground_shares (tenant_id, run_id, kind);
CREATE INDEX playground_shares_expiring ON playground_shares (expires_at) WHERE expires_at > 0;
