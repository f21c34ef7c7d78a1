-- Figures of the recent past for pages: sums of one process in one period. A process writes the sums of the current period
-- again and again. Old periods are removed.
CREATE TABLE rollups (
    span      BIGINT NOT NULL,                       -- seconds
    tenant_id TEXT /*pg COLLATE "C" */ NOT NULL,     -- '' for the sums of all tenants
    at        BIGINT NOT NULL,                       -- when the period began
    lane      TEXT /*pg COLLATE "C" */ NOT NULL,     -- '' for a target
    target    TEXT /*pg COLLATE "C" */ NOT NULL,
    source    TEXT /*pg COLLATE "C" */ NOT NULL,     -- the run of a process
    jobs      BIGINT NOT NULL,
    requests  BIGINT NOT NULL,
    succeeded BIGINT NOT NULL,
    failed    BIGINT NOT NULL,
    cost_nano_usd BIGINT NOT NULL,
    depth     BIGINT NOT NULL,                       -- the most queued items
    latency   TEXT   NOT NULL,                       -- a histogram, as JSON
    PRIMARY KEY (span, tenant_id, at, lane, target, source)
) WITHOUT ROWID;
CREATE INDEX rollups_by_age ON rollups (span, at);
