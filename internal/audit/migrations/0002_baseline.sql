-- Who changed what. An entry is written in the transaction of the change.
CREATE TABLE audit (
    id         TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    actor      TEXT   NOT NULL,
    action     TEXT   NOT NULL,
    subject    TEXT   NOT NULL,
    before     TEXT   NOT NULL,              -- JSON
    after      TEXT   NOT NULL,              -- JSON
    created_at BIGINT NOT NULL
);
CREATE INDEX audit_by_tenant ON audit (tenant_id, id);
