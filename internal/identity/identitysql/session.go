package identitysql

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/identity"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

const (
	sessionColumns = `s.id, s.key_hash, s.roles, s.groups, s.user_agent, s.address, s.created_at, s.seen_at, s.expires_at, s.ended_at,
	p.id, p.issuer, p.subject, p.name, p.email`
	sessionTables = ` FROM sessions s JOIN people p ON p.id = s.person_id`
)

func scanSession(row sqldb.Row) (s identity.Session, err error) {
	var roles, groups string
	var created, seen, expires, ended int64
	err = row.Scan(&s.ID, &s.Key, &roles, &groups, &s.UserAgent, &s.Address, &created, &seen, &expires, &ended,
		&s.Person.ID, &s.Person.Issuer, &s.Person.Subject, &s.Person.Name, &s.Person.Email)
	if err != nil {
		return s, fmt.Errorf("scanning session: %w", err)
	}
	s.CreatedAt, s.SeenAt, s.ExpiresAt, s.EndedAt = sqldb.FromMicros(created), sqldb.FromMicros(seen), sqldb.FromMicros(expires), sqldb.FromMicros(ended)
	if err := json.Unmarshal([]byte(roles), &s.Roles); err != nil {
		return s, fmt.Errorf("reading roles of session %s: %w", s.ID, err)
	}
	if err := json.Unmarshal([]byte(groups), &s.Groups); err != nil {
		return s, fmt.Errorf("reading groups of session %s: %w", s.ID, err)
	}
	return s, nil
}

// SignIn implements identity.Sessions. The link is used up in the transaction that makes the session: of two calls with one
// link, one makes a session.
func (s *Store) SignIn(ctx context.Context, n identity.NewSession) (out identity.Session, err error) {
	roles, err := json.Marshal(append([]penstock.Role{}, n.Roles...))
	if err != nil {
		return out, sqldb.PublicError(fmt.Errorf("encoding roles: %w", err))
	}
	groups, err := json.Marshal(append([]string{}, n.Groups...))
	if err != nil {
		return out, sqldb.PublicError(fmt.Errorf("encoding groups: %w", err))
	}
	err = s.db.Write(ctx, "sign_in", func(tx sqldb.Tx) error {
		out = n.Session
		if err := useLink(ctx, tx, n.Link); err != nil {
			return err
		}
		if err := useOnce(ctx, tx, n.Once); err != nil {
			return err
		}
		if out.Person.ID, err = putPerson(ctx, tx, n.Person); err != nil {
			return err
		}
		err := tx.Do(ctx, `INSERT INTO sessions (id, token_hash, person_id, key_hash, roles, groups, user_agent, address, created_at, seen_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10)`,
			n.ID, n.TokenHash, out.Person.ID, n.Key, string(roles), sqldb.Storable(string(groups)), sqldb.Storable(n.UserAgent), n.Address, sqldb.Micros(n.CreatedAt), sqldb.Micros(n.ExpiresAt))
		if err != nil {
			return err
		}
		return s.audit.Write(ctx, tx, audit.Entry{Tenant: store.AuditOfOperators, Actor: n.Actor, Action: identity.ActionSignIn, Subject: penstock.ViewSession.Format(n.ID),
			After: map[string]any{"person": penstock.ViewPerson.Format(out.Person.ID), "issuer": n.Person.Issuer, "address": n.Address}})
	})
	return out, err
}

// useLink deletes a link that can be used. Codes: not_found.
func useLink(ctx context.Context, tx sqldb.Tx, hash string) error {
	if hash == "" {
		return nil
	}
	n, err := tx.Exec(ctx, `DELETE FROM sign_in_links WHERE token_hash = $1 AND expires_at > $2`, hash, sqldb.Micros(tx.Now()))
	if err == nil && n == 0 {
		err = penstock.Errorf(penstock.CodeNotFound, "There is no such link.")
	}
	return err
}

// onceLife is how long a used sign-in is remembered: longer than a browser may take for it.
const onceLife = time.Hour

// useOnce remembers a sign-in at an issuer. Codes: conflict.
func useOnce(ctx context.Context, tx sqldb.Tx, hash string) error {
	if hash == "" {
		return nil
	}
	n, err := tx.Exec(ctx, `INSERT INTO sign_in_links (token_hash, expires_at) VALUES ($1, $2) ON CONFLICT (token_hash) DO NOTHING`, "used:"+hash, sqldb.Micros(tx.Now().Add(onceLife)))
	if err == nil && n == 0 {
		err = penstock.Errorf(penstock.CodeConflict, "This sign-in was finished before; sign in again.")
	}
	return err
}

