package admin

import (
	"net/http"
	"time"

	"penstock"
	"penstock/internal/identity"
	"penstock/internal/rest"
	"penstock/internal/store"
)

// memberRoutes are the routes of members and sessions.
var memberRoutes = []rest.Route{
	{Method: "GET", Path: "/admin/v1/members", Roles: admins, Summary: "List the roles that were granted; the first page begins with those of the configuration",
		Params:  []rest.Param{{Name: "tenant", In: "query", About: "Only roles in this tenant; - for roles in all tenants."}, limitParam, afterParam},
		Answers: []rest.Answer{{Status: 200, About: "A page of members.", Body: rest.Page[memberView]{}}}, Serve: on(members.list)},
	{Method: "POST", Path: "/admin/v1/members", Audit: rest.Audit{Action: identity.ActionGrantMember}, Roles: admins, Summary: "Grant a role to an e-mail address or a person", Params: changing(), Body: memberFields{},
		Answers: []rest.Answer{{Status: 201, About: "The member, with an ETag. 409 if there is the same one.", Body: memberView{}, Example: exampleMember},
			{Status: 200, About: "With dry_run: the member as it would be.", Body: memberView{}}}, Serve: on(members.grant)},
	{Method: "PATCH", Path: "/admin/v1/members/{member}", Audit: rest.Audit{Action: identity.ActionChangeMember}, Roles: admins, Summary: "Give a member another role",
		Params: changing(memberParam), Body: memberRole{},
		Answers: []rest.Answer{{Status: 200, About: "The member as it is now, with an ETag.", Body: memberView{}}}, Serve: on(members.change)},
	{Method: "DELETE", Path: "/admin/v1/members/{member}", Audit: rest.Audit{Action: identity.ActionRemoveMember}, Roles: admins, Summary: "Remove a member; open sessions lose the role within a second",
		Params: changing(memberParam), Answers: []rest.Answer{{Status: 200, About: "The member as it was.", Body: memberView{}}}, Serve: on(members.remove)},
	{Method: "GET", Path: "/admin/v1/sessions", Roles: admins, Summary: "List the sessions that have not ended, newest first",
		Params:  []rest.Param{{Name: "person", In: "query", About: "Only sessions of this person, per_…."}, limitParam, afterParam},
		Answers: []rest.Answer{{Status: 200, About: "A page of sessions.", Body: rest.Page[sessionView]{}}}, Serve: on(members.sessions)},
	{Method: "DELETE", Path: "/admin/v1/sessions/{session}", Audit: rest.Audit{Action: identity.ActionRevokeSession}, Roles: admins, Summary: "Revoke a session, in every process within a second",
		Params:  []rest.Param{{Name: "session", In: "path", About: "The session's id, ses_….", Required: true}, actorParam, dryRun},
		Answers: []rest.Answer{{Status: 200, About: "The session as it is now.", Body: sessionView{}}}, Serve: on(members.revoke)},
}

var memberParam = rest.Param{Name: "member", In: "path", About: "The member's id, mem_….", Required: true}

// memberView is a granted role.
type memberView struct {
	Object    string             `json:"object"`
	ID        *string            `json:"id" about:"null for a member of the configuration file, which only the file changes."`
	Source    store.TenantSource `json:"source"`
	Email     *string            `json:"email"`
	Person    *string            `json:"person" about:"The id of a person, per_…, if the role was granted to one."`
	Group     *string            `json:"group" about:"The group of the issuer that has the role."`
	Issuer    *string            `json:"issuer"`
	Tenant    *penstock.TenantID `json:"tenant" about:"null for all tenants."`
	Role      penstock.Role      `json:"role"`
	Actor     *string            `json:"actor" about:"Who granted it."`
	CreatedAt *time.Time         `json:"created_at"`
	ETag      string             `json:"etag,omitzero"`
	DryRun    bool               `json:"dry_run,omitzero" about:"Nothing was changed: this is the result that the change would have."`
}

