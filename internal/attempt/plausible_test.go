package attempt

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/provider"
)

func usageOf(input, output int64) provider.Meta {
	return provider.Meta{StatusCode: 200, UsageKnown: true, Usage: penstock.Usage{InputTokens: input, OutputTokens: output}}
}

// What a call can have used is believed, however much more than usual it is; what it cannot have used counts as unknown, and its
// reservation is forfeit.
func TestUsageThatCannotBe(t *testing.T) {
	t.Parallel()
	pad := strings.Repeat("x", 10_000)
	for _, tt := range []struct {
		name     string
		body     string
		output   int64 // that was asked for, 0 for no bound
		reported provider.Meta
		believed bool
	}{
		{"the usual", `{"m":"` + pad + `"}`, 100, usageOf(2500, 100), true},
		{"a token for each byte", pad, 100, usageOf(10_000, 100), true},
		{"a prompt of the upstream's own", `{}`, 100, usageOf(30_000, 100), true},
		{"thinking that is not counted", `{}`, 100, usageOf(10, 60_000), true},
		{"tools of the caller's", `{"tools":[]}`, 100, usageOf(5_000, 100), true},
		{"a picture by its address", `{"type":"image_url"}`, 100, usageOf(16_000+60_000, 100), true},
		{"ten pictures", strings.Repeat(`{"type":"image_url"}`, 10), 100, usageOf(160_000, 100), true},
		{"a document", `{"type":"document"}`, 100, usageOf(1_500_000, 100), true},
		{"a search", `{"tools":[{"type":"web_search"}]}`, 100, usageOf(900_000, 100), true},
		{"an answer that nobody bounds", `{}`, 0, usageOf(10, 400_000), true},
		{"more input than bytes", pad, 100, usageOf(200_000, 100), false},
		{"more output than asked for", `{}`, 100, usageOf(10, 200_000), false},
		{"the most that can be reported", `{"type":"document"}`, 0, usageOf(penstock.MaxTokens, penstock.MaxTokens), false},
		{"what an adapter should have capped", `{}`, 0, usageOf(math.MaxInt64, math.MaxInt64), false},
		{"counts that are none", `{}`, 100, provider.Meta{StatusCode: 200, UsageInvalid: true}, false},
		{"a part of it", `{}`, 100, provider.Meta{StatusCode: 200, Usage: penstock.Usage{InputTokens: 1 << 30}}, false},
	} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stream %t", tt.name, stream), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, upstream{"ua": {chunks: []string{"four", "word"}, meta: tt.reported}})
				task := task("a")
				task.Body, task.MaxOutputTokens, task.Stream = []byte(tt.body), tt.output, stream
				out := r.Run(t.Context(), task, &sink{})
				if out.Err != nil {
					t.Fatal(out.Err)
				}
				got := out.Attempts[0]
				if flagged := strings.Contains(got.Reason, "impossible usage"); flagged == tt.believed || (tt.believed && !got.UsageKnown) || (!tt.believed && got.UsageKnown) {
					t.Fatalf("believed %t: %+v", !flagged, got)
				}
				if tt.believed {
					if got.Usage != tt.reported.Usage || out.Forfeit != 0 {
						t.Errorf("%+v, forfeit %v", got.Usage, out.Forfeit)
					}
					return
				}
				if got.Usage.OutputTokens != 2 || got.Usage.InputTokens > int64(len(tt.body)) || out.Cost+out.Forfeit != max(out.Cost, bound) {
					t.Errorf("it is taken for %+v, which costs %v and %v", got.Usage, out.Cost, out.Forfeit)
				}
			})
		}
	}
}

// A hard budget never pays more than was set aside, whatever an upstream tells that could be.
func TestHardBudgetPaysItsBound(t *testing.T) {
	t.Parallel()
	r := newRig(t, upstream{"ua": {chunks: []string{"four"}, meta: usageOf(50_000, 60_000)}})
	bounded := task("a")
	bounded.Bounded, bounded.Bound, bounded.MaxOutputTokens = true, 100_000, 10
	bounded.Body = []byte(`{"max_tokens":10}`)
	out := r.Run(t.Context(), bounded, &sink{})
	if out.Err != nil || out.Cost+out.Forfeit > bounded.Bound || !out.Attempts[0].UsageKnown || !strings.Contains(out.Attempts[0].Reason, "a hard budget pays no more") {
		t.Errorf("%v: cost %v, forfeit %v: %+v", out.Err, out.Cost, out.Forfeit, out.Attempts)
	}
}
