package attempt

import (
	"strings"
	"testing"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/outbound"
	"penstock/internal/provider"
)

// A bounded task never costs more than was set aside, all attempts together.
func TestBoundedTaskStopsWhenSomethingWasSpent(t *testing.T) {
	t.Parallel()
	broken := reply{err: &provider.Error{Kind: provider.KindTimeout, Message: "late"}} // billable, and no usage reported
	for _, bounded := range []bool{false, true} {
		r := newRig(t, upstream{"ua": broken, "ub": {chunks: []string{"ok"}, meta: knownUsage}})
		job := task("a", "b")
		job.Bounded, job.Body, job.Bound = bounded, []byte(`{"max_tokens":9}`), 2*bound
		out := r.Run(t.Context(), job, &sink{})
		if spent := out.Cost + out.Forfeit; bounded && (len(out.Attempts) != 1 || spent > job.Bound) || !bounded && len(out.Attempts) != 2 {
			t.Errorf("bounded %t: %d attempts for %v of %v", bounded, len(out.Attempts), spent, job.Bound)
		}
	}
}

// Prices and bounds are live: a target that became too dear is not asked.
func TestBoundedTaskLeavesDearTargetsOut(t *testing.T) {
	t.Parallel()
	r := newRig(t, upstream{"ua": {chunks: []string{"no"}, meta: knownUsage}, "ub": {chunks: []string{"ok"}, meta: knownUsage}},
		editTarget("a", func(c *config.TargetConfig) { c.Price = config.Price{Input: "1000", Output: "1000"} }),
		editTarget("c", func(c *config.TargetConfig) { c.Price = config.Price{} }))
	job := task("a", "c", "b")
	job.Bounded, job.Body = true, []byte(`{"max_tokens":9}`)
	if out := r.Run(t.Context(), job, &sink{}); out.Target != "b" || !strings.Contains(out.Attempts[0].Reason, "a may cost more than was set aside") {
		t.Errorf("outcome %+v", out)
	}
	job.Targets = []string{"a", "c"}
	if out := r.Run(t.Context(), job, &sink{}); penstock.ErrorCode(out.Err) != penstock.CodeBudgetExceeded || len(out.Attempts) != 0 {
		t.Errorf("outcome %+v, want that the budget is exceeded", out)
	}
}

// A feature whose price the request does not bound is not asked of any target, also of one that charges for input alone; a target with
// a surcharge for it is asked, and charges all of the surcharge.
func TestBoundedTaskNeedsSurcharges(t *testing.T) {
	t.Parallel()
	for name, price := range map[string]config.Price{"both": {Input: "0.01", Output: "0.01"}, "input alone": {Input: "0.01", Output: "0"}, "output alone": {Input: "0", Output: "0.01"}} {
		r := newRig(t, upstream{"ua": {chunks: []string{"ok"}, meta: knownUsage}}, editTarget("a", func(c *config.TargetConfig) { c.Price = price }))
		job := task("a")
		job.Body, job.Bound = []byte(`{"max_tokens":9,"max_tool_calls":2,"messages":[],"tools":[{"type":"web_search"}],"service_tier":"priority"}`), 1_000_000_000
		if out := r.Run(t.Context(), job, &sink{}); out.Err != nil {
			t.Errorf("%s, unbounded: %v", name, out.Err)
		}
		job.Bounded = true
		if out := r.Run(t.Context(), job, &sink{}); penstock.ErrorCode(out.Err) != penstock.CodeBudgetExceeded || len(out.Attempts) != 0 {
			t.Errorf("%s: outcome %+v, want that the budget is exceeded", name, out)
		}
		r = newRig(t, upstream{"ua": {chunks: []string{"ok"}, meta: knownUsage}}, editTarget("a", func(c *config.TargetConfig) {
			c.Price = price
			c.Surcharges = map[string]config.Surcharge{"web_search": {PerUse: "0.01", MaxUses: 2}, "service_tier:priority": {Factor: 2}}
		}))
		out := r.Run(t.Context(), job, &sink{})
		rates, err := penstock.ParseRate(price.Input)
		if err != nil {
			t.Fatal(err)
		}
		output, err := penstock.ParseRate(price.Output)
		if err != nil {
			t.Fatal(err)
		}
		want := penstock.Price{Input: 2 * rates, Output: 2 * output}.Cost(knownUsage.Usage) + 20_000_000
		if out.Err != nil || out.Cost != want {
			t.Errorf("%s, with surcharges: %v, cost %v; want %v", name, out.Err, out.Cost, want)
		}
	}
}

