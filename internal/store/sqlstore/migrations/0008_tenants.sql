-- Tenants and keys that are kept by the admin API. Each change takes the next version, which lies on the rows that it
-- touched: a process that knows all up to one version reads what came after it, and If-Match compares it.
CREATE TABLE directory (
    id      BIGINT PRIMARY KEY,                     -- one row: whoever changes anything holds it until the commit
    version BIGINT NOT NULL
);
INSERT INTO directory (id, version) VALUES (1, 0);

ALTER TABLE tenants ADD COLUMN version BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN tier TEXT NOT NULL DEFAULT '';
ALTER TABLE tenants ADD COLUMN enabled BIGINT NOT NULL DEFAULT 1;
CREATE INDEX tenants_by_version ON tenants (version, id);

ALTER TABLE api_keys ADD COLUMN version BIGINT NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN replaced_by TEXT NOT NULL DEFAULT '';
CREATE INDEX api_keys_by_version ON api_keys (version, id);
