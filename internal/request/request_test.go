package request

import (
	"context"
	"strings"
	"testing"

	"penstock"
)

// A call runs as a whole, streamed and plain, over real admission, limits, budgets, routing and capacity: without HTTP.
func TestCallWithoutHTTP(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		endpoint penstock.Endpoint
		body     string
		want     string
	}{
		"plain":     {penstock.EndpointChat, `{"model":"fast","messages":[]}`, `{"choices":[{"message":{"content":"Hello you"}}]}`},
		"stream":    {penstock.EndpointChat, `{"model":"fast","messages":[],"stream":true}`, "data: Hello\n\ndata:  you\n\ndata: [DONE]\n\n"},
		"embedding": {penstock.EndpointEmbeddings, `{"model":"fast","input":"Hi"}`, embeddingOf([]byte(`{"input":"Hi"}`))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			order, sink := r.order(tt.endpoint, tt.body), &kept{}
			permit, err := r.Permit(t.Context(), &r.principal)
			if err != nil {
				t.Fatal(err)
			}
			order.Permit = permit
			call, err := r.Start(context.WithValue(t.Context(), callKey{}, order.ID), r.principal, order, sink)
			if err != nil {
				t.Fatal(err)
			}
			call.Finish(t.Context())
			if sink.text != tt.want || sink.head.Target != "a" || sink.failure != nil || !sink.ended {
				t.Errorf("the sink got %+v", sink)
			}
			got, err := r.Request(t.Context(), "acme", order.ID)
			if err != nil || got.Status != penstock.StatusSucceeded || got.StatusCode != 200 || got.Key != "app" || len(got.Attempts) != 1 || got.Cost == 0 || len(got.Funding.Budgets) != 1 {
				t.Errorf("recorded as %+v, %v", got, err)
			}
			r.checkNothingHeld()
		})
	}
}

// An answer of the cache costs nothing and has a record of its own.
func TestCachedCallWithoutHTTP(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var sources []Source
	for range 2 {
		order, sink := r.order(penstock.EndpointChat, `{"model":"fast","messages":[],"stream":true}`), &kept{}
		order.Cache = CacheUse
		call, err := r.Start(context.WithValue(t.Context(), callKey{}, order.ID), r.principal, order, sink)
		if err != nil {
			t.Fatal(err)
		}
		call.Finish(t.Context())
		sources = append(sources, sink.head.Cache)
		if !strings.Contains(sink.text, "Hello") || !sink.ended {
			t.Errorf("the sink got %+v", sink)
		}
		got, err := r.Request(t.Context(), "acme", order.ID)
		source, target := SplitTarget(got.Target)
		if err != nil || target != "a" || (source == "") != (sink.head.Cache == "miss") || (got.Cost == 0) == (source == "") {
			t.Errorf("recorded as %+v, %v", got, err)
		}
	}
	if sources[0] != "miss" || sources[1] != "hit" {
		t.Errorf("the answers came from %v", sources)
	}
	r.checkNothingHeld()
}
