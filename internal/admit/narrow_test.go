package admit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
	"penstock/internal/store"
)

// till is a store with one hard budget.
type till struct {
	submits
	left penstock.NanoUSD
	away bool // balances cannot be read
}

func (s *till) SubmitJob(ctx context.Context, tenant penstock.TenantID, sub store.Submission) (store.Receipt, error) {
	var most penstock.NanoUSD
	for _, item := range sub.Items {
		most += item.Reserved
	}
	if s.err = nil; most > s.left {
		s.err = penstock.Errorf(penstock.CodeBudgetExceeded, "There is too little left.")
	}
	return s.submits.SubmitJob(ctx, tenant, sub)
}

func (s *till) Balances(_ context.Context, _ penstock.TenantID, accounts []store.Account) ([]store.Balance, error) {
	if s.away {
		return nil, errors.New("the database is unavailable")
	}
	return []store.Balance{{Limit: 1 << 40, Settled: 1<<40 - s.left, Hard: true}}, nil
}

// A job whose budget cannot pay for all of its targets runs on those that it can pay for, and lists the others; a dry run
// predicts the same.
func TestJobOnWhatCanBePaid(t *testing.T) {
	t.Parallel()
	// 1000 bytes and 100 tokens: 12,000,000 on costly and 1,200,000 on cheap, in billionths of a dollar.
	inf := dialect.Inference{Object: body.Object{Text: []byte(strings.Repeat("x", 1000))}, MaxOutputTokens: 100}
	const costly, cheap = 12_000_000, 1_200_000
	for name, tt := range map[string]struct {
		left    penstock.NanoUSD
		away    bool
		targets []string // nil: refused
		tries   int
	}{
		"enough for all":            {left: 2 * costly, targets: []string{"costly", "cheap"}, tries: 1},
		"just too little for all":   {left: 2*costly - 1, targets: []string{"cheap"}, tries: 2},
		"just enough for the cheap": {left: 2 * cheap, targets: []string{"cheap"}, tries: 2},
		"too little for any":        {left: 2*cheap - 1, tries: 1},
		"nothing":                   {tries: 1},
		"the balance is unknown":    {left: 2 * cheap, away: true, tries: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			s := &till{left: tt.left, away: tt.away}
			r.Jobs, r.Balances = s, s
			r.caller.Tenant.Budgets = []penstock.Budget{{Period: penstock.PeriodTotal, Limit: 1 << 40, Hard: true}}
			o := order()
			o.Model, o.Inferences = "smart", []dialect.Inference{inf, inf}
			if !tt.away {
				trial, err := r.Try(t.Context(), r.caller, o)
				if err != nil || (trial.Refusal == nil) != (tt.targets != nil) || trial.Refusal == nil && len(trial.Targets) != len(tt.targets) {
					t.Errorf("the trial says %+v, %v", trial, err)
				}
			}
			_, err := r.Job(t.Context(), r.caller, o)
			if code := codeOf(err); (code == "") != (tt.targets != nil) || code != "" && code != penstock.CodeBudgetExceeded {
				t.Fatalf("the job: %v", err)
			}
			if len(s.got) != tt.tries {
				t.Errorf("%d submits, want %d", len(s.got), tt.tries)
			}
			last := s.got[len(s.got)-1].Job.Resolved
			if tt.targets == nil {
				return
			}
			out := slices.DeleteFunc([]string{"costly", "cheap"}, func(name string) bool { return slices.Contains(tt.targets, name) })
			if !slices.Equal(last.Targets, tt.targets) || !slices.Equal(last.Unpaid, out) || !last.Bounded {
				t.Errorf("it was resolved to %+v", last)
			}
		})
	}
}

// poorDeadLetters is a store of jobs that failed, and of a budget that has too little left for the expensive target.
type poorDeadLetters struct {
	*deadLetters
	till
}

