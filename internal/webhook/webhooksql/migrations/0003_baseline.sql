-- Where events are sent: the endpoints of a tenant, and the webhooks of single jobs, which are deleted with the job.
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

-- Sealed. The secret of webhook '' is the tenant's own, which signs the messages of single jobs' webhooks.
CREATE TABLE webhook_secrets (
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    webhook_id TEXT /*pg COLLATE "C" */ NOT NULL,
    secret     BYTEA  NOT NULL,
    old_secret BYTEA,
    old_until  BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, webhook_id)
) WITHOUT ROWID;

-- Receivers that fail; others have no row. A receiver is an endpoint, or one host that the webhooks of a tenant's single
-- jobs name.
CREATE TABLE receivers (
    id            TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    failures      BIGINT NOT NULL,                   -- in a row
    failing_since BIGINT NOT NULL,
    rest_until    BIGINT NOT NULL
) WITHOUT ROWID;

-- The outbox: messages to be sent and messages that were sent, each written in the transaction of its event.
CREATE TABLE deliveries (
    id          TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    tenant_id   TEXT /*pg COLLATE "C" */ NOT NULL,
    webhook_id  TEXT /*pg COLLATE "C" */ NOT NULL,   -- '' for the webhook of a single job
    receiver_id TEXT /*pg COLLATE "C" */ NOT NULL,
    job_id      TEXT /*pg COLLATE "C" */ NOT NULL,
    event_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    type        TEXT   NOT NULL,
    url         TEXT   NOT NULL,                     -- of a single job's webhook
    status      TEXT   NOT NULL,                     -- pending | delivered | failed
    fence       BIGINT NOT NULL DEFAULT 0,           -- +1 per claim
    round       BIGINT NOT NULL DEFAULT 0,           -- attempts of this schedule; a redelivery begins anew
    attempts    BIGINT NOT NULL DEFAULT 0,
    tries       TEXT   NOT NULL DEFAULT '[]',        -- the last attempts, as JSON
    error       TEXT   NOT NULL DEFAULT '',
    not_before  BIGINT NOT NULL,                     -- of a claimed delivery: when the claim ends
    delivered_at BIGINT NOT NULL DEFAULT 0,
    created_at  BIGINT NOT NULL,
    body        BYTEA  NOT NULL
);
CREATE INDEX deliveries_due    ON deliveries (receiver_id, not_before, id) WHERE status = 'pending';
CREATE INDEX deliveries_log    ON deliveries (tenant_id, webhook_id, id);
CREATE INDEX deliveries_by_age ON deliveries (tenant_id, id);
