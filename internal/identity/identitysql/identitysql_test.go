package identitysql_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"penstock"
	"penstock/internal/identity"
	"penstock/internal/identity/identitysql"
	"penstock/internal/rest"
	"penstock/internal/store"
	"penstock/internal/store/postgres/pgtest"
	"penstock/internal/store/schema/schematest"
	"penstock/internal/store/sqldb"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

var grace = store.Condition{Actor: "grace"}

// rig is the store on one engine.
type rig struct {
	*testing.T
	*identitysql.Store
	members identitysql.Members
	db      *sqldb.DB
	ids     penstock.IDs
}

func onEngines(t *testing.T, test func(r *rig)) {
	t.Helper()
	schematest.OnEngines(t, func(t *testing.T, db *sqldb.DB) {
		s := identitysql.New(db)
		test(&rig{T: t, Store: s, members: identitysql.Members{Store: s}, db: db})
	})
}

func (r *rig) must(what string, err error) {
	r.Helper()
	if err != nil {
		r.Fatalf("%s: %v", what, err)
	}
}

func (r *rig) wantCode(what string, err error, code penstock.Code) {
	r.Helper()
	if penstock.ErrorCode(err) != code {
		r.Errorf("%s: %v, want %s", what, err, code)
	}
}

func (r *rig) session(hash string, edit ...func(*identity.NewSession)) (identity.Session, error) {
	now := time.Now().UTC().Truncate(time.Microsecond)
	n := identity.NewSession{TokenHash: hash, Actor: "Ada", Session: identity.Session{
		ID: r.ids.New(now), Person: identity.Person{ID: r.ids.New(now), Issuer: "corp", Subject: "user-1", Name: "Ada\x00", Email: "ada@example.com"},
		Roles: []penstock.Role{penstock.RoleViewer}, Groups: []string{"a", "b"}, UserAgent: "browser \xff", Address: "127.0.0.1", CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(time.Hour),
	}}
	for _, e := range edit {
		e(&n)
	}
	return r.SignIn(r.Context(), n)
}

// audited are the actions that the audit has for a tenant, oldest first.
func (r *rig) audited(tenant penstock.TenantID) (actions []string) {
	r.Helper()
	r.must("read the audit", r.db.Read(r.Context(), func(tx sqldb.Tx) (err error) {
		actions, err = sqldb.QueryAll(r.Context(), tx, sqldb.SQL(`SELECT action FROM audit WHERE tenant_id = $1 ORDER BY id`, tenant), sqldb.ScanOne[string])
		return err
	}))
	return actions
}

func (r *rig) version() int64 {
	r.Helper()
	v, _, err := r.members.Grants(r.Context(), 0)
	r.must("read the version", err)
	return v
}

