package wire

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"penstock/internal/provider"
)

// Call sends a call and returns when the answer can be believed; see [provider.Provider]. With several keys, one that is
// refused or at its limit is left alone for a while and the next one is used; each is tried once.
func (c *Client) Call(ctx context.Context, call provider.Call, r Request) (provider.Answer, error) {
	switch all := c.keys.keys; len(all) {
	case 0:
		return c.exchange(ctx, &call, &r, "")
	case 1:
		return c.exchange(ctx, &call, &r, all[0].secret)
	}
	return c.callInTurn(ctx, &call, &r)
}

// callInTurn makes a call with one key after the other.
func (c *Client) callInTurn(ctx context.Context, call *provider.Call, r *Request) (provider.Answer, error) {
	var tried []*key
	var why []string
	var last *provider.Error
	for {
		k := c.keys.take(call.UpstreamModel, tried)
		if k == nil {
			return nil, c.giveUp(call.UpstreamModel, last, why)
		}
		answer, err := c.exchange(ctx, call, r, k.secret)
		if err == nil {
			c.keys.accepted(k)
			return c.keyed(k, call.UpstreamModel, answer, c.keys.note(k, why)), nil
		}
		c.keys.done(k)
		e := provider.AsError(err)
		e.Limits = c.keys.learn(k, call.UpstreamModel, e.Limits)
		if !c.keys.failed(k, call.UpstreamModel, e) {
			e.Note = c.keys.note(k, why)
			return nil, e
		}
		last, tried = e, append(tried, k)
		why = append(why, fmt.Sprintf("key %d was turned away: %s", k.number, e.Kind))
	}
}

// giveUp is the error of a call that no key is left for.
func (c *Client) giveUp(model string, last *provider.Error, why []string) *provider.Error {
	e := c.keys.exhausted(model)
	e.Note = strings.Join(why, "; ")
	if last != nil {
		e.StatusCode, e.Limits, e.Err = last.StatusCode, last.Limits, last
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
