package store

import (
	"testing"

	"penstock"
	"penstock/internal/fair"
)

func candidate(model string, e penstock.Endpoint, bytes int64) Candidate {
	return Candidate{Tenant: "acme", Model: model, Lane: penstock.LaneBulk, Endpoint: e, Estimate: 160, InputBytes: bytes}
}

func TestCallsGoToItems(t *testing.T) {
	t.Parallel()
	chat, embed := penstock.EndpointChat, penstock.EndpointEmbeddings
	type take struct {
		Candidate
		number int // 0 for none
	}
	for name, tt := range map[string]struct {
		reserved []Reserved
		takes    []take
	}{
		"one call for each item": {
			[]Reserved{{Model: "m", Target: "a", Calls: 1}, {Model: "n", Target: "a", Calls: 1}, {Model: "m", Target: "b", Calls: 1}},
			[]take{{candidate("m", chat, 4), 1}, {candidate("m", chat, 4), 3}, {candidate("m", chat, 4), 0}, {candidate("n", chat, 4), 2}, {candidate("o", chat, 4), 0}},
		},
		"an endpoint needs a target that serves it": {
			[]Reserved{{Model: "m", Calls: 2, Endpoints: []penstock.Endpoint{chat}}, {Model: "m", Calls: 1, Endpoints: []penstock.Endpoint{chat, embed}}},
			[]take{{candidate("m", embed, 4), 3}, {candidate("m", embed, 4), 0}, {candidate("m", chat, 4), 1}, {candidate("m", chat, 4), 2}, {candidate("m", chat, 4), 0}},
		},
		"the last item may go beyond the tokens": {
			[]Reserved{{Model: "m", Calls: 5, InputTokens: 10}},
			[]take{{candidate("m", chat, 36), 1}, {candidate("m", chat, 4000), 2}, {candidate("m", chat, 4), 0}},
		},
		"embeddings share a call": {
			[]Reserved{{Model: "m", Calls: 2, SharedInputs: 3, SharedTokens: 100}},
			[]take{{candidate("m", embed, 4), 1}, {candidate("m", embed, 4), 1}, {candidate("m", chat, 4), 2}, {candidate("m", embed, 4), 1}, {candidate("m", embed, 4), 0}},
		},
		"large embeddings do not share": {
			[]Reserved{{Model: "m", Calls: 2, SharedInputs: 3, SharedTokens: 100}},
			[]take{{candidate("m", embed, 800), 1}, {candidate("m", embed, 800), 2}, {candidate("m", embed, 800), 0}},
		},
	} {
		calls := NewCalls(Want{Reserved: tt.reserved})
		for i, x := range tt.takes {
			call, charge, ok := calls.Take(x.Candidate)
			if ok != (x.number > 0) || call.Number != x.number || (ok && charge != 160) {
				t.Errorf("%s: item %d got call %+v for %d tokens, %v; want %d", name, i, call, charge, ok, x.number)
			}
		}
	}
}

func TestCallsWithoutBound(t *testing.T) {
	t.Parallel()
	calls := NewCalls(Want{Expected: fair.Expectations{"m": 0.5}})
	for range 1000 {
		if call, charge, ok := calls.Take(candidate("m", penstock.EndpointChat, 4)); !ok || call != (Call{}) || charge != 80 {
			t.Fatalf("got %+v for %d tokens, %v", call, charge, ok)
		}
	}
	if _, _, ok := NewCalls(Want{Reserved: []Reserved{}}).Take(candidate("m", penstock.EndpointChat, 4)); ok {
		t.Error("an item was given a call though none is reserved")
	}
}
