-- Texts that tenants wrote down.
CREATE TABLE notes (
    id         TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    text       TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX notes_by_tenant ON notes (tenant_id, id);
