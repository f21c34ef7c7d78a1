-- What operators hold back. A row that is there is in force; resuming deletes it.
CREATE TABLE controls (
    kind       TEXT /*pg COLLATE "C" */ NOT NULL,   -- lane | model | target | tenant
    name       TEXT /*pg COLLATE "C" */ NOT NULL,
    state      TEXT   NOT NULL,                     -- paused | draining
    reason     TEXT   NOT NULL,
    actor      TEXT   NOT NULL,
    since      BIGINT NOT NULL,
    PRIMARY KEY (kind, name)
) WITHOUT ROWID;
