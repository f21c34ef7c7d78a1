-- Tokens by class: those that the upstream wrote to its cache are a part of the input, those that it reasoned
-- with a part of the output.
ALTER TABLE jobs     ADD COLUMN cache_write_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE jobs     ADD COLUMN reasoning_tokens   BIGINT NOT NULL DEFAULT 0;
ALTER TABLE items    ADD COLUMN cache_write_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE items    ADD COLUMN reasoning_tokens   BIGINT NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN cache_write_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN reasoning_tokens   BIGINT NOT NULL DEFAULT 0;
ALTER TABLE requests ADD COLUMN cache_write_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE requests ADD COLUMN reasoning_tokens   BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ledger   ADD COLUMN cache_write_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ledger   ADD COLUMN reasoning_tokens   BIGINT NOT NULL DEFAULT 0;

-- Which price an attempt was charged at: that of its own time.
ALTER TABLE attempts ADD COLUMN price_version TEXT NOT NULL DEFAULT '';
