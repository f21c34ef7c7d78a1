-- The deliveries of one job, to its own webhook and to the endpoints of its tenant.
CREATE INDEX deliveries_of_job ON deliveries (tenant_id, job_id, id) WHERE job_id <> '';
