-- Files that were uploaded, and artifacts. The content lies in a blob, which is durable before its row is written.
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
    error_count BIGINT NOT NULL,              -- lines that are no good
    errors      TEXT   NOT NULL,              -- the first of them, as JSON
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL               -- 0: kept for as long as files are
);
CREATE INDEX files_by_tenant ON files (tenant_id, id);
CREATE INDEX files_by_age ON files (tenant_id, created_at);
CREATE INDEX files_expiry ON files (tenant_id, expires_at) WHERE expires_at > 0;
CREATE INDEX files_by_blob ON files (blob);
