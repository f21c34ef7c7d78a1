-- The prompts that the lines of a batch file name, as JSON; '' for none.
ALTER TABLE files ADD COLUMN prompts TEXT NOT NULL DEFAULT '';

-- The prompts in the inputs of items and synchronous calls. Others have no rows here, and neither have the items of a job whose items
-- all use one prompt: the job names it.
CREATE TABLE prompt_uses (
    subject_id TEXT /*pg COLLATE "C" */ PRIMARY KEY,   -- the item or the call
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    prompt     TEXT /*pg COLLATE "C" */ NOT NULL,      -- its name
    version    BIGINT NOT NULL,
    sha256     TEXT   NOT NULL,
    label      TEXT   NOT NULL,                        -- that named the version, '' if its number did
    variables  BYTEA                                   -- of a call, sealed
);
CREATE INDEX prompt_uses_by_version ON prompt_uses (tenant_id, prompt, version, subject_id);
