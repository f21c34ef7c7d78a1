-- What processes share of the room at upstreams. A pool is an allowance per minute, or that which may run
-- at a time; whoever changes either holds the pool's row.
CREATE TABLE pools (
    name       TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    level      BIGINT NOT NULL DEFAULT 0,     -- in parts of a unit, see store.Pool
    filled_at  BIGINT NOT NULL DEFAULT 0,     -- when level was true
    rest_until BIGINT NOT NULL DEFAULT 0      -- everybody leaves the pool alone until then
) WITHOUT ROWID;

-- Permits of a pool, each process's own. They count while its lease of that epoch lasts.
CREATE TABLE permits (
    pool       TEXT /*pg COLLATE "C" */ NOT NULL,
    process_id TEXT /*pg COLLATE "C" */ NOT NULL,
    epoch      BIGINT NOT NULL,
    permits      BIGINT NOT NULL,
    want       BIGINT NOT NULL,
    PRIMARY KEY (pool, process_id)
) WITHOUT ROWID;
