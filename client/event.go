package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"time"

	"penstock"
)

// Event is an entry of a job's log.
type Event struct {
	ID        string             `json:"id"`  // evt_…
	Seq       int64              `json:"seq"` // counts from 1
	Type      penstock.EventType `json:"type"`
	CreatedAt time.Time          `json:"created_at"`
	JobID     string             `json:"job_id"`
	ItemID    string             `json:"item_id"` // "" for events of the job
	Attempt   int                `json:"attempt"` // of item.delta and item.reset: which run of the item says so
	Data      *Result            `json:"-"`       // how the item ended, without its response; nil for all other events
	Text      string             `json:"-"`       // of item.delta: what the answer goes on with

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (e *Event) UnmarshalJSON(text []byte) error {
	type plain Event
	if err := keepRaw(text, (*plain)(e), &e.Raw); err != nil {
		return err
	}
	var data any
	switch e.Type {
	case penstock.EventItemSucceeded, penstock.EventItemFailed, penstock.EventItemCancelled, penstock.EventItemExpired:
		data = &struct{ Data **Result }{&e.Data}
	case penstock.EventItemDelta:
		data = &struct{ Data *struct{ Text *string } }{&struct{ Text *string }{&e.Text}}
	default:
		return nil
	}
	return json.Unmarshal(text, data)
}

// Events yields a job's events with numbers above after, as they happen, up to and including
// job.finished. A broken connection is taken up behind the last event, at most Config.MaxTries times in
// a row without a new one. Codes: not_found.
func (c *Client) Events(ctx context.Context, jobID string, after int64) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		f := follower{client: c, job: jobID, after: after, start: after, yield: yield}
		if err := f.run(ctx); err != nil {
			yield(nil, err)
		}
	}
}

// follower reads a job's log over as many connections as it takes.
type follower struct {
	client *Client
	job    string
	start  int64 // where the reader began
	after  int64 // the last event that the reader has
	yield  func(*Event, error) bool
	over   bool // the reader has the last event, or left
}

var errEnded = errors.New("the stream of events ended before job.finished")

func (f *follower) run(ctx context.Context) error {
	for failed := 1; ; failed++ {
		before := f.after
		err := f.follow(ctx)
		if f.over {
			return nil
		}
		if err == nil {
			if err = f.ended(ctx); f.over {
				return nil
			}
		}
		if f.after > before {
			failed = 1
		}
		if err := f.client.pause(ctx, failed, err); err != nil {
			return err
		}
	}
}

// ended judges a stream that ended in good order, but without the job's last event: the server is about
// to stop, or the reader had that event before it came.
func (f *follower) ended(ctx context.Context) error {
	if f.start > 0 && f.after == f.start {
		job, err := f.client.Job(ctx, f.job)
		if err != nil {
			return err
		}
		f.over = job.Finished()
	}
	return f.client.unreachable("following a job at", errEnded)
}

// follow reads one stream to its end.
func (f *follower) follow(ctx context.Context) error {
	call := call{method: http.MethodGet, path: jobPath(f.job) + "/events", header: http.Header{"Accept": {"text/event-stream"}}}
	if f.after > 0 {
		call.header.Set("Last-Event-ID", strconv.FormatInt(f.after, 10))
	}
	s, err := f.client.open(ctx, call)
	if err != nil {
		return err
	}
	defer s.close()
	for !f.over {
		data, err := s.event()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		e, err := decode[Event](call, data)
		if err != nil {
			return err
		}
		if e.Seq <= f.after {
			return fmt.Errorf("%s: the server sent event %d after event %d", call.path, e.Seq, f.after)
		}
		f.after = e.Seq
		f.over = !f.yield(e, nil) || e.Type == penstock.EventJobFinished
	}
	return nil
}

// event returns the data of the next server-sent event. What else the format knows is not needed: the
// number and the type of an event are in its data too.
func (s *stream) event() ([]byte, error) {
	var data []byte
	for {
		line, err := s.next()
		if err != nil {
			return nil, err
		}
		if len(line) == 0 && data != nil {
			return data, nil
		}
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
			if len(data) > MaxLineBytes {
				return nil, fmt.Errorf("an event is longer than %d bytes", MaxLineBytes)
			}
		}
	}
}
