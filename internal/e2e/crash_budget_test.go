package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"penstock"
)

// budgetSteps are the transitions that only processes make whose tenants have budgets: see TestBudgetHoldsThroughCrashes.
var budgetSteps = []string{"draw_budget", "return_budgets", "forfeit_budgets"}

// spree is how a budget is spent.
type spree struct {
	kills int
	limit penstock.NanoUSD
	input penstock.NanoUSD // the price of a token of input; one of output costs twice as much
	pause time.Duration    // of each spender between two calls, while the server is killed
	words int              // of a prompt, once it is not killed any more
	least penstock.NanoUSD // that must be spent, else the limit was never near
}

// Each kill costs what was under way and what the process had withdrawn, a thousandth of the budget. So that most of
// it is left for calls whose cost is known, little is spent meanwhile.
var (
	shortSpree = spree{kills: 6, limit: 200_000_000, input: 1000, words: 600, least: 100_000_000}
	longSpree  = spree{kills: 100, limit: 10_000_000_000, input: 2500, pause: 100 * time.Millisecond, words: 400, least: 8_000_000_000}
)

// TestBudgetHoldsThroughCrashes spends a hard budget with jobs, streams, cancels and retries at once, while the server
// is killed again and again, and then what is left of it. What the upstream counted is never more than the budget, and
// the books are right. With PENSTOCK_SOAK_KILLS the budget is $10.
func TestBudgetHoldsThroughCrashes(t *testing.T) {
	t.Parallel()
	for _, on := range []engine{onSQLite, onPostgres} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			plan := shortSpree
			if text := os.Getenv(envKills); text != "" {
				plan = longSpree
				if n, err := strconv.Atoi(text); err == nil {
					plan.kills = n
				}
			}
			r := newRig(t, on)
			r.giveBudget(plan)
			s := &spender{rig: r, spree: plan}
			ctx, stop := context.WithCancel(t.Context())
			var crowd sync.WaitGroup
			for i := range 8 {
				crowd.Go(func() { s.spend(ctx, i) })
			}
			for i := range plan.kills {
				d := death{after: time.Duration(200+r.random.IntN(800)) * time.Millisecond}
				if i%2 == 0 {
					d.point, d.pass = budgetSteps[r.random.IntN(len(budgetSteps))]+"."+moments[r.random.IntN(len(moments))], 1
				}
				r.live(d)
			}
			r.start(death{})
			s.calm.Store(true) // what is left is spent by calls of which the cost is told
			s.refused.Store(0)
			for last := int64(-1); s.refused.Load() < 20; {
				Await(t, "the budget to be used up", func() error { // as long as it goes on
					if now := s.answered.Load(); s.refused.Load() < 20 && now == last {
						return fmt.Errorf("%d refusals, %d answers", s.refused.Load(), now)
					}
					return nil
				})
				last = s.answered.Load()
			}
			stop()
			crowd.Wait()
			if spent := r.checkSpending(s); spent < plan.least {
				t.Errorf("only $%s of $%s were spent: the limit was never near", spent.Short(), plan.limit.Short())
			}
		})
	}
}

