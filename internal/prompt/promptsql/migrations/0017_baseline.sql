-- Prompts. Their counters only grow, so that no number and no ETag comes back.
CREATE TABLE prompts (
    tenant_id      TEXT /*pg COLLATE "C" */ NOT NULL,
    name           TEXT /*pg COLLATE "C" */ NOT NULL,
    id             TEXT /*pg COLLATE "C" */ NOT NULL,
    kind           TEXT   NOT NULL,
    last_version   BIGINT NOT NULL DEFAULT 0,          -- the highest number that was given
    latest         BIGINT NOT NULL DEFAULT 0,          -- the newest version that was not deleted
    versions       BIGINT NOT NULL DEFAULT 0,          -- how many were not deleted
    deleted        BIGINT NOT NULL DEFAULT 0,          -- how many were deleted
    moves          BIGINT NOT NULL DEFAULT 0,          -- entries in the history of labels
    drafts         BIGINT NOT NULL DEFAULT 0,          -- the highest revision of a draft
    changes        BIGINT NOT NULL DEFAULT 0,          -- of versions, labels and the archive: what caches compare
    created_by     TEXT   NOT NULL,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL,
    archived_at    BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, name)
) WITHOUT ROWID;
CREATE UNIQUE INDEX prompts_by_id ON prompts (id);

CREATE TABLE prompt_drafts (
    tenant_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    prompt_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    revision     BIGINT NOT NULL,
    base_version BIGINT NOT NULL,
    content      BYTEA  NOT NULL,                      -- sealed
    bytes        BIGINT NOT NULL,
    updated_by   TEXT   NOT NULL,
    updated_at   BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, prompt_id)
);

-- Versions. A deleted version keeps its row, without content.
CREATE TABLE prompt_versions (
    tenant_id   TEXT /*pg COLLATE "C" */ NOT NULL,
    prompt_id   TEXT /*pg COLLATE "C" */ NOT NULL,
    n           BIGINT NOT NULL,
    sha256      TEXT /*pg COLLATE "C" */ NOT NULL,
    parent      BIGINT NOT NULL,
    author_id   TEXT   NOT NULL,
    author      TEXT   NOT NULL,
    message     TEXT   NOT NULL,
    content     BYTEA  NOT NULL,                       -- sealed
    bytes       BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    deleted_at  BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, prompt_id, n)
);
CREATE UNIQUE INDEX prompt_versions_by_hash ON prompt_versions (tenant_id, prompt_id, sha256) WHERE deleted_at = 0;

-- The exact versions that a version includes.
CREATE TABLE prompt_references (
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    prompt_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    n          BIGINT NOT NULL,
    written    TEXT /*pg COLLATE "C" */ NOT NULL,      -- as in the template
    to_prompt  TEXT /*pg COLLATE "C" */ NOT NULL,
    to_n       BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, prompt_id, n, written)
) WITHOUT ROWID;
CREATE INDEX prompt_references_by_target ON prompt_references (tenant_id, to_prompt, to_n);

CREATE TABLE prompt_labels (
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    prompt_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    label      TEXT /*pg COLLATE "C" */ NOT NULL,
    version    BIGINT NOT NULL,
    revision   BIGINT NOT NULL,                        -- the number of the move
    updated_by TEXT   NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, prompt_id, label)
) WITHOUT ROWID;
CREATE INDEX prompt_labels_by_prompt ON prompt_labels (prompt_id);

CREATE TABLE prompt_label_moves (
    tenant_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    prompt_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    seq          BIGINT NOT NULL,
    label        TEXT /*pg COLLATE "C" */ NOT NULL,
    from_version BIGINT NOT NULL,                      -- 0: there was none
    to_version   BIGINT NOT NULL,                      -- 0: the label was removed
    moved_by     TEXT   NOT NULL,
    approved_by  TEXT   NOT NULL,
    reason       TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, prompt_id, seq)
) WITHOUT ROWID;

-- Requests to move protected labels.
CREATE TABLE prompt_label_requests (
    tenant_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    prompt_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    id           TEXT /*pg COLLATE "C" */ NOT NULL,
    label        TEXT /*pg COLLATE "C" */ NOT NULL,
    version      BIGINT NOT NULL,
    from_version BIGINT NOT NULL,
    revision     BIGINT NOT NULL,                      -- of the label at the time, 0 for none
    reason       TEXT   NOT NULL,
    state        TEXT /*pg COLLATE "C" */ NOT NULL,
    author_id    TEXT   NOT NULL,
    author       TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    decided_by   TEXT   NOT NULL DEFAULT '',
    decided_at   BIGINT NOT NULL DEFAULT 0,
    note         TEXT   NOT NULL DEFAULT '',
    PRIMARY KEY (tenant_id, prompt_id, id)
) WITHOUT ROWID;

-- Labels that not everybody may move, by tenant.
CREATE TABLE prompt_protections (
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    label      TEXT /*pg COLLATE "C" */ NOT NULL,
    prompts    TEXT   NOT NULL,                        -- JSON
    roles      TEXT   NOT NULL,                        -- JSON
    approval   BIGINT NOT NULL,
    revision   BIGINT NOT NULL,
    updated_by TEXT   NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, label)
) WITHOUT ROWID;
