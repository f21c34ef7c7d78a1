package admin

import (
	"context"

	"penstock/internal/live"
	"penstock/internal/rest"
)

// liveRoutes are the live events of all tenants.
var liveRoutes = []rest.Route{
	{Method: "GET", Path: "/admin/v1/live", Roles: viewers, Summary: "Follow changes of all tenants, as server-sent events",
		Params: []rest.Param{
			{Name: "topics", In: "query", About: "As in GET /v1/live, and targets."},
			{Name: "Last-Event-ID", In: "header", About: "As in GET /v1/live."}},
		Answers: []rest.Answer{{Status: 200, About: "Events as in GET /v1/live, of all tenants.", Type: rest.TypeSSE, Body: live.Event{}}},
		Serve:   on(process.followLive)},
}

// followLive streams the events of all tenants, until the caller's key or session ends or the process stops.
func (c process) followLive() error {
	topics, err := live.ReadTopics(c.R.URL.Query().Get("topics"), live.Topics)
	if err != nil {
		return err
	}
	s, err := c.Live.Open(live.Reader{Name: "operator " + c.Principal.Key, Topics: topics, After: c.R.Header.Get("Last-Event-ID")})
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(c.R.Context())
	defer cancel()
	open := &openStream{end: cancel, w: c.W}
	switch {
	case c.Principal.Person != nil:
		c.Identity.Watch(open, c.R)
		defer c.Identity.Unwatch(open)
	case rest.PresentedKey(c.R) != "" && c.Principal.Key != "":
		c.Directory.Watch(open, c.Directory.Refusal(rest.PresentedKey(c.R)))
		defer c.Directory.Unwatch(open)
	}
	go func() {
		select {
		case <-c.Draining:
			cancel()
		case <-ctx.Done():
		}
	}()
	c.BeginEvents()
	if s.Follow(ctx, c.W) == nil {
		_ = c.W.Send() // the reader may have left as well
	}
	return nil
}

// openStream is a stream that ends with the key or the session of its reader.
type openStream struct {
	end context.CancelFunc
	w   *rest.Response
}

// End implements directory.OpenCall.
func (o *openStream) End(error) {
	o.end()
	o.w.Hurry()
}
