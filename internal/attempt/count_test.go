package attempt

import (
	"strings"
	"testing"

	"penstock"
	"penstock/internal/overflow"
	"penstock/internal/route"
)

// The input of a task that admission may have shortened is counted, and only where the bytes do not show that it is short enough. All
// others are estimated.
func TestInputsThatMayHaveBeenShortenedAreCounted(t *testing.T) {
	t.Parallel()
	const oldest = penstock.OverflowTruncateOldest
	text := []byte(`{"model":"m","max_tokens":20,"messages":[{"role":"user","content":"` + strings.Repeat("tea ", 100) + `"}]}`)
	targets := []*penstock.Target{{Name: "a", ContextTokens: 400}, {Name: "b"}} // b states no context
	for _, tt := range []struct {
		name    string
		policy  penstock.OnOverflow
		context int64
		counted bool
		least   int64
		most    int64
	}{
		{"rejects", penstock.OverflowReject, 400, false, int64(len(text)) / 4, int64(len(text))/4 + 1},
		{"bytes are enough", oldest, 10_000, true, int64(len(text)), int64(len(text))},
		{"tokens", oldest, 400, true, 100, 110},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			task := &Task{Endpoint: penstock.EndpointChat, Body: text, OnOverflow: tt.policy}
			q := route.Query{Candidates: []*penstock.Target{{Name: "a", ContextTokens: tt.context}, targets[1]}, Needs: task.asksFor()}
			r := &Runner{Deps: Deps{Overflow: new(overflow.Cutter)}}
			r.countInput(task, &q)
			if n := q.Needs; n.Counted != tt.counted || n.ContextTokens < tt.least || n.ContextTokens > tt.most || n.Counted && n.OutputTokens != 20 {
				t.Errorf("%+v", n)
			}
		})
	}
	task := &Task{Endpoint: penstock.EndpointChat, Body: text, OnOverflow: oldest}
	task.read().Counted = 77 // by admission
	q := route.Query{Candidates: targets}
	(&Runner{Deps: Deps{Overflow: new(overflow.Cutter)}}).countInput(task, &q)
	if q.Needs.ContextTokens != 77 {
		t.Errorf("counted again: %+v", q.Needs)
	}
}
