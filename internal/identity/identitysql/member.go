package identitysql

import (
	"cmp"
	"context"
	"fmt"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/identity"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// Members are the grants. They are a type of their own because people and sessions have lists too.
type Members struct{ *Store }

var _ identity.Members = Members{}

const memberColumns = `id, person_id, email, tenant_id, role, actor, version, created_at`

func scanMember(row sqldb.Row) (m identity.Member, err error) {
	var created int64
	err = row.Scan(&m.ID, &m.Person, &m.Email, &m.Tenant, &m.Role, &m.Actor, &m.Version, &created)
	if err != nil {
		return m, fmt.Errorf("scanning member: %w", err)
	}
	m.CreatedAt = sqldb.FromMicros(created)
	return m, nil
}

// Grants implements identity.Members.
func (s Members) Grants(ctx context.Context, known int64) (version int64, all []identity.Member, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		version, _, err = sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT version FROM identity WHERE id = 1`), sqldb.ScanOne[int64])
		if err != nil || version == known {
			return err
		}
		all, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+memberColumns+` FROM members ORDER BY id LIMIT $1`, identity.MaxMembers), scanMember)
		return err
	})
	return version, all, err
}

// Members implements identity.Members.
func (s Members) Members(ctx context.Context, p identity.MemberPage) (all []identity.Member, err error) {
	anyTenant, tenant := int64(1), penstock.TenantID("")
	if p.Tenant != nil {
		anyTenant, tenant = 0, *p.Tenant
	}
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		all, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+memberColumns+` FROM members WHERE id > $1 AND ($2 = 1 OR tenant_id = $3) ORDER BY id LIMIT $4`,
			p.After, anyTenant, tenant, p.Limit), scanMember)
		return err
	})
	return all, err
}

// change runs a change of members under the next version, and keeps it unless it is a dry run. Holding the row of identity
// makes changes follow each other, so that counts stay true.
func (s Members) change(ctx context.Context, name string, c store.Condition, fn func(tx sqldb.Tx, version int64) error) error {
	return tried(s.db.Write(ctx, name, func(tx sqldb.Tx) error {
		version, err := raise(ctx, tx)
		if err != nil {
			return err
		}
		return kept(fn(tx, version), c)
	}))
}

// Grant implements identity.Members.
func (s Members) Grant(ctx context.Context, m identity.Member, c store.Condition) (identity.Member, error) {
	err := s.change(ctx, "member_grant", c, func(tx sqldb.Tx, version int64) error {
		if err := checkGrant(ctx, tx, m); err != nil {
			return err
		}
		m.Version, m.CreatedAt = version, tx.Now()
		n, err := tx.Exec(ctx, `INSERT INTO members (id, person_id, email, tenant_id, role, actor, version, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (person_id, email, tenant_id, role) DO NOTHING`,
			m.ID, m.Person, m.Email, m.Tenant, m.Role, sqldb.Storable(m.Actor), version, sqldb.Micros(m.CreatedAt))
		if err != nil {
			return err
		}
		if n == 0 {
			return alreadyGranted(m)
		}
		return s.note(ctx, tx, m, audit.Entry{Actor: c.Actor, Action: identity.ActionGrantMember, After: fields(m)})
	})
	return m, err
}

func alreadyGranted(m identity.Member) error {
	return penstock.Errorf(penstock.CodeConflict, "This person has the role %s already.", m.Role)
}

// checkGrant checks the bound on members, and that the person is known. Codes: conflict, not_found.
func checkGrant(ctx context.Context, tx sqldb.Tx, m identity.Member) error {
	n, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT COUNT(*) FROM members`), sqldb.ScanOne[int64])
	if err == nil && n >= identity.MaxMembers {
		err = penstock.Errorf(penstock.CodeConflict, "There are %d members already, which is the most; remove some, or map groups to roles.", n)
	}
	if err != nil || m.Person == "" {
		return err
	}
	_, known, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT 1 FROM people WHERE id = $1`, m.Person), sqldb.ScanOne[int64])
	if err == nil && !known {
		err = penstock.NotFound(penstock.ViewPerson, m.Person)
	}
	return err
}

// find reads a member for a change. Codes: not_found, conflict.
func find(ctx context.Context, tx sqldb.Tx, id penstock.ID, c store.Condition) (identity.Member, error) {
	m, found, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+memberColumns+` FROM members WHERE id = $1`, id), scanMember)
	if err == nil && !found {
		err = penstock.NotFound(penstock.ViewMember, id)
	}
	if err == nil && c.IfVersion != 0 && c.IfVersion != m.Version {
		err = penstock.Stale("The member")
	}
	return m, err
}

// Change implements identity.Members.
func (s Members) Change(ctx context.Context, id penstock.ID, role penstock.Role, c store.Condition) (m identity.Member, err error) {
	err = s.change(ctx, "member_change", c, func(tx sqldb.Tx, version int64) error {
		before, err := find(ctx, tx, id, c)
		if err != nil {
			return err
		}
		m = before
		m.Role, m.Version = role, version
		_, taken, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT 1 FROM members WHERE person_id = $1 AND email = $2 AND tenant_id = $3 AND role = $4 AND id <> $5`,
			m.Person, m.Email, m.Tenant, role, id), sqldb.ScanOne[int64])
		if err != nil {
			return err
		}
		if taken {
			return alreadyGranted(m)
		}
		if err := tx.Do(ctx, `UPDATE members SET role = $2, version = $3 WHERE id = $1`, id, role, version); err != nil {
			return err
		}
		return s.note(ctx, tx, m, audit.Entry{Actor: c.Actor, Action: identity.ActionChangeMember, Before: fields(before), After: fields(m)})
	})
	return m, err
}

// Remove implements identity.Members.
func (s Members) Remove(ctx context.Context, id penstock.ID, c store.Condition) (m identity.Member, err error) {
	err = s.change(ctx, "member_remove", c, func(tx sqldb.Tx, _ int64) error {
		if m, err = find(ctx, tx, id, c); err != nil {
			return err
		}
		if err := tx.Do(ctx, `DELETE FROM members WHERE id = $1`, id); err != nil {
			return err
		}
		return s.note(ctx, tx, m, audit.Entry{Actor: c.Actor, Action: identity.ActionRemoveMember, Before: fields(m)})
	})
	return m, err
}

// note writes the audit entry of a member, under its tenant.
func (s Members) note(ctx context.Context, tx sqldb.Tx, m identity.Member, e audit.Entry) error {
	e.Tenant, e.Subject = cmp.Or(m.Tenant, store.AuditOfOperators), penstock.ViewMember.Format(m.ID)
	return s.audit.Write(ctx, tx, e)
}

// fields are what the audit shows of a member.
func fields(m identity.Member) map[string]any {
	out := map[string]any{"role": m.Role, "tenant": m.Tenant}
	if m.Person != "" {
		out["person"] = penstock.ViewPerson.Format(m.Person)
	} else {
		out["email"] = m.Email
	}
	return out
}
