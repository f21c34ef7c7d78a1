-- Claims are few, as many as items run: who looks for those of a process reads them all, at a heartbeat.
-- Keeping them in order of their processes cost every claim a page of its commit, and another when it ended.
DROP INDEX claims_by_process;
