-- Items that succeed at their first try end together, so they are kept together: a result group has what they came to and
-- is never changed. Other ends are rows of items.
CREATE TABLE result_groups (
    job_id      TEXT /*pg COLLATE "C" */ NOT NULL,
    last_seq    BIGINT NOT NULL,              -- number of the last of them; their numbers are consecutive
    tenant_id   TEXT /*pg COLLATE "C" */ NOT NULL,
    min_n       BIGINT NOT NULL,              -- their indexes lie between these
    max_n       BIGINT NOT NULL,
    items       BIGINT NOT NULL,              -- how many there are
    finished_at BIGINT NOT NULL,
    reserved_nano_usd   BIGINT NOT NULL,      -- sums of what the facts tell
    cost_nano_usd       BIGINT NOT NULL,
    input_tokens        BIGINT NOT NULL,
    cached_input_tokens BIGINT NOT NULL,
    cache_write_tokens  BIGINT NOT NULL,
    output_tokens       BIGINT NOT NULL,
    reasoning_tokens    BIGINT NOT NULL,
    facts       BYTEA  NOT NULL,              -- of each item: all but its result, and the attempt that decided it
    results     BYTEA  NOT NULL,              -- each sealed by itself, one behind the other
    PRIMARY KEY (job_id, last_seq)
) WITHOUT ROWID;
CREATE INDEX result_groups_by_n ON result_groups (job_id, max_n);
/*pg ALTER TABLE result_groups ALTER COLUMN facts SET STORAGE EXTERNAL; */
/*pg ALTER TABLE result_groups ALTER COLUMN results SET STORAGE EXTERNAL; */

-- Which items of a claim ended that have no row to tell so: a bit for each place in its list.
ALTER TABLE claims ADD COLUMN ended BIGINT NOT NULL DEFAULT 0;