// giveBudget makes all calls cost what one target charges, and bounds what they may cost.
func (r *rig) giveBudget(plan spree) {
	r.t.Helper()
	text := strings.Replace(r.yaml(), "targets: [large, small]", "targets: [large]", 1)
	text = strings.Replace(text, tenant+": {keys", fmt.Sprintf("%s: {budget: {total_usd: %q, hard: true}, keys", tenant, plan.limit.Short()), 1)
	text = strings.Replace(text, "max_output_tokens: 60000", "max_output_tokens: 40", 1)
	const million = 1_000_000
	text = strings.Replace(text, `price: {input: "1.00", output: "2.00"}`,
		fmt.Sprintf(`price: {input: %q, output: %q}`, (plan.input*million).Short(), (2*plan.input*million).Short()), 1)
	if err := os.WriteFile(r.config, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// spender is a tenant that spends what it has.
type spender struct {
	*rig
	spree
	answered, refused atomic.Int64
	calm              atomic.Bool // nothing breaks any more
}

// spend sends one thing after the other. What is not answered is not of interest: it may have been spent.
func (s *spender) spend(ctx context.Context, who int) {
	faults := []string{"", "", "fault=server_error times=1", "fault=disconnect", "tokens=40"}
	for n := 0; ctx.Err() == nil; n++ {
		prompt := fmt.Sprintf("%d-%d [sim:tokens=9 latency=20ms %s]", who, n, faults[n%len(faults)])
		message := fmt.Sprintf(`[{"role":"user","content":%q}]`, prompt)
		call := Call{Method: http.MethodPost, Path: "/v1/chat/completions", Body: fmt.Sprintf(`{"model":"fast","messages":%s}`, message)}
		limit, way := 5*time.Second, (who+n)%4
		if s.calm.Load() {
			call.Body, way = strings.Replace(call.Body, prompt, fmt.Sprintf("%d-%d %s[sim:tokens=40]", who, n, strings.Repeat("word ", s.words)), 1), 0
		} else {
			wait(ctx, s.pause)
		}
		switch way {
		case 1:
			call.Body = fmt.Sprintf(`{"model":"fast","stream":true,"messages":%s}`, message)
		case 2: // the caller leaves
			call.Body, limit = fmt.Sprintf(`{"model":"fast","stream":true,"messages":%s}`, message), 30*time.Millisecond
		case 3:
			call.Path, call.Body = "/v1/jobs", fmt.Sprintf(`{"model":"fast","inputs":[{"body":{"messages":%[1]s}},{"body":{"messages":%[1]s}}]}`, message)
		}
		s.send(ctx, call, limit)
	}
}

func (s *spender) send(ctx context.Context, call Call, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := s.endpoint.Try(ctx, call)
	switch {
	case err != nil: // the server is away: not so often
		wait(ctx, 20*time.Millisecond)
	case answer.Status == http.StatusPaymentRequired:
		s.refused.Add(1)
	case answer.Status < http.StatusBadRequest:
		s.answered.Add(1)
		if job := answer.Header.Get("Location"); strings.HasPrefix(job, "/v1/jobs/") && s.answered.Load()%5 == 0 {
			_, _ = s.endpoint.Try(ctx, Call{Method: http.MethodPost, Path: job + "/cancel"})
		}
	}
}

// wait rests for a while, unless ctx ends.
func wait(ctx context.Context, d time.Duration) {
	if d == 0 {
		return
	}
	pause := time.NewTimer(d)
	defer pause.Stop()
	select {
	case <-ctx.Done():
	case <-pause.C:
	}
}

// checkSpending stops the server, whatever is still open, and compares what the upstream counted with the budget and
// with the books.
func (r *rig) checkSpending(s *spender) (spent penstock.NanoUSD) {
	r.t.Helper()
	limit := s.limit
	last := r.lives[len(r.lives)-1]
	last.Stop()
	used := r.upstream.Stats()
	spent = penstock.NanoUSD(used.InputTokens+2*used.OutputTokens) * s.input
	books := r.openStore()
	report, err := books.VerifyLedger(r.t.Context())
	if err != nil || len(report.Problems) > 0 {
		r.t.Errorf("the books are wrong: %v, %v", err, report.Problems)
	}
	states, err := books.BudgetStates(r.t.Context(), tenant, 10)
	if err != nil || len(states) != 1 {
		r.t.Fatalf("budgets %v, %v", states, err)
	}
	b := states[0].Balance
	r.t.Logf("%d kills, %d answers, %d refusals: the upstream counted $%s, the books $%s spent and $%s set aside, of $%s",
		r.kills(), s.answered.Load(), s.refused.Load(), spent.Short(), b.Settled.Short(), b.Held.Short(), limit.Short())
	if spent > limit || b.Settled+b.Held > limit {
		r.t.Error("the budget is exceeded")
	}
	if spent == 0 || s.answered.Load() == 0 || !slices.ContainsFunc(r.lives, func(l *life) bool { return !l.ended.IsZero() }) {
		r.t.Error("nothing was spent: the test proves nothing")
	}
	return spent
}
