package api

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect/openai"
	"penstock/internal/rest"
	"penstock/internal/sse"
	"penstock/internal/store"
)

// responseStream writes a job's log as the events of an OpenAI response. Its events are numbered by their position, so
// that every reader gets the same numbers, whenever and from wherever it reads.
type responseStream struct {
	*eventStream
	job   penstock.Job
	echo  openai.Echo
	after int64 // the number of the last event that the reader has
	next  int64
}

// streamResponse streams the events of a response after a given one.
func (c responses) streamResponse(job penstock.Job, after int64) error {
	page := store.EventPage{Job: job.ID, Limit: 1, Kept: c.Principal.Tenant.Retention.Events}
	if _, err := c.Jobs.Events(c.R.Context(), c.Principal.Tenant.ID, page); err != nil {
		return err
	}
	echo, err := c.echo(job)
	if err != nil {
		return err
	}
	c.beginEvents()
	stream := &responseStream{eventStream: newEventStream(c.call), job: job, echo: echo, after: after}
	defer stream.stop()
	ctx, cancel := c.waiting()
	defer cancel()
	for event, err := range c.Reader.Follow(ctx, c.Principal.Tenant.ID, page) {
		if err != nil {
			c.Fail(err)
			panic(http.ErrAbortHandler) // so that the reader reconnects and does not take this for the end
		}
		if err := stream.send(event); err != nil {
			return nil // the reader left, or the process stops
		}
	}
	stream.endedWithKey(int(stream.next))
	return nil
}

// ours are the lifecycle events of a response. They come from the job's own log, not from the upstream: the upstream's
// response is another one, and started later.
var ours = []string{"response.created", "response.queued", "response.in_progress"}

func (s *responseStream) send(e penstock.Event) error {
	switch e.Type {
	case penstock.EventJobQueued:
		for _, typ := range []string{"response.created", "response.queued"} {
			if err := s.state(typ, newKeptView(s.job, "queued", s.echo)); err != nil {
				return err
			}
		}
	case penstock.EventJobStarted, penstock.EventItemReset:
		return s.state("response.in_progress", newKeptView(s.job, "in_progress", s.echo))
	case penstock.EventItemDelta:
		for line := range bytes.Lines(e.Delta.Data) {
			if err := s.pass(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
				return err
			}
		}
	case penstock.EventItemSucceeded, penstock.EventItemFailed, penstock.EventItemCancelled, penstock.EventItemExpired:
		return s.end(e)
	}
	return nil
}

// state sends the state of the response as a whole.
func (s *responseStream) state(typ string, response any) error {
	text, err := json.Marshal(struct {
		Type     string `json:"type"`
		Number   int64  `json:"sequence_number"`
		Response any    `json:"response"`
	}{typ, s.next, response}, json.Deterministic(true), rest.Lenient)
	if err != nil {
		return err
	}
	return s.number(typ, text)
}

// pass sends an event of the upstream with the stream's own number.
func (s *responseStream) pass(line []byte) error {
	o, err := body.Scan(line)
	if err != nil {
		return err
	}
	typ, err := o.String("type")
	if err != nil || slices.Contains(ours, typ) {
		return err
	}
	return s.number(typ, body.Apply(line, o.Replace("sequence_number", strconv.FormatInt(s.next, 10))))
}

// number sends the next event, unless the reader has it.
func (s *responseStream) number(typ string, text []byte) error {
	at := s.next
	s.next++
	if at <= s.after {
		return nil
	}
	return s.write(sse.AppendEvent(nil, sse.Event{Type: []byte(typ), Data: text}))
}

// end sends the last event of the response.
func (s *responseStream) end(e penstock.Event) error {
	job := s.job
	job.FinishedAt = e.CreatedAt // the object depends on nothing else
	object, err := responses{s.c}.responseObject(job)
	if err != nil {
		return err
	}
	typ := "response.failed" // also for a cancelled one: its status is cancelled
	if whole, ok := object.(jsontext.Value); ok {
		typ = "response.completed"
		var said struct {
			Status string `json:"status"`
		}
		if json.Unmarshal(whole, &said, rest.Lenient) == nil && said.Status == "incomplete" {
			typ = "response.incomplete"
		}
	}
	return s.state(typ, object)
}
