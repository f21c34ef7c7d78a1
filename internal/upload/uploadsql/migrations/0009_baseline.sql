-- Files that are uploaded in parts, until they are complete.
CREATE TABLE uploads (
    id         TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    key_name   TEXT   NOT NULL,
    file_id    TEXT /*pg COLLATE "C" */ NOT NULL,      -- of the file that it becomes
    name       TEXT   NOT NULL,
    purpose    TEXT   NOT NULL,
    bytes      BIGINT NOT NULL,                        -- of the file, as announced
    file_life  BIGINT NOT NULL,                        -- how long the file is kept, 0 for as long as files are
    status     TEXT   NOT NULL,                        -- pending | completed | cancelled
    chosen     TEXT   NOT NULL DEFAULT '',             -- hash of the parts that a completion has begun with
    parts      BIGINT NOT NULL DEFAULT 0,
    part_bytes BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX uploads_by_age ON uploads (tenant_id, expires_at, id);

CREATE TABLE upload_parts (
    id         TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    upload_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    bytes      BIGINT NOT NULL,
    blob       TEXT   NOT NULL,
    blob_bytes BIGINT NOT NULL,
    index_at   BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX upload_parts_by_upload ON upload_parts (upload_id, id);
