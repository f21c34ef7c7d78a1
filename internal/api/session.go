package api

import (
	"net/http"
	"time"

	"penstock"
	"penstock/internal/identity"
	"penstock/internal/rest"
	"penstock/internal/store"
)

// maxOwnSessions is how many of their sessions a person sees, the newest.
const maxOwnSessions = 100

// sessionRoutes are the sessions of the caller. Administrators have those of everybody: see package admin.
var sessionRoutes = []rest.Route{
	{Method: "GET", Path: "/v1/me/sessions", Summary: "List the sessions of the caller that have not ended, newest first",
		Answers: []rest.Answer{{Status: 200, About: "The newest 100. A key has none.", Body: rest.Page[ownSessionView]{}}}, Serve: on(people.sessions)},
	{Method: "DELETE", Path: "/v1/me/sessions/{session}", Audit: rest.Audit{Action: identity.ActionRevokeSession}, Summary: "Revoke a session of the caller, in every process within a second",
		Params:  []rest.Param{{Name: "session", In: "path", About: "The session's id, ses_….", Required: true}},
		Answers: []rest.Answer{{Status: 200, About: "The session as it is now.", Body: ownSessionView{}}}, Serve: on(people.revokeSession)},
}

// ownSessionView is a session as its person sees it.
type ownSessionView struct {
	Object    string     `json:"object"`
	ID        string     `json:"id"`
	Issuer    string     `json:"issuer" about:"How the person signed in: an issuer of the configuration, penstock:key or penstock:link."`
	UserAgent string     `json:"user_agent"`
	Address   string     `json:"address"`
	Current   bool       `json:"current" about:"Whether it is the session of this call."`
	CreatedAt time.Time  `json:"created_at"`
	SeenAt    time.Time  `json:"seen_at" about:"The last call, to a minute."`
	ExpiresAt time.Time  `json:"expires_at"`
	EndedAt   *time.Time `json:"ended_at"`
}

func (c people) sessionView(s identity.Session) ownSessionView {
	v := ownSessionView{Object: "session", ID: penstock.ViewSession.Format(s.ID), Issuer: s.Person.Issuer, UserAgent: s.UserAgent, Address: s.Address,
		Current: c.Principal.Person.Session == s.ID, CreatedAt: stamp(s.CreatedAt), SeenAt: stamp(s.SeenAt), ExpiresAt: stamp(s.ExpiresAt)}
	if !s.EndedAt.IsZero() {
		v.EndedAt = new(stamp(s.EndedAt))
	}
	return v
}

func (c people) sessions() error {
	c.keepOutOfCaches()
	page := rest.Page[ownSessionView]{Object: "list", Data: []ownSessionView{}}
	if c.Principal.Person == nil {
		return c.JSON(http.StatusOK, page)
	}
	all, err := c.People.ListSessions(c.R.Context(), identity.SessionPage{Person: c.Principal.Person.ID, Limit: maxOwnSessions})
	if err != nil {
		return err
	}
	for _, s := range all {
		page.Data = append(page.Data, c.sessionView(s))
	}
	return c.JSON(http.StatusOK, page)
}

func (c people) revokeSession() error {
	name := c.R.PathValue("session")
	id, err := penstock.ViewSession.Parse(name)
	if err != nil || c.Principal.Person == nil {
		return penstock.Errorf(penstock.CodeNotFound, "You have no session %s; GET /v1/me/sessions lists your sessions.", rest.Clip(name))
	}
	session, err := c.People.Revoke(c.R.Context(), identity.SessionEnd{ID: id, Person: c.Principal.Person.ID, Condition: store.Condition{Actor: c.Principal.Actor()}})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, c.sessionView(session))
}
