-- Readers of the audit ask who changed something, what was done, and what happened to an object, over all tenants.
CREATE INDEX audit_by_actor   ON audit (actor, id);
CREATE INDEX audit_by_action  ON audit (action, id);
CREATE INDEX audit_by_subject ON audit (subject, id);
