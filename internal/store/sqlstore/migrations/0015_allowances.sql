-- Limits and budgets of keys that are kept by the admin API; those of tenants are in their settings.
ALTER TABLE api_keys ADD COLUMN settings TEXT NOT NULL DEFAULT '';

-- When the event was written that says that a soft budget is used up; 0 until then.
ALTER TABLE budgets ADD COLUMN exceeded_at BIGINT NOT NULL DEFAULT 0;