// An answer that nobody bounds is bounded by what was set aside for it.
func TestBoundedTaskTellsTheUpstream(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		endpoint   penstock.Endpoint
		bounded    bool
		body, want string
	}{
		{penstock.EndpointChat, false, `{"model":"m"}`, `{"model":"m"}`},
		{penstock.EndpointChat, true, `{"model":"m"}`, `"max_completion_tokens":77`},
		{penstock.EndpointChat, true, `{"model":"m","max_tokens":5}`, `{"model":"m","max_tokens":5}`},
		{penstock.EndpointChat, true, `{"model":"m","max_tokens":null}`, `"max_completion_tokens":77`},
		{penstock.EndpointChat, true, `{"model":"m","max_output_tokens":5}`, `"max_completion_tokens":77`},
		{penstock.EndpointResponses, true, `{"model":"m","max_tokens":5}`, `"max_output_tokens":77`},
		{penstock.EndpointCompletions, true, `{"model":"m"}`, `"max_tokens":77`},
		{penstock.EndpointResponses, true, `{"model":"m"}`, `"max_output_tokens":77`},
		{penstock.EndpointEmbeddings, true, `{"model":"m"}`, `{"model":"m"}`},
	} {
		var seen string
		r := newRig(t, upstream{"ua": {chunks: []string{"ok"}, meta: knownUsage, seen: func(c provider.Call) { seen = string(c.Body) }}},
			editTarget("a", func(c *config.TargetConfig) { c.MaxOutputTokens = 77 }))
		job := task("a")
		job.Endpoint, job.Bounded, job.Body = tt.endpoint, tt.bounded, []byte(tt.body)
		if out := r.Run(t.Context(), job, &sink{}); out.Err != nil || !strings.Contains(seen, tt.want) {
			t.Errorf("%s %s: the upstream gets %s, want %s (%v)", tt.endpoint, tt.body, seen, tt.want, out.Err)
		}
	}
}

// What is set aside covers all that a body asks for, and nothing that was added to it on our side.
func TestWorstIsAllThatIsAskedFor(t *testing.T) {
	t.Parallel()
	target := penstock.Target{MaxOutputTokens: 10}
	for _, tt := range []struct {
		endpoint penstock.Endpoint
		body     string
		added    int
		want     penstock.Usage
	}{
		{penstock.EndpointChat, `{"max_tokens":3,"n":2}`, 0, penstock.Usage{InputTokens: 22, OutputTokens: 6}},
		{penstock.EndpointChat, `{"max_output_tokens":3}`, 0, penstock.Usage{InputTokens: 23, OutputTokens: 10}},
		{penstock.EndpointChat, `{"max_tokens":3,"stream":true}`, 14, penstock.Usage{InputTokens: 16, OutputTokens: 3}},
		{penstock.EndpointCompletions, `{"prompt":["a","b","c"],"max_tokens":3,"best_of":2}`, 0, penstock.Usage{InputTokens: 51, OutputTokens: 18}},
		{penstock.EndpointCompletions, `{"prompt":["a","b","c"]}`, 0, penstock.Usage{InputTokens: 24, OutputTokens: 30}},
	} {
		task := Task{Endpoint: tt.endpoint, Body: []byte(tt.body), Added: tt.added}
		if got := task.worst(&target).Usage; got != tt.want {
			t.Errorf("%s %s: %+v, want %+v", tt.endpoint, tt.body, got, tt.want)
		}
	}
}

// lavish is a translation that forgets how long an answer may be, or makes it longer.
type lavish struct {
	shout
	body string
}

func (t lavish) For(_, to penstock.Endpoint) (outbound.Translation, bool) {
	return t, to == penstock.EndpointChat
}

func (t lavish) Request([]byte, dialect.Upstream) ([]byte, []string, error) {
	return []byte(t.body), nil, nil
}

// A translation allows no longer an answer than what was paid for.
func TestBoundedTranslationIsClamped(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		bounded          bool
		translated, want string
	}{
		{true, `{"max_completion_tokens":5000}`, `{"max_completion_tokens":9}`},
		{true, `{"max_tokens":5000}`, `{"max_tokens":9}`},
		{true, `{"messages":[]}`, `"max_completion_tokens":9`},
		{true, `{"max_completion_tokens":5}`, `{"max_completion_tokens":5}`},
		{false, `{"max_completion_tokens":5000}`, `{"max_completion_tokens":5000}`},
	} {
		var seen string
		r := requestRig(t, upstream{"ua": {chunks: []string{"ok"}, meta: knownUsage, seen: func(c provider.Call) { seen = string(c.Body) }}}, nil)
		r.Translator = lavish{body: tt.translated}
		job := task("a")
		job.Endpoint, job.Bounded, job.Body = penstock.EndpointMessages, tt.bounded, []byte(`{"max_tokens":9}`)
		if out := r.Run(t.Context(), job, &sink{}); out.Err != nil || !strings.Contains(seen, tt.want) {
			t.Errorf("bounded %t, %s: the upstream gets %s, want %s (%v)", tt.bounded, tt.translated, seen, tt.want, out.Err)
		}
	}
}
