package api

import (
	"strconv"

	"github.com/go-json-experiment/json"

	"penstock"
	"penstock/internal/prompt/coedit"
	"penstock/internal/rest"
	"penstock/internal/sse"
)

// draftEventType is the type of an event of a draft.
type draftEventType string

// The types.
const (
	draftUpdates   draftEventType = "updates"
	draftStructure draftEventType = "structure"
	draftComments  draftEventType = "comments"
	draftPeople    draftEventType = "people"
	draftReset     draftEventType = "reset"
	draftGone      draftEventType = "gone"
)

// draftEvent is an event of a draft.
type draftEvent struct {
	Type     draftEventType     `json:"type" about:"updates: of one text, in their order. structure: it changed; read it again. comments and people: all of them. reset: the log does not reach back to after; read the structure again. gone: the draft was discarded."`
	Text     string             `json:"text,omitzero" about:"Of updates: the id of the text."`
	Updates  []draftUpdateView  `json:"updates,omitzero"`
	ETag     string             `json:"etag,omitzero" about:"Of structure."`
	Comments []draftCommentView `json:"comments,omitzero" about:"With their places after the updates that were sent before."`
	People   []draftPersonView  `json:"people,omitzero" about:"With their cursors after the updates that were sent before."`
}

// draftStream writes the events of a draft to one reader. It begins with the first.
type draftStream struct {
	c   coedits
	out *eventStream
}

// follow streams the changes of a draft.
func (c coedits) follow() error {
	r := coedit.Reader{Name: c.promptName(), Client: c.R.URL.Query().Get("client")}
	err := prompts(c).exists()
	if err != nil {
		return err
	}
	if r.After.Revision, err = c.QueryInt("after", 0); err != nil {
		return err
	}
	if last, err := strconv.ParseInt(c.R.Header.Get("Last-Event-ID"), 10, 64); err == nil {
		r.After.Revision = last
	}
	if r.After.Revision <= 0 {
		return penstock.InvalidParam("after", "after must be the revision of the structure that you have read.")
	}
	if r.Client != "" && !c.writes() {
		r.Client = "" // a reader is not shown
	}
	if err := c.stayOpen(openStream); err != nil {
		return err
	}
	ctx, cancel := c.waiting()
	defer cancel()
	s := &draftStream{c: c}
	defer s.stop()
	err = c.Coedit.Follow(ctx, c.Principal, r, s.send)
	if s.out == nil {
		return err
	}
	if penstock.ErrorCode(err) == penstock.CodeNotFound {
		_ = s.event(draftEvent{Type: draftGone}, 0) // the reader may have left as well
	}
	s.out.endedWithKey(0)
	return nil
}

// writes reports whether the caller may change prompts.
func (c coedits) writes() bool {
	if c.Principal.Kind == penstock.PrincipalPerson {
		return c.Principal.Has(developers...)
	}
	return c.Principal.May(penstock.ScopePromptsWrite)
}

func (s *draftStream) stop() {
	if s.out != nil {
		s.out.stop()
	}
}

// send writes what the reader lacks.
func (s *draftStream) send(d coedit.Delta) error {
	if s.out == nil {
		s.c.BeginEvents()
		s.out = newEventStream(s.c.call)
	}
	if d.Reset {
		return s.event(draftEvent{Type: draftReset}, d.Revision)
	}
	for len(d.Updates) > 0 {
		n := 1
		for n < len(d.Updates) && d.Updates[n].Text == d.Updates[0].Text {
			n++
		}
		e := draftEvent{Type: draftUpdates, Text: d.Updates[0].Text}
		for _, u := range d.Updates[:n] {
			e.Updates = append(e.Updates, newDraftUpdateView(u))
		}
		if err := s.event(e, d.Updates[n-1].Revision); err != nil {
			return err
		}
		d.Updates = d.Updates[n:]
	}
	if d.Shape != nil {
		if err := s.event(draftEvent{Type: draftStructure, ETag: rest.ETag(d.Shape.Structure)}, d.Revision); err != nil {
			return err
		}
	}
	if d.Comments != nil {
		if err := s.event(draftEvent{Type: draftComments, Comments: newDraftComments(s.c.Principal.Tenant.ID, *d.Comments)}, d.Revision); err != nil {
			return err
		}
	}
	if d.People != nil {
		return s.event(draftEvent{Type: draftPeople, People: newDraftPeople(*d.People)}, d.Revision)
	}
	return nil
}

func (s *draftStream) event(e draftEvent, revision int64) error {
	text, err := json.Marshal(e, rest.Lenient)
	if err != nil {
		return err
	}
	frame := sse.Event{Type: []byte(e.Type), Data: text}
	if revision > 0 {
		frame.ID = strconv.AppendInt(nil, revision, 10)
	}
	return s.out.write(sse.AppendEvent(nil, frame))
}
