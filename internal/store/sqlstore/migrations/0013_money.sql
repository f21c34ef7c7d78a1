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

-- A budget in one of its periods. Its id is made of what names it, so that whoever draws on it knows it.
ALTER TABLE budgets ADD COLUMN key_name  TEXT NOT NULL DEFAULT '';
ALTER TABLE budgets ADD COLUMN model     TEXT NOT NULL DEFAULT '';
ALTER TABLE budgets ADD COLUMN starts_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE budget_allowances   ADD COLUMN tenant_id TEXT NOT NULL DEFAULT '';
ALTER TABLE budget_allowances   ADD COLUMN returns   BIGINT NOT NULL DEFAULT 0;   -- number of the last return
CREATE INDEX budget_allowances_by_process ON budget_allowances (process_id, epoch);

-- The budgets that a job is paid from, their ids one after the other, and those that an entry counts against.
ALTER TABLE jobs   ADD COLUMN budgets TEXT NOT NULL DEFAULT '';
ALTER TABLE ledger ADD COLUMN budgets TEXT NOT NULL DEFAULT '';

-- What reports are made by.
ALTER TABLE ledger ADD COLUMN key_name TEXT NOT NULL DEFAULT '';
ALTER TABLE ledger ADD COLUMN model    TEXT NOT NULL DEFAULT '';
ALTER TABLE ledger ADD COLUMN lane     TEXT NOT NULL DEFAULT '';
ALTER TABLE ledger ADD COLUMN tags     TEXT NOT NULL DEFAULT '{}';

-- A job that waits on its budget (waiting_on) is looked at again from then on.
ALTER TABLE jobs ADD COLUMN split_after BIGINT NOT NULL DEFAULT 0;

-- Reports read what was spent by a tenant, or by all, between two days.
CREATE INDEX ledger_spent ON ledger (tenant_id, created_at) WHERE kind <> 'reserve';
