-- Files whose content goes into requests: the type and the hash of the content.
ALTER TABLE files ADD COLUMN media_type TEXT NOT NULL DEFAULT '';
ALTER TABLE files ADD COLUMN sha256     TEXT NOT NULL DEFAULT '';

-- The files that lines of batch files name. A named file stays while a job over the batch file has lines to read.
CREATE TABLE file_references (
    file_id  TEXT /*pg COLLATE "C" */ NOT NULL,        -- the batch file
    named_id TEXT /*pg COLLATE "C" */ NOT NULL,        -- the file that its lines name
    PRIMARY KEY (file_id, named_id)
) WITHOUT ROWID;
CREATE INDEX file_references_by_named ON file_references (named_id);

-- The files whose content was put into the bodies of items and synchronous calls.
CREATE TABLE attached_files (
    subject_id TEXT /*pg COLLATE "C" */ NOT NULL,      -- the item or the call
    position   BIGINT NOT NULL,                        -- in its body
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    path       TEXT NOT NULL,                          -- of the member that named the file
    file_id    TEXT /*pg COLLATE "C" */ NOT NULL,
    media_type TEXT NOT NULL,
    bytes      BIGINT NOT NULL,
    sha256     TEXT NOT NULL,
    PRIMARY KEY (subject_id, position)
) WITHOUT ROWID;
