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
var budgetSteps = []string{"hold", "return_holds", "forfeit_holds"}

// TestBudgetHoldsThroughCrashes spends a hard budget with jobs, streams, cancels and retries at once, while the server
// is killed again and again. What the upstream counted is never more than the budget, and the books are right.
func TestBudgetHoldsThroughCrashes(t *testing.T) {
	t.Parallel()
	for _, on := range []engine{onSQLite, onPostgres} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			kills, limit := 6, penstock.NanoUSD(200_000_000)
			if text := os.Getenv(envKills); text != "" {
				kills, limit = 100, 10_000_000_000
				if n, err := strconv.Atoi(text); err == nil {
					kills = n
				}
			}
			r := newRig(t, on)
			r.giveBudget(limit)
			s := &spender{rig: r}
			ctx, stop := context.WithCancel(t.Context())
			var crowd sync.WaitGroup
			for i := range 8 {
				crowd.Go(func() { s.spend(ctx, i) })
			}
			for i := range kills {
				d := death{after: time.Duration(200+r.random.IntN(800)) * time.Millisecond}
				if i%2 == 0 {
					d.point, d.pass = budgetSteps[r.random.IntN(len(budgetSteps))]+"."+moments[r.random.IntN(len(moments))], 1
				}
				r.live(d)
			}
			r.start(death{})
			if os.Getenv(envKills) == "" { // a small budget is spent to the end, by calls of which the cost is told
				s.calm.Store(true)
				s.refused.Store(0)
				AwaitLong(t, "the budget to be used up", 3*patience, func() error {
					if s.refused.Load() < 20 {
						return fmt.Errorf("%d refusals, %d answers", s.refused.Load(), s.answered.Load())
					}
					return nil
				})
			}
			stop()
			crowd.Wait()
			spent := r.checkSpending(limit, s)
			if s.calm.Load() && spent < limit/2 { // the rest was forfeit
				t.Errorf("only $%s of $%s were spent: the limit was never near", spent.Short(), limit.Short())
			}
		})
	}
}

// giveBudget makes all calls cost what one target charges, and bounds what they may cost.
func (r *rig) giveBudget(limit penstock.NanoUSD) {
	r.t.Helper()
	text := strings.Replace(r.yaml(), "targets: [large, small]", "targets: [large]", 1)
	text = strings.Replace(text, tenant+": {keys", fmt.Sprintf("%s: {budget: {total_usd: %q, hard: true}, keys", tenant, limit.Short()), 1)
	text = strings.Replace(text, "max_output_tokens: 60000", "max_output_tokens: 40", 1)
	if err := os.WriteFile(r.config, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// spender is a tenant that spends what it has.
type spender struct {
	*rig
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
		if s.calm.Load() { // long questions, so that not many are needed
			call.Body, way = strings.Replace(call.Body, prompt, fmt.Sprintf("%d-%d [sim:tokens=40] %s", who, n, strings.Repeat("and so on ", 300)), 1), 0
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
	answer, err := s.door.Try(ctx, call)
	switch {
	case err != nil: // the server is away: not so often
		pause := time.NewTimer(20 * time.Millisecond)
		defer pause.Stop()
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
	case answer.Status == http.StatusPaymentRequired:
		s.refused.Add(1)
	case answer.Status < http.StatusBadRequest:
		s.answered.Add(1)
		if job := answer.Header.Get("Location"); strings.HasPrefix(job, "/v1/jobs/") && s.answered.Load()%5 == 0 {
			_, _ = s.door.Try(ctx, Call{Method: http.MethodPost, Path: job + "/cancel"})
		}
	}
}

// checkSpending stops the server, whatever is still open, and compares what the upstream counted with the budget and
// with the books.
func (r *rig) checkSpending(limit penstock.NanoUSD, s *spender) (spent penstock.NanoUSD) {
	r.t.Helper()
	last := r.lives[len(r.lives)-1]
	last.Stop()
	used := r.upstream.Stats()
	spent = penstock.NanoUSD(used.InputTokens)*1000 + penstock.NanoUSD(used.OutputTokens)*2000
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
