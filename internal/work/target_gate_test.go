package work

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/config"
	"penstock/internal/route"
	"penstock/internal/store"
)

// pauses are the names that an operator paused, by kind.
type pauses map[store.ControlKind][]string

func (p pauses) Names(kind store.ControlKind) []string { return p[kind] }

func (p pauses) Paused(kind store.ControlKind, name string) (store.Control, bool) {
	return store.Control{Kind: kind, Name: name}, slices.Contains(p[kind], name)
}

func (p pauses) Open(targets []string) []string {
	return slices.DeleteFunc(slices.Clone(targets), func(t string) bool { return slices.Contains(p[store.ControlTarget], t) })
}

// upstreams serve everything, but for one target that serves embeddings alone.
type upstreams struct{}

func (upstreams) Serves(t *penstock.Target, e penstock.Endpoint) bool {
	return (e == penstock.EndpointEmbeddings) == (t.Name == "vectors")
}

func (upstreams) Together([]*penstock.Target) (inputs int, tokens int64) { return 1, 0 }

func newTargetGate(t *testing.T, controls pauses) (*TargetGate, *capacity.Tracker) {
	t.Helper()
	s, err := config.NewSnapshot(config.File{
		Providers: map[string]config.ProviderConfig{"p": {Kind: config.KindOpenAI}},
		Targets: map[string]config.TargetConfig{
			"near":    {Provider: "p", UpstreamModel: "x", Limits: config.TargetLimits{Concurrency: 3}},
			"far":     {Provider: "p", UpstreamModel: "x", Limits: config.TargetLimits{Concurrency: 2, InputTokensPerMinute: 60_000}},
			"vectors": {Provider: "p", UpstreamModel: "x", Limits: config.TargetLimits{Concurrency: 4}},
		},
		Models: map[string]config.ModelConfig{
			"both": {Targets: []string{"near", "far"}}, "near": {Targets: []string{"near"}}, "mixed": {Targets: []string{"far", "vectors"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	tracker := capacity.New(capacity.Config{Clock: time.Now})
	return NewTargetGate(GateDeps{Config: config.NewLive(s), Controls: controls, Router: route.New(tracker), Upstreams: upstreams{}}), tracker
}

// numbers sums up reservations as model, target, calls and tokens.
func numbers(all []Reservation) map[string]int64 {
	n := map[string]int64{}
	for _, r := range all {
		n[r.Model+" at "+r.Target] += int64(r.Calls)
		if r.InputTokens > 0 {
			n[r.Model+" at "+r.Target+", tokens"] += r.InputTokens
		}
		if r.Target != "" && len(r.Choices) != r.Calls {
			panic("a call without its choice")
		}
	}
	return n
}

func TestGateReservesCalls(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		controls pauses
		ready    []store.Ready
		n        int
		want     map[string]int64
	}{
		"as many as items":        {nil, []store.Ready{{Model: "both", Items: 2}}, 10, map[string]int64{"both at near": 2}},
		"as many as slots":        {nil, []store.Ready{{Model: "both", Items: 20}}, 1, map[string]int64{"both at near": 1}},
		"as many as there are":    {nil, []store.Ready{{Model: "both", Items: 20, InputBytes: 400}}, 10, map[string]int64{"both at near": 3, "both at far": 2, "both at far, tokens": 200}},
		"models share a target":   {nil, []store.Ready{{Model: "near", Items: 2}, {Model: "both", Items: 3, InputBytes: 4}}, 10, map[string]int64{"near at near": 2, "both at near": 1, "both at far": 2, "both at far, tokens": 2}},
		"a paused target":         {pauses{store.ControlTarget: {"near"}}, []store.Ready{{Model: "both", Items: 1}}, 10, map[string]int64{"both at far": 1, "both at far, tokens": 1}},
		"a paused model":          {pauses{store.ControlModel: {"both"}}, []store.Ready{{Model: "both", Items: 1}}, 10, map[string]int64{}},
		"a model that is gone":    {nil, []store.Ready{{Model: "gone", Items: 5}}, 3, map[string]int64{"gone at ": 3}},
		"of every endpoint":       {nil, []store.Ready{{Model: "mixed", Items: 2, InputBytes: 4}}, 10, map[string]int64{"mixed at far": 2, "mixed at far, tokens": 2, "mixed at vectors": 2}},
		"of the endpoint":         {nil, []store.Ready{{Model: "mixed", Items: 3, Endpoint: penstock.EndpointEmbeddings}}, 10, map[string]int64{"mixed at vectors": 3}},
		"an endpoint without any": {nil, []store.Ready{{Model: "near", Items: 1, Endpoint: penstock.EndpointEmbeddings}}, 10, map[string]int64{"near at ": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, tracker := newTargetGate(t, tt.controls)
			all := g.Reserve(tt.ready, tt.n)
			got := numbers(all)
			delete(tt.want, "")
			if tt.ready[0].Endpoint == "" { // endpoints that nothing serves need no capacity
				delete(got, "both at ")
				delete(got, "near at ")
				if tt.ready[0].Model != "gone" {
					delete(got, "mixed at ")
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, r := range all {
				for _, c := range r.Choices {
					c.Return()
				}
			}
			for _, s := range tracker.Status() {
				if s.Running != 0 {
					t.Errorf("%d calls of %s stay reserved", s.Running, s.Target)
				}
			}
		})
	}
}

func TestGateIsClosed(t *testing.T) {
	t.Parallel()
	g, _ := newTargetGate(t, pauses{
		store.ControlModel: {"near"}, store.ControlLane: {"bulk"}, store.ControlTenant: {"acme"}, store.ControlTarget: {"far", "vectors"},
	})
	closed := g.Closed()
	slices.Sort(closed.Models)
	if want := []string{"mixed", "near"}; !slices.Equal(closed.Models, want) {
		t.Errorf("models %v are closed, want %v", closed.Models, want)
	}
	if !slices.Equal(closed.Lanes, []penstock.Lane{penstock.LaneBulk}) || !slices.Equal(closed.Tenants, []penstock.TenantID{"acme"}) {
		t.Errorf("closed %+v", closed)
	}
	open, _ := newTargetGate(t, nil)
	open.Reserve([]store.Ready{{Model: "near", Items: 4}}, 4) // one too many: it is refused
	if closed := open.Closed(); !slices.Equal(closed.Models, []string{"near"}) {
		t.Errorf("models %v are closed, want the one whose target is full", closed.Models)
	}
}
