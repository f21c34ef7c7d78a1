package request

import (
	"context"
	"testing"

	"penstock"
)

// The memory of a body is released when the call has ended, and not when something else may still read it.
func TestReleased(t *testing.T) {
	t.Parallel()
	broke := func() error { panic("broken adapter") }
	for name, tt := range map[string]struct {
		endpoint penstock.Endpoint
		body     string
		cache    CacheMode
		fault    *fault
		want     bool
	}{
		"plain":           {penstock.EndpointChat, `{"model":"fast","messages":[]}`, "", nil, true},
		"stream":          {penstock.EndpointChat, `{"model":"fast","messages":[],"stream":true}`, "", nil, true},
		"for the cache":   {penstock.EndpointChat, `{"model":"fast","messages":[]}`, CacheUse, nil, false},
		"shared":          {penstock.EndpointEmbeddings, `{"model":"fast","input":"Hi"}`, "", nil, false},
		"call that broke": {penstock.EndpointChat, `{"model":"fast","messages":[]}`, "", &fault{at: atCall, act: broke}, false},
		"next that broke": {penstock.EndpointChat, `{"model":"fast","messages":[],"stream":true}`, "", &fault{at: atNext, after: 1, act: broke}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			order := r.order(tt.endpoint, tt.body)
			order.Cache = tt.cache
			ctx := context.WithValue(t.Context(), callKey{}, order.ID)
			if tt.fault != nil {
				ctx = context.WithValue(ctx, faultKey{}, tt.fault)
			}
			call, err := r.Start(ctx, r.principal, order, &kept{})
			if err != nil {
				t.Fatal(err)
			}
			if call.Released() {
				t.Error("it is released before it is finished, although its request may be on its way")
			}
			call.Finish(ctx)
			if got := call.Released(); got != tt.want {
				t.Errorf("released %v, want %v", got, tt.want)
			}
		})
	}
	if (*Running)(nil).Released() {
		t.Error("no call is released")
	}
}
