-- What was kept long enough is found by tenant and end, and only where there is an end.
CREATE INDEX jobs_finished ON jobs (tenant_id, finished_at) WHERE finished_at > 0;

-- A blob that no row names is an orphan: these tell. They hold the few items that have blobs, and cost the
-- others nothing: an item whose names of blobs do not change is still rewritten in place.
CREATE INDEX items_input_blob ON items (input_blob) WHERE input_blob <> '';
CREATE INDEX items_result_blob ON items (result_blob) WHERE result_blob <> '';

-- Large jobs that were deleted. Their row is gone, and with it everything that leads to them; what is left of
-- their items is removed in steps.
CREATE TABLE deleted_jobs (
    job_id    TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    tenant_id TEXT /*pg COLLATE "C" */ NOT NULL,
    total     BIGINT NOT NULL,
    next      BIGINT NOT NULL             -- n of the first item that is still there
) WITHOUT ROWID;

-- The ledger keeps the settlements of what was deleted. This is how many there are and what they add up to, so
-- that the books can still be checked.
CREATE TABLE forgotten (
    tenant_id     TEXT /*pg COLLATE "C" */ NOT NULL,
    kind          TEXT /*pg COLLATE "C" */ NOT NULL,   -- item | request
    subjects      BIGINT NOT NULL,
    cost_nano_usd BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, kind)
) WITHOUT ROWID;
