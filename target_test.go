package penstock

import "testing"

func TestInputLimits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		context, most, output int64
		limit, goal           int64
	}{
		{0, 100, 50, 0, 0},
		{1000, 100, 50, 950, 950},
		{1000, 100, 900, 500, 500}, // half of it is for the input
		{1000, 100, 0, 1000, 900},
		{1000, 4096, 0, 1000, 750}, // a quarter at most
		{1000, 0, 0, 1000, 750},
	} {
		target := Target{ContextTokens: tt.context, MaxOutputTokens: tt.most}
		if limit, goal := target.InputLimit(tt.output), target.InputGoal(tt.output); limit != tt.limit || goal != tt.goal {
			t.Errorf("%+v: limit %d and goal %d", tt, limit, goal)
		}
	}
}

func TestTruncationInAHeader(t *testing.T) {
	t.Parallel()
	dropped := Truncation{Policy: OverflowTruncateOldest, Turns: 2, TokensBefore: 9000, TokensAfter: 7000, ContextTokens: 8192}
	if got, want := dropped.String(), "truncate_oldest; turns=2; tokens=2000"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
