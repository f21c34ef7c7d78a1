-- What callers attribute synchronous calls to, and budgets by tag. Calls without labels have no rows here, and cost nothing more.
ALTER TABLE requests ADD COLUMN tags    TEXT NOT NULL DEFAULT '{}';
ALTER TABLE requests ADD COLUMN subject TEXT NOT NULL DEFAULT '';
CREATE INDEX requests_by_subject   ON requests (tenant_id, subject, id) WHERE subject <> '';
CREATE INDEX requests_unsuccessful ON requests (tenant_id, status, id) WHERE status <> 'succeeded';

-- One row for each tag of a call, so that calls are found by a tag.
CREATE TABLE request_tags (
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    name       TEXT /*pg COLLATE "C" */ NOT NULL,
    value      TEXT /*pg COLLATE "C" */ NOT NULL,
    request_id TEXT /*pg COLLATE "C" */ NOT NULL,
    PRIMARY KEY (tenant_id, name, value, request_id)
) WITHOUT ROWID;

ALTER TABLE budgets ADD COLUMN tag TEXT NOT NULL DEFAULT '';