func newMemberView(m identity.Member) memberView {
	v := memberView{Object: "member", Source: store.SourceFile, Email: named(m.Email), Group: named(m.Group), Issuer: named(m.Issuer), Role: m.Role, Actor: named(m.Actor), CreatedAt: moment(m.CreatedAt)}
	if m.Tenant != "" {
		v.Tenant = &m.Tenant
	}
	if m.ID != "" {
		v.ID, v.Source, v.ETag = named(penstock.ViewMember.Format(m.ID)), store.SourceAPI, rest.ETag(m.Version)
	}
	if m.Person != "" {
		v.Person = named(penstock.ViewPerson.Format(m.Person))
	}
	return v
}

// memberFields is the body that grants a role.
type memberFields struct {
	Email  string            `json:"email,omitzero" about:"The address of the person, as an issuer verifies it. Either email or person."`
	Person string            `json:"person,omitzero" about:"The id of a person who has signed in, per_…."`
	Tenant penstock.TenantID `json:"tenant,omitzero" about:"All tenants when not given."`
	Role   penstock.Role     `json:"role" required:"true"`
}

type memberRole struct {
	Role penstock.Role `json:"role" required:"true"`
}

// people returns the service, and refuses calls to a process without it. Codes: not_found.
func (c *call) people() (*identity.Service, error) {
	if c.Identity == nil {
		return nil, penstock.Errorf(penstock.CodeNotFound, "This process knows no people.")
	}
	return c.Identity, nil
}

func (c members) list() error {
	s, err := c.people()
	if err != nil {
		return err
	}
	page := identity.MemberPage{}
	limit, err := c.PageLimit(pageSize)
	if err != nil {
		return err
	}
	if tenant := penstock.TenantID(c.R.URL.Query().Get("tenant")); tenant == "-" {
		page.Tenant = new(penstock.TenantID)
	} else if tenant != "" {
		page.Tenant = &tenant
	}
	if after := c.R.URL.Query().Get("after"); after != "" {
		if page.After, err = parseID(penstock.ViewMember, "after", after); err != nil {
			return err
		}
	}
	page.Limit = limit + 1
	all, err := s.Members.Members(c.R.Context(), page)
	if err != nil {
		return err
	}
	out := rest.Page[memberView]{Object: "list", Data: []memberView{}, HasMore: len(all) > limit}
	if page.After == "" {
		for _, m := range s.Configured() {
			if page.Tenant == nil || *page.Tenant == m.Tenant {
				out.Data = append(out.Data, newMemberView(m))
			}
		}
	}
	for _, m := range all[:min(limit, len(all))] {
		out.Data = append(out.Data, newMemberView(m))
	}
	return c.JSON(http.StatusOK, out)
}

func (c members) grant() error {
	var in memberFields
	on, err := c.call.change(&in)
	if err != nil {
		return err
	}
	s, err := c.people()
	if err != nil {
		return err
	}
	m := identity.Member{Email: in.Email, Tenant: in.Tenant, Role: in.Role}
	if in.Person != "" {
		if m.Person, err = parseID(penstock.ViewPerson, "person", in.Person); err != nil {
			return err
		}
	}
	m, err = s.Grant(c.R.Context(), m, on)
	return c.answerMember(http.StatusCreated, m, on, err)
}

func (c members) change() error {
	var in memberRole
	on, err := c.call.change(&in)
	if err != nil {
		return err
	}
	return c.edit(on, func(s *identity.Service, id penstock.ID) (identity.Member, error) {
		return s.ChangeMember(c.R.Context(), id, in.Role, on)
	})
}

func (c members) remove() error {
	on, err := c.condition()
	if err != nil {
		return err
	}
	return c.edit(on, func(s *identity.Service, id penstock.ID) (identity.Member, error) {
		return s.RemoveMember(c.R.Context(), id, on)
	})
}

// edit changes the member that the path names.
func (c members) edit(on store.Condition, by func(*identity.Service, penstock.ID) (identity.Member, error)) error {
	s, err := c.people()
	if err != nil {
		return err
	}
	id, err := parseID(penstock.ViewMember, "member", c.R.PathValue("member"))
	if err != nil {
		return err
	}
	m, err := by(s, id)
	return c.answerMember(http.StatusOK, m, on, err)
}

