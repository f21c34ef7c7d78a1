-- Tokens by class: of those that the upstream wrote to its cache, those that it keeps for an hour; those of audio are
-- a part of the input and of the output.
ALTER TABLE jobs     ADD COLUMN cache_write_1h_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE jobs     ADD COLUMN audio_input_tokens    BIGINT NOT NULL DEFAULT 0;
ALTER TABLE jobs     ADD COLUMN audio_output_tokens   BIGINT NOT NULL DEFAULT 0;
ALTER TABLE items    ADD COLUMN cache_write_1h_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE items    ADD COLUMN audio_input_tokens    BIGINT NOT NULL DEFAULT 0;
ALTER TABLE items    ADD COLUMN audio_output_tokens   BIGINT NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN cache_write_1h_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN audio_input_tokens    BIGINT NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN audio_output_tokens   BIGINT NOT NULL DEFAULT 0;
ALTER TABLE requests ADD COLUMN cache_write_1h_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE requests ADD COLUMN audio_input_tokens    BIGINT NOT NULL DEFAULT 0;
ALTER TABLE requests ADD COLUMN audio_output_tokens   BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ledger   ADD COLUMN cache_write_1h_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ledger   ADD COLUMN audio_input_tokens    BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ledger   ADD COLUMN audio_output_tokens   BIGINT NOT NULL DEFAULT 0;
ALTER TABLE result_groups ADD COLUMN cache_write_1h_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE result_groups ADD COLUMN audio_input_tokens    BIGINT NOT NULL DEFAULT 0;
ALTER TABLE result_groups ADD COLUMN audio_output_tokens   BIGINT NOT NULL DEFAULT 0;