func TestSessions(t *testing.T) {
	t.Parallel()
	onEngines(t, func(r *rig) {
		first, err := r.session("aa")
		r.must("sign in", err)
		again, err := r.session("bb", func(n *identity.NewSession) { n.Person.Name, n.Person.Email = "Ada L.", "" })
		r.must("sign in again", err)
		if first.Person.ID != again.Person.ID {
			r.Errorf("one subject is the persons %s and %s", first.Person.ID, again.Person.ID)
		}
		read, err := r.Session(r.Context(), "aa")
		r.must("read", err)
		if read.Person.Name != "Ada L." || read.Person.Email != "" || !slices.Equal(read.Groups, []string{"a", "b"}) || !slices.Equal(read.Roles, []penstock.Role{penstock.RoleViewer}) || !read.ExpiresAt.Equal(first.ExpiresAt) {
			r.Errorf("read %+v", read)
		}
		_, err = r.Session(r.Context(), "cc")
		r.wantCode("an unknown token", err, penstock.CodeNotFound)
		if id, err := r.PersonID(r.Context(), "corp", "user-1"); err != nil || id != first.Person.ID {
			r.Errorf("the person is %s, %v", id, err)
		}
		if id, err := r.PersonID(r.Context(), "other", "user-1"); err != nil || id != "" {
			r.Errorf("the person of another issuer is %s, %v", id, err)
		}
		r.must("touch", r.Touch(r.Context(), []identity.Seen{{Session: first.ID, At: first.SeenAt.Add(time.Minute)}, {Session: first.ID, At: first.SeenAt}}))
		if read, err = r.Session(r.Context(), "aa"); err != nil || !read.SeenAt.Equal(first.SeenAt.Add(time.Minute)) {
			r.Errorf("last seen at %v, %v", read.SeenAt, err)
		}
		before := r.version()
		_, err = r.End(r.Context(), identity.SessionEnd{ID: first.ID, Action: identity.ActionRevokeSession, Condition: store.Condition{DryRun: true}})
		r.must("try the end", err)
		if all, err := r.List(r.Context(), identity.SessionPage{Limit: 10}); err != nil || len(all) != 2 || all[0].ID != again.ID || r.version() != before {
			r.Errorf("after a dry run: %v, %v", all, err)
		}
		if all, err := r.List(r.Context(), identity.SessionPage{Limit: 10, SeenAfter: first.SeenAt.Add(30 * time.Second)}); err != nil || len(all) != 1 || all[0].ID != first.ID {
			r.Errorf("%d sessions were used in the last seconds, %v", len(all), err)
		}
		if all, err := r.List(r.Context(), identity.SessionPage{Limit: 10, Person: first.Person.ID}); err != nil || len(all) != 2 {
			r.Errorf("of the person: %v, %v", all, err)
		}
		other := r.ids.New(time.Now())
		if all, err := r.List(r.Context(), identity.SessionPage{Limit: 10, Person: other}); err != nil || len(all) != 0 {
			r.Errorf("of another person: %v, %v", all, err)
		}
		_, err = r.End(r.Context(), identity.SessionEnd{ID: first.ID, Person: other, Action: identity.ActionRevokeSession, Condition: grace})
		r.wantCode("end the session of another person", err, penstock.CodeNotFound)
		ended, err := r.End(r.Context(), identity.SessionEnd{ID: first.ID, Person: first.Person.ID, Action: identity.ActionRevokeSession, Condition: grace})
		r.must("end", err)
		if ended.EndedAt.IsZero() || r.version() == before {
			r.Errorf("ended %+v, version %d", ended, r.version())
		}
		_, err = r.End(r.Context(), identity.SessionEnd{ID: first.ID, Action: identity.ActionRevokeSession, Condition: grace})
		r.must("end again", err)
		_, err = r.End(r.Context(), identity.SessionEnd{ID: r.ids.New(time.Now()), Condition: grace})
		r.wantCode("end an unknown session", err, penstock.CodeNotFound)
		if all, err := r.List(r.Context(), identity.SessionPage{Limit: 10}); err != nil || len(all) != 1 {
			r.Errorf("after the end: %v, %v", all, err)
		}
		if all, err := r.List(r.Context(), identity.SessionPage{Limit: 10, After: again.ID}); err != nil || len(all) != 0 {
			r.Errorf("the second page: %v, %v", all, err)
		}
		if got := r.audited(store.AuditOfOperators); !slices.Equal(got, []string{"session.create", "session.create", "session.revoke"}) {
			r.Errorf("the audit has %v", got)
		}
		r.must("purge", r.Purge(r.Context(), time.Now().Add(time.Minute)))
		_, err = r.Session(r.Context(), "aa")
		r.wantCode("a purged session", err, penstock.CodeNotFound)
		_, err = r.Session(r.Context(), "bb")
		r.must("a session that goes on", err)
	})
}

// TestOnce holds that a sign-in at an issuer makes one session, and a link too.
func TestOnce(t *testing.T) {
	t.Parallel()
	onEngines(t, func(r *rig) {
		once := func(n *identity.NewSession) { n.Once = "state" }
		_, err := r.session("aa", once)
		r.must("sign in", err)
		_, err = r.session("bb", once)
		r.wantCode("sign in again", err, penstock.CodeConflict)
		r.must("add a link", r.AddLink(r.Context(), "link", time.Now().Add(time.Hour)))
		link := func(n *identity.NewSession) { n.Link = "link" }
		_, err = r.session("cc", link)
		r.must("use the link", err)
		_, err = r.session("dd", link)
		r.wantCode("use the link again", err, penstock.CodeNotFound)
		_, err = r.Session(r.Context(), "dd")
		r.wantCode("the session of a used link", err, penstock.CodeNotFound)
	})
}

