package api

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/conversation"
	"penstock/internal/dialect/openai"
	"penstock/internal/provider"
	"penstock/internal/request"
	"penstock/internal/sse"
)

// keepTimeout is how long the end of an answer waits until the response is stored.
const keepTimeout = 15 * time.Second

// keepResponse runs a response as a synchronous call, and stores it behind its answer: nothing waits for the store before the
// last token. The end of the answer does, so a caller who has all of an answer can continue it at any process.
func (c responses) keepResponse(turn preparedTurn, options openai.ResponseOptions) error {
	text, err := openai.Unkept(turn.text)
	if err != nil {
		return penstock.Internal(err)
	}
	asked, err := openai.ReadResponse(text)
	if err != nil {
		return err
	}
	// A full quota refuses a caller that asks for storage. A caller that does not ask gets the answer, which is not stored.
	if limit := c.Principal.Tenant.StoredBytes; limit > 0 && (options.Stored || turn.conversation != "") {
		sum, err := c.Storage.Stored(c.R.Context(), c.Principal.Tenant.ID)
		if err == nil {
			err = sum.Refusal(c.Principal.Tenant.ID, limit, int64(len(text)))
		}
		if err != nil {
			return err
		}
	}
	c.keeps = true
	d := new(inferenceEndpoints[penstock.EndpointResponses])
	return inferences(c).startWith(d, &asked, &responseSink{
		httpSink: &httpSink{call: c.call, endpoint: d, stream: asked.Stream, text: asked.Object.Text},
		turn:     turn, input: asked.Object.Raw("input"),
	})
}

// responseSink passes the answer of a response on, under an id of its own, and stores it.
type responseSink struct {
	*httpSink
	turn   preparedTurn
	input  []byte // as it was sent upstream
	plain  []byte // an answer in one piece, until its end
	opened bool   // the events that have the response as a whole have passed, up to the last one
	failed bool
}

// Chunk implements request.Sink.
func (s *responseSink) Chunk(c provider.Chunk) error {
	switch {
	case !s.begun:
		s.plain = append(s.plain, c.Wire...)
		return nil
	case !c.Last && !s.opened && len(c.Wire) > 0:
		c.Wire = s.open(c.Wire)
	}
	return s.httpSink.Chunk(c)
}

// open gives the first events of a stream the id of the response. They alone have the response; events with its parts follow.
func (s *responseSink) open(wire []byte) []byte {
	wire, all := eachResponse(wire, s.own)
	s.opened = !all
	return wire
}

// eachResponse changes the response of each event that has one. It reports whether all events have one. A chunk has
// several events when the upstream sent as much at once.
func eachResponse(wire []byte, change func(response []byte) []byte) (changed []byte, all bool) {
	events, all := sse.NewReader(bytes.NewReader(wire), len(wire)), true
	defer events.Close()
	for {
		ev, err := events.Next()
		if err != nil && len(ev.Raw) == 0 {
			return changed, all
		}
		if o, found := scanResponse(ev.Data); found {
			ev.Data = body.Apply(ev.Data, o.Replace("response", string(change(o.Raw("response")))))
			changed = sse.AppendEvent(changed, ev)
		} else {
			changed = append(changed, ev.Raw...)
			all = all && len(ev.Data) == 0 // a comment
		}
		if err != nil {
			return changed, all
		}
	}
}

// scanResponse reads an event that has a response. Most events have none, and are not read.
func scanResponse(event []byte) (o body.Object, found bool) {
	if !bytes.Contains(event, []byte(`"response"`)) {
		return o, false
	}
	o, err := body.Scan(event)
	return o, err == nil && o.Raw("response") != nil
}

// own is a response of the upstream as a response of Penstock.
func (s *responseSink) own(object []byte) []byte {
	o, err := body.Scan(object)
	if err != nil {
		return object
	}
	edits := []body.Edit{o.Replace("id", strconv.Quote(penstock.ViewResponse.Format(s.ID))), o.Replace("store", strconv.FormatBool(s.turn.stored)),
		o.Replace("background", "false")}
	if s.turn.previous != "" {
		edits = append(edits, o.Replace("previous_response_id", strconv.Quote(penstock.ViewResponse.Format(s.turn.previous))))
	}
	if s.turn.conversation != "" {
		edits = append(edits, o.Replace("conversation", `{"id":`+strconv.Quote(conversation.ViewConversation.Format(s.turn.conversation))+`}`))
	}
	return body.Apply(object, edits...)
}

// Fail implements request.Sink.
func (s *responseSink) Fail(f request.Failure) bool {
	s.failed = true
	f.Err = s.turn.place(f.Err)
	return s.httpSink.Fail(f)
}

// End implements request.Sink.
func (s *responseSink) End(cost penstock.NanoUSD) {
	switch {
	case s.failed:
	case s.begun:
		_ = s.Flush() // tokens do not wait for the store; a caller who left meanwhile was charged all the same
		s.last = s.keepEvent(s.last)
	default:
		s.last = s.keep(s.plain)
	}
	s.httpSink.End(cost)
}

// keepEvent stores the response of the last event of a stream, and returns the events that are sent.
func (s *responseSink) keepEvent(wire []byte) []byte {
	if jsontext.Value(wire).Kind() == '{' { // the upstream answered in one piece
		return s.keep(wire)
	}
	wire, _ = eachResponse(wire, func(object []byte) []byte {
		if o, err := body.Scan(object); err == nil && slices.Contains(unfinished, string(o.Raw("status"))) {
			return s.own(object) // of an event that arrived together with the last one
		}
		return s.keep(object)
	})
	return wire
}

// unfinished are the statuses of a response in the first events of a stream.
var unfinished = []string{`"queued"`, `"in_progress"`}

// keep stores a response, and returns it as its caller gets it. An answer that cannot be stored is answered all the same, because it
// was made and paid for; it says store: false.
func (s *responseSink) keep(object []byte) []byte {
	own := s.own(object)
	output, err := openai.Output(own)
	if err != nil {
		return own // not a response; its caller gets it unchanged
	}
	turn := conversation.Turn{
		Tenant: s.Principal.Tenant.ID, ID: s.ID, Kept: s.turn.stored, Input: s.input, Object: own,
		Conversation: s.turn.conversation, StoredLimit: s.Principal.Tenant.StoredBytes,
	}
	for _, item := range output {
		turn.Output = append(turn.Output, openai.ItemID(item))
	}
	if turn.Conversation != "" {
		_ = conversations{s.call}.settle(turn.Conversation) // turns that ended before go first; what fails here is done by the next reader
		turn.Items = newTurnItems(s.ID, s.turn.own, output)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.R.Context()), keepTimeout)
	defer cancel()
	if err := s.Conversations.Keep(ctx, turn); err != nil {
		s.Metrics.ResponseUnkept()
		s.turn.stored = false
		return s.own(object)
	}
	return own
}
