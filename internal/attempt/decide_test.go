package attempt

import (
	"testing"

	"penstock/internal/config"
	"penstock/internal/provider"
)

// Of several failures the outcome reports one that a later retry may avoid. A task is final only if every failure would repeat.
func TestWhichFailureDecides(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		first, other provider.Kind
		want         provider.Kind
		final        bool
	}{
		{"both for the moment", provider.KindServer, provider.KindOverloaded, provider.KindOverloaded, false},
		{"the other has no key", provider.KindServer, provider.KindAuth, provider.KindServer, false},
		{"the other calls it in vain", provider.KindTimeout, provider.KindFinal, provider.KindTimeout, false},
		{"the other is too small", provider.KindRateLimited, provider.KindContextTooLong, provider.KindRateLimited, false},
		{"the first calls it in vain", provider.KindFinal, provider.KindServer, provider.KindServer, false},
		{"both call it in vain", provider.KindFinal, provider.KindFinal, provider.KindFinal, true},
		{"no key and no money", provider.KindAuth, provider.KindSpendCap, provider.KindSpendCap, true},
		{"it is invalid anywhere", provider.KindServer, provider.KindRejected, provider.KindRejected, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, upstream{"ua": fails(tt.first), "ub": fails(tt.other)})
			out := r.Run(t.Context(), task("a", "b"), &sink{})
			if got := kindOf(t, out); got != tt.want || out.Final != tt.final || len(out.Attempts) != 2 {
				t.Errorf("%s after %d attempts, final %v; want %s, final %v", got, len(out.Attempts), out.Final, tt.want, tt.final)
			}
		})
	}
}

// A target that could serve the task but has no place for now may do so the next time.
func TestATargetThatWasNotAskedLeavesHope(t *testing.T) {
	t.Parallel()
	full := editTarget("b", func(c *config.TargetConfig) { c.Limits.Concurrency = 1 })
	release := make(chan struct{})
	holds := make(chan struct{})
	r := newRig(t, upstream{
		"ua": fails(provider.KindFinal),
		"ub": {chunks: []string{"ok"}, meta: knownUsage, during: func() { close(holds); <-release }},
	}, full)
	done := make(chan Outcome, 1)
	go func() { done <- r.Run(t.Context(), task("b"), &sink{}) }()
	<-holds
	if out := r.Run(t.Context(), task("a", "b"), &sink{}); out.Final || kindOf(t, out) != provider.KindFinal {
		t.Errorf("final %v, %v", out.Final, out.Err)
	}
	close(release)
	if out := <-done; out.Err != nil {
		t.Error(out.Err)
	}
}
