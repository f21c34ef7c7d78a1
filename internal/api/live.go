package api

import (
	"penstock"
	"penstock/internal/live"
	"penstock/internal/rest"
)

// liveRoutes are the live events of a tenant.
var liveRoutes = []rest.Route{
	{Method: "GET", Path: "/v1/live", Scope: penstock.ScopeJobsRead, Summary: "Follow changes of jobs, batches, dead letters, load, deliveries, requests, prompts and the audit, as server-sent events",
		Params: []rest.Param{
			{Name: "topics", In: "query", About: "The topics to follow, separated by commas: jobs, batches, dead_letters, load, deliveries, audit, requests, prompts. All of them when not given."},
			{Name: "Last-Event-ID", In: "header", About: "The id of the last event of an earlier stream. The stream goes on behind it, or begins with the event reset: fetch everything again."}},
		Answers: []rest.Answer{{Status: 200, About: "Events: hints to fetch again, with the figures that change most. A stream begins with hello, has a comment every 15 s, and ends when its key or session does, or when the server stops; then reconnect after the time in retry.",
			Type: rest.TypeSSE, Body: live.Event{}}},
		Serve: on(reports.followLive)},
}

// followLive streams the events of the caller's tenant.
func (c reports) followLive() error {
	topics, err := live.ReadTopics(c.R.URL.Query().Get("topics"), live.TenantTopics)
	if err != nil {
		return err
	}
	if err := c.stayOpen(openStream); err != nil {
		return err
	}
	tenant := c.Principal.Tenant.ID
	s, err := c.Live.Open(live.Reader{Name: string(tenant) + "/" + c.Principal.Key, Tenant: tenant, Topics: topics, After: c.R.Header.Get("Last-Event-ID")})
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, cancel := c.waiting()
	defer cancel()
	c.BeginEvents()
	if err := s.Follow(ctx, c.W); err != nil {
		return nil // the reader left
	}
	if ended := c.keyEnded(); ended != nil {
		_, _ = c.W.Write(c.errorEvent(penstock.AsError(ended), []byte("error"), 0)) // the reader may have left as well
	}
	_ = c.W.Send()
	return nil
}
