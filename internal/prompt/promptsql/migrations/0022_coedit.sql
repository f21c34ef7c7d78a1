-- Drafts that several people edit. A draft whose revision is not texts_revision was written by a process that does not know texts:
-- its texts have new names then.
ALTER TABLE prompt_drafts ADD COLUMN texts TEXT NOT NULL DEFAULT '';           -- JSON: ids and versions, in the order of the texts
ALTER TABLE prompt_drafts ADD COLUMN texts_revision BIGINT NOT NULL DEFAULT 0;
ALTER TABLE prompt_drafts ADD COLUMN structure BIGINT NOT NULL DEFAULT 0;      -- the revision of the last change that was not of texts alone
ALTER TABLE prompt_drafts ADD COLUMN log_updates BIGINT NOT NULL DEFAULT 0;
ALTER TABLE prompt_drafts ADD COLUMN log_bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE prompt_drafts ADD COLUMN log_trimmed BIGINT NOT NULL DEFAULT 0;    -- updates up to this revision were removed
ALTER TABLE prompt_drafts ADD COLUMN comments BIGINT NOT NULL DEFAULT 0;       -- changes of comments
ALTER TABLE prompt_drafts ADD COLUMN comment_bytes BIGINT NOT NULL DEFAULT 0;

-- The log of a draft. The revision is that of the draft after the update.
CREATE TABLE prompt_draft_updates (
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    prompt_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    revision   BIGINT NOT NULL,
    text_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    version    BIGINT NOT NULL,                        -- of the text after the update
    client     TEXT   NOT NULL,                        -- '' for a draft that was replaced as a whole
    author_id  TEXT   NOT NULL,
    author     TEXT   NOT NULL,
    changes    BYTEA  NOT NULL,                        -- sealed, with the inverse
    bytes      BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, prompt_id, revision)
);
CREATE UNIQUE INDEX prompt_draft_updates_by_text ON prompt_draft_updates (tenant_id, prompt_id, text_id, version);

CREATE TABLE prompt_draft_comments (
    tenant_id   TEXT /*pg COLLATE "C" */ NOT NULL,
    prompt_id   TEXT /*pg COLLATE "C" */ NOT NULL,
    id          TEXT /*pg COLLATE "C" */ NOT NULL,
    parent      TEXT /*pg COLLATE "C" */ NOT NULL,     -- '' unless it is a reply
    text_id     TEXT /*pg COLLATE "C" */ NOT NULL,
    from_at     BIGINT NOT NULL,                       -- UTF-16 code units, in the current version of the text
    to_at       BIGINT NOT NULL,
    body        BYTEA  NOT NULL,                       -- sealed, with the quote
    bytes       BIGINT NOT NULL,
    author_id   TEXT   NOT NULL,
    author      TEXT   NOT NULL,
    created_at  BIGINT NOT NULL,
    edited_at   BIGINT NOT NULL DEFAULT 0,
    resolved_by TEXT   NOT NULL DEFAULT '',
    resolved_at BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, prompt_id, id)
);

-- The editors of a draft that are connected.
CREATE TABLE prompt_draft_people (
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    prompt_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    client     TEXT /*pg COLLATE "C" */ NOT NULL,
    tag        TEXT   NOT NULL,
    name       TEXT   NOT NULL,
    text_id    TEXT   NOT NULL,
    anchor     BIGINT NOT NULL,                        -- UTF-16 code units, in the current version of the text
    head       BIGINT NOT NULL,
    changes    BIGINT NOT NULL,                        -- of this row by its editor
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, prompt_id, client)
);