func (g *poorDeadLetters) RetryItems(ctx context.Context, tenant penstock.TenantID, r store.Retry) (store.Receipt, error) {
	if _, err := g.till.SubmitJob(ctx, tenant, r.Submission); err != nil {
		return store.Receipt{}, err
	}
	return g.deadLetters.RetryItems(ctx, tenant, r)
}

// The same rule applies to a retry. A target that is no longer configured remains on the job: it was not left out because of its price.
func TestRetryOnWhatCanBePaid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	g := &poorDeadLetters{newDeadLetters(r, 2), till{left: 100_000}}
	r.Retries, r.Balances = g, g
	r.caller.Tenant.Budgets = []penstock.Budget{{Period: penstock.PeriodTotal, Limit: 1 << 40, Hard: true}}
	g.jobs[0].Job.Resolved.Targets = []string{"costly", "gone", "cheap"}
	if _, err := r.RetryJob(t.Context(), r.caller, RetryOrder{Job: g.jobs[0].Job.ID, Terms: terms()}); err != nil || len(g.deadLetters.got) != 1 {
		t.Fatalf("%v after %d retries", err, len(g.deadLetters.got))
	}
	got := g.deadLetters.got[0].Job.Resolved
	if !slices.Equal(got.Targets, []string{"gone", "cheap"}) || !slices.Equal(got.Unpaid, []string{"costly"}) {
		t.Errorf("it was resolved to %+v", got)
	}
}

// Without a hard budget, a refusal leads to no second submit.
func TestSoftBudgetsLeaveNoTargetOut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := &till{}
	r.Jobs, r.Balances = s, s
	o := order()
	o.Model = "smart"
	if _, err := r.Job(t.Context(), r.caller, o); codeOf(err) != penstock.CodeBudgetExceeded || len(s.got) != 1 {
		t.Errorf("%v after %d submits", err, len(s.got))
	}
}

// The reservation never exceeds what is left, covers every remaining target, and would exceed it with one more target.
func TestWithin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var p pricing
		for i := range rapid.IntRange(1, 5).Draw(t, "targets") {
			price := func(name string) penstock.Rate { return penstock.Rate(rapid.Int64Range(0, 50_000_000).Draw(t, name)) }
			p.targets = append(p.targets, &penstock.Target{
				Name: fmt.Sprint(i), MaxOutputTokens: rapid.Int64Range(1, 500).Draw(t, "output"),
				Price: penstock.Price{Input: price("in"), Output: price("out")},
			})
		}
		for range rapid.IntRange(1, 6).Draw(t, "items") {
			inf := dialect.Inference{Object: body.Object{Text: make([]byte, rapid.IntRange(0, 900).Draw(t, "bytes"))}, MaxOutputTokens: rapid.Int64Range(0, 300).Draw(t, "bound")}
			p.quotes = append(p.quotes, quote{weight: inf.Weigh()})
		}
		left := penstock.NanoUSD(rapid.Int64Range(0, 100_000_000).Draw(t, "left"))
		fit, reserved := p.within(left)
		sum := func(targets []*penstock.Target) (all penstock.NanoUSD) {
			for _, q := range p.quotes {
				all += q.bound(targets, p.terms).Cost
			}
			return all
		}
		if len(fit) > 0 && sum(fit) > left {
			t.Fatalf("%v is reserved of %v", sum(fit), left)
		}
		for i, q := range p.quotes {
			if want := q.bound(fit, p.terms).Cost; reserved[i] != want {
				t.Fatalf("for item %d %v is reserved, and it may cost %v", i, reserved[i], want)
			}
		}
		var next *penstock.Target // that was left out first
		for i := range p.targets {
			kept := slices.ContainsFunc(fit, func(f *penstock.Target) bool { return f.Name == p.targets[i].Name })
			if !kept && (next == nil || sum(p.targets[i:i+1]) < sum([]*penstock.Target{next})) {
				next = p.targets[i]
			}
		}
		if next != nil && sum(append(slices.Clone(fit), next)) <= left {
			t.Fatalf("target %s was left out, and %v is enough for it", next.Name, left)
		}
	})
}
