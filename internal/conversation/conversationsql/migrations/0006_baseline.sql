-- Responses of synchronous calls that are kept, each with all that its model was given.
CREATE TABLE responses (
    id              TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    tenant_id       TEXT /*pg COLLATE "C" */ NOT NULL,
    input           BYTEA  NOT NULL,                   -- sealed
    object          BYTEA  NOT NULL,                   -- sealed
    bytes           BIGINT NOT NULL,                   -- before compression
    created_at      BIGINT NOT NULL
);
CREATE INDEX responses_by_tenant ON responses (tenant_id, id);

-- The output items of kept responses, by their ids. An id that a second response repeats names the item of that one.
CREATE TABLE response_items (
    tenant_id   TEXT /*pg COLLATE "C" */ NOT NULL,
    id          TEXT /*pg COLLATE "C" */ NOT NULL,
    response_id TEXT /*pg COLLATE "C" */ NOT NULL,
    position    BIGINT NOT NULL,                       -- in the output
    PRIMARY KEY (tenant_id, id)
) WITHOUT ROWID;
CREATE INDEX response_items_by_response ON response_items (response_id);

CREATE TABLE conversations (
    id         TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    metadata   TEXT   NOT NULL,                        -- JSON
    next_seq   BIGINT NOT NULL DEFAULT 0,              -- of its items
    items      BIGINT NOT NULL DEFAULT 0,              -- how many it has
    bytes      BIGINT NOT NULL DEFAULT 0,              -- of its items, before compression
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL                         -- when the last item was added, or the metadata changed
);
CREATE INDEX conversations_by_age ON conversations (tenant_id, updated_at, id);

CREATE TABLE conversation_items (
    conversation_id TEXT /*pg COLLATE "C" */ NOT NULL,
    seq             BIGINT NOT NULL,                   -- its place
    tenant_id       TEXT /*pg COLLATE "C" */ NOT NULL,
    id              TEXT /*pg COLLATE "C" */ NOT NULL,
    body            BYTEA  NOT NULL,                   -- sealed
    bytes           BIGINT NOT NULL,
    PRIMARY KEY (conversation_id, seq)
);
CREATE INDEX conversation_items_by_id ON conversation_items (tenant_id, id);
