-- The highest virtual time of the idle tenants of a lane, where a tenant starts that finds all others idle. Claims do not write it.
CREATE INDEX shares_idle ON shares (lane, vtime) WHERE active = 0;
