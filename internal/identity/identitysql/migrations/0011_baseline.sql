-- People who sign in, their roles, and their sessions.
CREATE TABLE people (
    id           TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    issuer       TEXT   NOT NULL,                      -- the name of an OpenID Connect issuer, or of another way to sign in
    subject      TEXT   NOT NULL,                      -- the issuer's name for the person
    name         TEXT   NOT NULL,
    email        TEXT   NOT NULL DEFAULT '',           -- verified; lower case
    created_at   BIGINT NOT NULL,
    signed_in_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX people_by_subject ON people (issuer, subject);

CREATE TABLE members (
    id         TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    person_id  TEXT /*pg COLLATE "C" */ NOT NULL DEFAULT '', -- one of person_id and email is set
    email      TEXT   NOT NULL DEFAULT '',
    tenant_id  TEXT /*pg COLLATE "C" */ NOT NULL DEFAULT '', -- '' for all tenants
    role       TEXT   NOT NULL,
    actor      TEXT   NOT NULL,                        -- who granted it
    version    BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX members_once ON members (person_id, email, tenant_id, role);

CREATE TABLE sessions (
    id         TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    token_hash TEXT /*pg COLLATE "C" */ NOT NULL,      -- SHA-256 of the token in the cookie, in hex
    person_id  TEXT /*pg COLLATE "C" */ NOT NULL,
    key_hash   TEXT   NOT NULL DEFAULT '',             -- of the operator's key that began the session: it ends with the key
    roles      TEXT   NOT NULL DEFAULT '[]',           -- for all tenants, given by the way of signing in
    groups     TEXT   NOT NULL DEFAULT '[]',           -- that the issuer named
    user_agent TEXT   NOT NULL,
    address    TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    ended_at   BIGINT NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX sessions_by_token ON sessions (token_hash);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- Links that sign a person in once; with the prefix used:, sign-ins at an issuer that have made their session.
CREATE TABLE sign_in_links (
    token_hash TEXT /*pg COLLATE "C" */ PRIMARY KEY,
    expires_at BIGINT NOT NULL
);

-- One row: its version grows with every change that sessions depend on, so that processes know when to read again.
CREATE TABLE identity (
    id      BIGINT PRIMARY KEY,
    version BIGINT NOT NULL
);
INSERT INTO identity (id, version) VALUES (1, 1);
