-- Ids of other registries under which prompts are known. An alias never names another prompt.
CREATE TABLE prompt_aliases (
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    alias      TEXT /*pg COLLATE "C" */ NOT NULL,
    prompt_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    created_by TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, alias)
) WITHOUT ROWID;
CREATE INDEX prompt_aliases_by_prompt ON prompt_aliases (tenant_id, prompt_id);

-- The versions that the numbers of the other registry mean.
CREATE TABLE prompt_alias_versions (
    tenant_id TEXT /*pg COLLATE "C" */ NOT NULL,
    alias     TEXT /*pg COLLATE "C" */ NOT NULL,
    written   TEXT /*pg COLLATE "C" */ NOT NULL,
    n         BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, alias, written)
) WITHOUT ROWID;