// PersonID implements identity.People.
func (s *Store) PersonID(ctx context.Context, issuer, subject string) (id penstock.ID, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		id, _, err = sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT id FROM people WHERE issuer = $1 AND subject = $2`, issuer, sqldb.Storable(subject)), sqldb.ScanOne[penstock.ID])
		return err
	})
	return id, err
}

// putPerson stores a person, or the new name and e-mail of a known one, and returns the id.
func putPerson(ctx context.Context, tx sqldb.Tx, p identity.Person) (penstock.ID, error) {
	id, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`INSERT INTO people (id, issuer, subject, name, email, created_at, signed_in_at) VALUES ($1, $2, $3, $4, $5, $6, $6)
		ON CONFLICT (issuer, subject) DO UPDATE SET name = excluded.name, email = excluded.email, signed_in_at = excluded.signed_in_at RETURNING id`,
		p.ID, p.Issuer, sqldb.Storable(p.Subject), sqldb.Storable(p.Name), sqldb.Storable(p.Email), sqldb.Micros(tx.Now())), sqldb.ScanOne[string])
	return penstock.ID(id), err
}

// Session implements identity.Sessions.
func (s *Store) Session(ctx context.Context, tokenHash string) (out identity.Session, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		var found bool
		out, found, err = sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+sessionColumns+sessionTables+` WHERE s.token_hash = $1`, tokenHash), scanSession)
		if err == nil && !found {
			err = penstock.Errorf(penstock.CodeNotFound, "There is no such session.")
		}
		return err
	})
	return out, err
}

// List implements identity.Sessions.
func (s *Store) List(ctx context.Context, p identity.SessionPage) (all []identity.Session, err error) {
	before := string(p.After)
	if before == "" {
		before = "~" // behind every id
	}
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		all, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+sessionColumns+sessionTables+` WHERE s.ended_at = 0 AND s.expires_at > $1 AND s.seen_at > $5 AND s.id < $2 AND ($3 = '' OR s.person_id = $3)
			ORDER BY s.id DESC LIMIT $4`, sqldb.Micros(tx.Now()), before, string(p.Person), p.Limit, sqldb.Micros(p.SeenAfter)), scanSession)
		return err
	})
	return all, err
}

// End implements identity.Sessions. A session that has ended stays as it is.
func (s *Store) End(ctx context.Context, e identity.SessionEnd) (out identity.Session, err error) {
	err = s.db.Write(ctx, "session_end", func(tx sqldb.Tx) error {
		var found bool
		out, found, err = sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+sessionColumns+sessionTables+` WHERE s.id = $1`, e.ID), scanSession)
		if err == nil && (!found || e.Person != "" && e.Person != out.Person.ID) {
			err = penstock.NotFound(penstock.ViewSession, e.ID)
		}
		if err != nil || !out.EndedAt.IsZero() {
			return err
		}
		out.EndedAt = tx.Now()
		if err := tx.Do(ctx, `UPDATE sessions SET ended_at = $2 WHERE id = $1`, e.ID, sqldb.Micros(out.EndedAt)); err != nil {
			return err
		}
		if _, err := raise(ctx, tx); err != nil {
			return err
		}
		return kept(s.audit.Write(ctx, tx, audit.Entry{Tenant: store.AuditOfOperators, Actor: e.Actor, Action: e.Action, Subject: penstock.ViewSession.Format(e.ID),
			Before: map[string]any{"person": out.Person.Name, "email": out.Person.Email}}), e.Condition)
	})
	return out, tried(err)
}

// Touch implements identity.Sessions.
func (s *Store) Touch(ctx context.Context, seen []identity.Seen) error {
	return s.db.Write(ctx, "session_touch", func(tx sqldb.Tx) error {
		tx.Relax() // nobody was promised it
		for _, one := range seen {
			if err := tx.Do(ctx, `UPDATE sessions SET seen_at = $2 WHERE id = $1 AND seen_at < $2`, one.Session, sqldb.Micros(one.At)); err != nil {
				return err
			}
		}
		return nil
	})
}

// AddLink implements identity.People.
func (s *Store) AddLink(ctx context.Context, hash string, expires time.Time) error {
	return s.db.Write(ctx, "sign_in_link", func(tx sqldb.Tx) error {
		return tx.Do(ctx, `INSERT INTO sign_in_links (token_hash, expires_at) VALUES ($1, $2)`, hash, sqldb.Micros(expires))
	})
}

// Purge implements identity.People.
func (s *Store) Purge(ctx context.Context, before time.Time) error {
	return s.db.Write(ctx, "purge_sessions", func(tx sqldb.Tx) error {
		if err := tx.Do(ctx, `DELETE FROM sign_in_links WHERE expires_at < $1`, sqldb.Micros(tx.Now())); err != nil {
			return err
		}
		return tx.Do(ctx, `DELETE FROM sessions WHERE expires_at < $1 OR ended_at > 0 AND ended_at < $1`, sqldb.Micros(before))
	})
}
