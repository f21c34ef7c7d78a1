-- How many bytes tenants have stored, so that nobody ever has to count them. A job and a file name their own bytes, which
-- go with their row; the sums of a tenant are divided into stripes, so that its jobs do not wait for each other.
ALTER TABLE jobs ADD COLUMN stored_bytes BIGINT NOT NULL DEFAULT 0; -- of its inputs and results, as they came

CREATE TABLE stored (
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    stripe     BIGINT NOT NULL,
    job_bytes  BIGINT NOT NULL,
    file_bytes BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, stripe)
) WITHOUT ROWID /*pg WITH (fillfactor = 50) */;
INSERT INTO stored SELECT tenant_id, 0, 0, SUM(bytes) FROM files GROUP BY tenant_id;
