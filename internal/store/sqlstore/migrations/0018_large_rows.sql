-- Input groups and result groups are large, and SQLite compares the keys of a table WITHOUT ROWID in its whole rows: on the way to
-- one of them it read others, all pages of them. Other tables have an index for their key.
/*sqlite
CREATE TABLE input_groups_by_row (
    job_id  TEXT   NOT NULL,
    first_n BIGINT NOT NULL,
    facts   BYTEA  NOT NULL,
    inputs  BYTEA  NOT NULL,
    PRIMARY KEY (job_id, first_n)
);
INSERT INTO input_groups_by_row SELECT job_id, first_n, facts, inputs FROM input_groups;
DROP TABLE input_groups;
ALTER TABLE input_groups_by_row RENAME TO input_groups;

CREATE TABLE result_groups_by_row (
    job_id      TEXT   NOT NULL,
    last_seq    BIGINT NOT NULL,
    tenant_id   TEXT   NOT NULL,
    min_n       BIGINT NOT NULL,
    max_n       BIGINT NOT NULL,
    items       BIGINT NOT NULL,
    finished_at BIGINT NOT NULL,
    reserved_nano_usd   BIGINT NOT NULL,
    cost_nano_usd       BIGINT NOT NULL,
    input_tokens        BIGINT NOT NULL,
    cached_input_tokens BIGINT NOT NULL,
    cache_write_tokens  BIGINT NOT NULL,
    output_tokens       BIGINT NOT NULL,
    reasoning_tokens    BIGINT NOT NULL,
    facts       BYTEA  NOT NULL,
    results     BYTEA  NOT NULL,
    PRIMARY KEY (job_id, last_seq)
);
INSERT INTO result_groups_by_row SELECT job_id, last_seq, tenant_id, min_n, max_n, items, finished_at, reserved_nano_usd, cost_nano_usd,
    input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, facts, results FROM result_groups;
DROP TABLE result_groups;
ALTER TABLE result_groups_by_row RENAME TO result_groups;
CREATE INDEX result_groups_by_n ON result_groups (job_id, max_n);
*/
