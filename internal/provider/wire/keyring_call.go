package wire

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"penstock/internal/provider"
)

// Call sends a call and returns when the status of the answer is final; see [provider.Provider]. With several keys, a key
// that is refused or at its limit is not used for a while and the call goes on with the next key; each is tried once.
func (c *Client) Call(ctx context.Context, call provider.Call, r Request) (provider.Answer, error) {
	switch all := c.keys.keys; len(all) {
	case 0:
		return c.exchange(ctx, &call, &r, "")
	case 1:
		return c.exchange(ctx, &call, &r, all[0].secret)
	}
	return c.callInTurn(ctx, &call, &r)
}

// maxForbidden is the number of keys that are tried for a call that is refused for a reason that does not name the key.
const maxForbidden = 2

// refusal is a call that the upstream refused with a key.
type refusal struct {
	key *key
	err *provider.Error
}

// turn is the record of the keys that a call has tried.
type turn struct {
	tried     []*key
	why       []string
	refused   []refusal
	forbidden int
	last      *provider.Error
}

// callInTurn makes a call with one key after the other.
func (c *Client) callInTurn(ctx context.Context, call *provider.Call, r *Request) (provider.Answer, error) {
	var t turn
	for {
		k := c.keys.take(call.UpstreamModel, t.tried)
		if k == nil {
			return nil, c.giveUp(call.UpstreamModel, &t)
		}
		answer, err := c.exchange(ctx, call, r, k.secret)
		if err == nil {
			c.keys.accepted(k)
			c.blame(&t)
			return c.keyed(k, call.UpstreamModel, answer, c.keys.note(k, t.why)), nil
		}
		c.keys.done(k)
		e := provider.AsError(err)
		e.Limits = c.keys.learn(k, call.UpstreamModel, e.Limits)
		switch c.keys.failed(k, call.UpstreamModel, e) {
		case refusedKey:
			t.refused = append(t.refused, refusal{k, e})
		case perhapsKeys:
			t.forbidden++
		case notTheKeys:
			if e.StatusCode != 0 && e.StatusCode < http.StatusInternalServerError {
				c.blame(&t)
			}
			e.Note = c.keys.note(k, t.why)
			return nil, e
		}
		if t.forbidden >= maxForbidden {
			e.Note = c.keys.note(k, t.why)
			return nil, e
		}
		t.last, t.tried = e, append(t.tried, k)
		t.why = append(t.why, fmt.Sprintf("key %d was turned away: %s", k.number, e.Kind))
	}
}

// blame benches the keys that were refused for a call that the upstream accepted with another key.
func (c *Client) blame(t *turn) {
	for _, f := range t.refused {
		c.keys.refused(f.key, f.err)
	}
}

// giveUp is the error of a call that has no key left.
func (c *Client) giveUp(model string, t *turn) *provider.Error {
	e := c.keys.exhausted(model)
	switch {
	case t.last == nil:
	case len(t.refused) == len(t.tried):
		if !c.keys.doubt(t.refused) {
			e = &provider.Error{Kind: provider.KindForbidden, Message: fmt.Sprintf(
				"the upstream refused this request with each of the %d keys that could be used, so the request is taken to be the reason", len(t.tried))}
		}
	case t.last.Kind == provider.KindForbidden, t.last.Kind == provider.KindRateLimited && e.Kind != provider.KindRateLimited:
		copied := *t.last
		e = &copied
	default:
		c.blame(t) // the upstream knew the keys that are at their limit or out of credit
	}
	e.Note = strings.Join(t.why, "; ")
	if t.last != nil {
		e.StatusCode, e.Limits, e.Quota, e.Err = t.last.StatusCode, t.last.Limits, t.last.Quota, t.last
	}
	return e
}

// exchange makes one call with one key.
func (c *Client) exchange(ctx context.Context, call *provider.Call, r *Request, apiKey string) (provider.Answer, error) {
	ex, err := c.send(ctx, call, r, apiKey)
	if err != nil {
		return nil, err
	}
	answer, err := ex.receive(call)
	if err != nil {
		ex.close()
		return nil, err
	}
	return answer, nil
}

// keyedAnswer is an answer to a call with one of several keys.
type keyedAnswer struct {
	provider.Answer
	limits provider.RateLimits
	note   string
	done   func()
}

func (c *Client) keyed(k *key, model string, answer provider.Answer, note string) provider.Answer {
	return &keyedAnswer{
		Answer: answer, note: note, limits: c.keys.learn(k, model, answer.Meta().Limits),
		done: sync.OnceFunc(func() { c.keys.done(k) }),
	}
}

// Meta implements [provider.Answer].
func (a *keyedAnswer) Meta() provider.Meta {
	m := a.Answer.Meta()
	m.Limits, m.Note = a.limits, a.note
	return m
}

// Close implements [provider.Answer].
func (a *keyedAnswer) Close() error {
	a.done()
	return a.Answer.Close()
}
