-- The turns of conversations that run as jobs.
CREATE TABLE conversation_jobs (
    tenant_id       TEXT /*pg COLLATE "C" */ NOT NULL,
    job_id          TEXT /*pg COLLATE "C" */ NOT NULL,
    conversation_id TEXT /*pg COLLATE "C" */ NOT NULL,
    own             BIGINT NOT NULL,                   -- how many items of the job's input are the caller's own
    settled         BIGINT NOT NULL DEFAULT 0,         -- 1: its items were added to the conversation, or it has none
    PRIMARY KEY (tenant_id, job_id)
) WITHOUT ROWID;
CREATE INDEX conversation_jobs_by_conversation ON conversation_jobs (conversation_id, settled, job_id);