func (c members) answerMember(status int, m identity.Member, on store.Condition, err error) error {
	if err != nil {
		return err
	}
	view := newMemberView(m)
	if view.DryRun = on.DryRun; on.DryRun {
		status = http.StatusOK
		view.ETag = ""
	} else {
		c.W.Header().Set("ETag", view.ETag)
	}
	return c.JSON(status, view)
}

// parseID reads an id. An id of the wrong form cannot exist, so it is not found.
func parseID(view penstock.View, param, text string) (penstock.ID, error) {
	id, err := view.Parse(text)
	if err != nil {
		return "", &penstock.Error{Code: penstock.CodeNotFound, Param: param, Message: err.Error() + "."}
	}
	return id, nil
}

// sessionView is a session as administrators see it.
type sessionView struct {
	Object    string     `json:"object"`
	ID        string     `json:"id"`
	Person    string     `json:"person" about:"The id of the person, per_…."`
	Name      string     `json:"name"`
	Email     *string    `json:"email"`
	Issuer    string     `json:"issuer" about:"The issuer of the configuration; penstock:key and penstock:link for sign-ins with an operator's key and with a one-time link."`
	UserAgent string     `json:"user_agent"`
	Address   string     `json:"address"`
	Current   bool       `json:"current" about:"Whether it is the session of the caller."`
	CreatedAt time.Time  `json:"created_at"`
	SeenAt    time.Time  `json:"seen_at" about:"The last call, to a minute."`
	ExpiresAt time.Time  `json:"expires_at"`
	EndedAt   *time.Time `json:"ended_at"`
	DryRun    bool       `json:"dry_run,omitzero" about:"Nothing was changed: this is the result that the change would have."`
}

func (c members) sessionView(s identity.Session) sessionView {
	return sessionView{
		Object: "session", ID: penstock.ViewSession.Format(s.ID), Person: penstock.ViewPerson.Format(s.Person.ID), Name: s.Person.Name, Email: named(s.Person.Email), Issuer: s.Person.Issuer,
		UserAgent: s.UserAgent, Address: s.Address, Current: c.Principal.Person != nil && c.Principal.Person.Session == s.ID,
		CreatedAt: s.CreatedAt, SeenAt: s.SeenAt, ExpiresAt: s.ExpiresAt, EndedAt: moment(s.EndedAt),
	}
}

func (c members) sessions() error {
	s, err := c.people()
	if err != nil {
		return err
	}
	limit, err := c.PageLimit(pageSize)
	if err != nil {
		return err
	}
	page := identity.SessionPage{Limit: limit + 1}
	if person := c.R.URL.Query().Get("person"); person != "" {
		if page.Person, err = parseID(penstock.ViewPerson, "person", person); err != nil {
			return err
		}
	}
	if after := c.R.URL.Query().Get("after"); after != "" {
		if page.After, err = parseID(penstock.ViewSession, "after", after); err != nil {
			return err
		}
	}
	all, err := s.ListSessions(c.R.Context(), page)
	if err != nil {
		return err
	}
	out := rest.Page[sessionView]{Object: "list", Data: []sessionView{}, HasMore: len(all) > limit}
	for _, one := range all[:min(limit, len(all))] {
		out.Data = append(out.Data, c.sessionView(one))
	}
	return c.JSON(http.StatusOK, out)
}

func (c members) revoke() error {
	on, err := c.condition()
	if err != nil {
		return err
	}
	s, err := c.people()
	if err != nil {
		return err
	}
	id, err := parseID(penstock.ViewSession, "session", c.R.PathValue("session"))
	if err != nil {
		return err
	}
	session, err := s.Revoke(c.R.Context(), identity.SessionEnd{ID: id, Condition: on})
	if err != nil {
		return err
	}
	view := c.sessionView(session)
	view.DryRun = on.DryRun
	return c.JSON(http.StatusOK, view)
}