func TestMembers(t *testing.T) {
	t.Parallel()
	onEngines(t, func(r *rig) {
		ada := identity.Member{ID: r.ids.New(time.Now()), Email: "ada@example.com", Tenant: "acme", Role: penstock.RoleViewer, Actor: "grace"}
		granted, err := r.members.Grant(r.Context(), ada, grace)
		r.must("grant", err)
		twin := ada
		twin.ID = r.ids.New(time.Now())
		_, err = r.members.Grant(r.Context(), twin, grace)
		r.wantCode("grant again", err, penstock.CodeConflict)
		twin.Tenant = ""
		_, err = r.members.Grant(r.Context(), twin, store.Condition{DryRun: true})
		r.must("try a grant for all", err)
		twin.Person, twin.Email = r.ids.New(time.Now()), ""
		_, err = r.members.Grant(r.Context(), twin, grace)
		r.wantCode("grant to nobody", err, penstock.CodeNotFound)

		changed, err := r.members.Change(r.Context(), granted.ID, penstock.RoleDeveloper, store.Condition{Actor: "grace", IfVersion: granted.Version})
		r.must("change", err)
		_, err = r.members.Change(r.Context(), granted.ID, penstock.RoleAuditor, store.Condition{Actor: "grace", IfVersion: granted.Version})
		r.wantCode("change an old version", err, penstock.CodeConflict)
		other := ada
		other.ID = r.ids.New(time.Now())
		_, err = r.members.Grant(r.Context(), other, grace)
		r.must("grant the first role again", err)
		_, err = r.members.Change(r.Context(), other.ID, penstock.RoleDeveloper, grace)
		r.wantCode("change to a role that is granted", err, penstock.CodeConflict)
		acme, umbra := penstock.TenantID("acme"), penstock.TenantID("umbra")
		if all, err := r.members.Members(r.Context(), identity.MemberPage{Tenant: &acme, Limit: 10}); err != nil || len(all) != 2 || all[0].Role != penstock.RoleDeveloper {
			r.Errorf("members of acme: %v, %v", all, err)
		}
		if all, err := r.members.Members(r.Context(), identity.MemberPage{Tenant: &umbra, Limit: 10}); err != nil || len(all) != 0 {
			r.Errorf("members of umbra: %v, %v", all, err)
		}
		if all, err := r.members.Members(r.Context(), identity.MemberPage{After: granted.ID, Limit: 10}); err != nil || len(all) != 1 || all[0].ID != other.ID {
			r.Errorf("the second page: %v, %v", all, err)
		}
		version, all, err := r.members.Grants(r.Context(), 0)
		if err != nil || len(all) != 2 || version < changed.Version {
			r.Errorf("grants: %d %v, %v", version, all, err)
		}
		if _, all, err := r.members.Grants(r.Context(), version); err != nil || all != nil {
			r.Errorf("grants of a known version: %v, %v", all, err)
		}
		_, err = r.members.Remove(r.Context(), granted.ID, grace)
		r.must("remove", err)
		_, err = r.members.Remove(r.Context(), granted.ID, grace)
		r.wantCode("remove again", err, penstock.CodeNotFound)
		if got := r.audited("acme"); !slices.Equal(got, []string{"member.grant", "member.change", "member.grant", "member.remove"}) {
			r.Errorf("the audit of acme has %v", got)
		}
		if got := r.audited(store.AuditOfOperators); len(got) != 0 {
			r.Errorf("the audit of operators has %v", got)
		}
	})
}

func TestReveal(t *testing.T) {
	t.Parallel()
	onEngines(t, func(r *rig) {
		r.must("reveal", r.Reveal(r.Context(), rest.Reveal{Actor: "Ada", Tenant: "acme", Subject: "job_1\x00", Route: "GET /v1/jobs/{id}"}))
		if got := r.audited("acme"); !slices.Equal(got, []string{"payload.reveal"}) {
			r.Errorf("the audit has %v", got)
		}
	})
}
