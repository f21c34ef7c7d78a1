-- What was dropped of the inputs of items and synchronous calls that were too long for their models. Others have no rows here.
CREATE TABLE truncations (
    subject_id     TEXT /*pg COLLATE "C" */ PRIMARY KEY, -- the item or the call
    tenant_id      TEXT /*pg COLLATE "C" */ NOT NULL,
    policy         TEXT   NOT NULL,
    turns          BIGINT NOT NULL,                      -- that were dropped
    tokens_before  BIGINT NOT NULL,
    tokens_after   BIGINT NOT NULL,
    context_tokens BIGINT NOT NULL
) WITHOUT ROWID;
