-- The prompts that the inputs of a job name.
CREATE TABLE job_prompts (
    tenant_id TEXT /*pg COLLATE "C" */ NOT NULL,
    prompt    TEXT /*pg COLLATE "C" */ NOT NULL,
    version   BIGINT NOT NULL,
    job_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    PRIMARY KEY (tenant_id, prompt, version, job_id)
) WITHOUT ROWID;
CREATE INDEX job_prompts_by_job ON job_prompts (job_id);
