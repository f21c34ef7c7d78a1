-- Items that were in flight in several crashes wait in a line of their own: they run in child processes of a worker, one by
-- one, and only the death of such a child counts against them.
CREATE TABLE suspects (
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    urgency    BIGINT NOT NULL,               -- of the lane, 0 for the most urgent
    deadline   BIGINT NOT NULL,
    item_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    not_before BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, urgency, deadline, item_id)
) WITHOUT ROWID;

ALTER TABLE items ADD COLUMN child_deaths BIGINT NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN isolated BIGINT NOT NULL DEFAULT 0;
-- The targets at which capacity was taken for the items of a claim: one name for all of them, or a JSON list.
ALTER TABLE claims ADD COLUMN targets TEXT NOT NULL DEFAULT '';
