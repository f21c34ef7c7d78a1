-- A job is for one model. A batch whose requests name several has further jobs beside the one that it is named by.
ALTER TABLE batches ADD COLUMN parts TEXT NOT NULL DEFAULT '[]'; -- ids of those jobs, as JSON

-- Who writes the files of a batch, and until when others leave it alone.
ALTER TABLE batches ADD COLUMN finisher TEXT NOT NULL DEFAULT '';
ALTER TABLE batches ADD COLUMN finisher_until BIGINT NOT NULL DEFAULT 0;
