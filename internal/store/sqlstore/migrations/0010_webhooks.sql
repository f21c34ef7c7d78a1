-- Where the events of jobs are sent: endpoints of a tenant, and those that a job brought along, which go when
-- the job ends.
CREATE TABLE webhooks (
    tenant_id   TEXT /*pg COLLATE "C" */ NOT NULL,
    job_id      TEXT /*pg COLLATE "C" */ NOT NULL,   -- '' for an endpoint of the tenant
    id          TEXT /*pg COLLATE "C" */ NOT NULL,
    url         TEXT   NOT NULL,
    description TEXT   NOT NULL DEFAULT '',
    events      TEXT   NOT NULL,                     -- JSON
    disabled_at BIGINT NOT NULL DEFAULT 0,
    disabled_reason TEXT NOT NULL DEFAULT '',
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, job_id, id)
) WITHOUT ROWID;

-- Sealed. That of webhook '' is the tenant's own, for what jobs bring along.
CREATE TABLE webhook_secrets (
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    webhook_id TEXT /*pg COLLATE "C" */ NOT NULL,
    secret     BYTEA  NOT NULL,
    old_secret BYTEA,
    old_until  BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, webhook_id)
) WITHOUT ROWID;

-- Receivers that fail. Who receives has no row. One is an endpoint, or all that the jobs of a tenant brought
-- along for one host.
CREATE TABLE receivers (
    id            TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    failures      BIGINT NOT NULL,                   -- in a row
    failing_since BIGINT NOT NULL,
    rest_until    BIGINT NOT NULL
) WITHOUT ROWID;

-- Messages on their way and those that were sent, each written in the transaction of its event. They take the
-- place of the outbox, which nothing ever used.
DROP TABLE outbox;
CREATE TABLE deliveries (
    id          TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    tenant_id   TEXT /*pg COLLATE "C" */ NOT NULL,
    webhook_id  TEXT /*pg COLLATE "C" */ NOT NULL,   -- '' for one that a job brought along
    receiver_id TEXT /*pg COLLATE "C" */ NOT NULL,
    job_id      TEXT /*pg COLLATE "C" */ NOT NULL,
    event_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    type        TEXT   NOT NULL,
    url         TEXT   NOT NULL,                     -- of one that a job brought along
    body        BYTEA  NOT NULL,
    status      TEXT   NOT NULL,                     -- pending | delivered | failed
    fence       BIGINT NOT NULL DEFAULT 0,           -- +1 per claim
    round       BIGINT NOT NULL DEFAULT 0,           -- attempts of this schedule; a redelivery begins anew
    attempts    BIGINT NOT NULL DEFAULT 0,
    tries       TEXT   NOT NULL DEFAULT '[]',        -- JSON, the last of them
    error       TEXT   NOT NULL DEFAULT '',
    not_before  BIGINT NOT NULL,                     -- for one that is claimed: when the claim is lost
    delivered_at BIGINT NOT NULL DEFAULT 0,
    created_at  BIGINT NOT NULL
);
CREATE INDEX deliveries_due ON deliveries (receiver_id, not_before, id) WHERE status = 'pending';
CREATE INDEX deliveries_log ON deliveries (tenant_id, webhook_id, id);
CREATE INDEX deliveries_by_age ON deliveries (tenant_id, id);
