package work

import (
	"context"

	"penstock"
	"penstock/internal/assemble"
	"penstock/internal/attempt"
	"penstock/internal/inflight"
	"penstock/internal/provider"
	"penstock/internal/store"

	"github.com/go-json-experiment/json/jsontext"
)

// answer is what becomes of an item's answer while it arrives.
type answer interface {
	attempt.Sink
	// whole is the plain answer, once it is complete.
	whole() ([]byte, error)
	// memory is what it is accounted for by.
	memory() *inflight.Account
	// close says that nothing more arrives, and returns what is left to be shown.
	close() []store.Delta
}

// newAnswer is the answer of a claimed item, and the body that asks for it.
func (p *Pool) newAnswer(ctx context.Context, c *store.Claimed) (answer, []byte, error) {
	held := heldAnswer{p.Answers.Open(c.Tenant), ctx.Done()}
	if c.Stream == penstock.StreamNone || p.speaker == nil {
		return &answerBuffer{heldAnswer: held}, c.Body, nil
	}
	assembled, streams := assemble.For(c.Endpoint)
	if !streams {
		return &answerBuffer{heldAnswer: held}, c.Body, nil
	}
	body, err := assemble.Ask(c.Endpoint, c.Body)
	if err != nil {
		return nil, nil, err
	}
	return &shownAnswer{heldAnswer: held, assembled: assembled, mode: c.Stream, speech: p.speaker.begin(*c)}, body, nil
}

// heldAnswer accounts for the memory of an answer until it is recorded.
type heldAnswer struct {
	account inflight.Account
	done    <-chan struct{} // closed when nobody wants the answer any more
}

func (h *heldAnswer) memory() *inflight.Account { return &h.account }

// hold takes the memory of more bytes, or waits for it.
func (h *heldAnswer) hold(n int) error {
	err := h.account.Wait(h.done, int64(n))
	if err != nil {
		e := penstock.AsError(err)
		return &provider.Error{Kind: provider.KindMemory, Message: "There was no memory for the answer: " + e.Message, RetryAfter: e.RetryAfter, Err: e}
	}
	return nil
}

// answerBuffer keeps the whole answer for the store.
type answerBuffer struct {
	heldAnswer
	body []byte
}

func (b *answerBuffer) Begin(string, provider.Meta) error { return nil }

func (b *answerBuffer) Chunk(c provider.Chunk) error {
	if len(b.body)+len(c.Wire) > MaxResultBytes {
		return errTooLarge()
	}
	b.account.Add(int64(len(c.Wire))) // who read it asked for the memory; this is a copy, and soon the only one
	b.body = append(b.body, c.Wire...)
	return nil
}

func (b *answerBuffer) whole() ([]byte, error) { return b.body, nil }
func (b *answerBuffer) close() []store.Delta   { return nil }

func errTooLarge() error {
	return &provider.Error{Kind: provider.KindMalformed, Message: "The answer is larger than an item may keep."}
}

// shownAnswer shows a streamed answer while it arrives, and puts it together.
type shownAnswer struct {
	heldAnswer
	assembled assemble.Answer
	mode      penstock.Stream
	speech    *speech
	size      int
}

func (a *shownAnswer) Begin(string, provider.Meta) error { return nil }

func (a *shownAnswer) Chunk(c provider.Chunk) error {
	if a.size += len(c.Wire); a.size > MaxResultBytes {
		return errTooLarge()
	}
	if err := a.hold(len(c.Wire)); err != nil {
		return err
	}
	if a.mode == penstock.StreamText {
		a.speech.say(c.Text)
	}
	err := assemble.Events(c.Wire, func(data []byte) error {
		if a.mode == penstock.StreamWire && !a.assembled.Last(data) {
			line := jsontext.Value(data).Clone()
			if err := line.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
				return err
			}
			a.speech.say(string(line) + "\n")
		}
		return a.assembled.Add(data)
	})
	if err != nil {
		return &provider.Error{Kind: provider.KindMalformed, Message: "The answer is not of its protocol.", Err: err}
	}
	return nil
}

func (a *shownAnswer) whole() ([]byte, error) {
	whole, err := a.assembled.Whole()
	if err != nil {
		return nil, &provider.Error{Kind: provider.KindMalformed, Message: "The answer was empty.", Err: err}
	}
	return whole, nil
}

func (a *shownAnswer) close() []store.Delta { return a.speech.end() }
