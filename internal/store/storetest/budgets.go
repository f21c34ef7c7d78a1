package storetest

import (
	"strings"
	"time"

	"penstock"
	"penstock/internal/store"
)

func budgetCases() []testCase {
	return []testCase{
		{"a job reserves within a hard budget or is refused", budgetReserve},
		{"a soft budget warns and refuses nothing", budgetSoft},
		{"the end of an item settles its cost and frees the rest", budgetSettle},
		{"cancel and expiry free what was reserved", budgetRelease},
		{"an item is not tried again with money that is not there", budgetRetry},
		{"a lost worker's attempt is forfeit and counts", budgetRescue},
		{"a process withdraws, spends and returns", budgetDraw},
		{"what a dead process held is forfeit", budgetForfeit},
		{"every account has to have enough", budgetAll},
		{"what was spent beyond all bounds counts", budgetOverdrawn},
		{"a job over a file waits on its budget", budgetSplit},
		{"items are paid from the period of their split", budgetTurn},
		{"items with unknown budgets are paid as before", budgetAsBefore},
		{"a job that no budget pays for waits", budgetNobody},
		{"a stopped job needs no money", budgetStopped},
		{"only a current lease may withdraw", budgetLease},
		{"balances are read without writing", budgetBalances},
		{"an exceeded soft budget is published once", budgetExceeded},
	}
}

// account is a budget of acme's for good.
func account(limit penstock.NanoUSD, edit ...func(*penstock.Budget)) store.Account {
	b := penstock.Budget{Period: penstock.PeriodTotal, Limit: limit, Hard: true}
	for _, e := range edit {
		e(&b)
	}
	return store.Account{Budget: b}
}

func soft(b *penstock.Budget) { b.Hard = false }

// paid is a job of n items, each of which reserves 10,000 nano-dollars and spends 300 and its index.
func (r *rig) paid(n int, accounts ...store.Account) store.Submission {
	s := r.submission(n)
	for i := range s.Items {
		s.Items[i].Reserved = 10_000
	}
	s.Accounts = accounts
	return s
}

// balance is the balance of acme's only budget; the ledger must agree with it.
func (r *rig) balance() store.Balance {
	r.t.Helper()
	r.verifyLedger()
	states, err := r.s.BudgetStates(r.t.Context(), acme, everything)
	r.must("list budgets", err)
	if len(states) != 1 {
		r.t.Fatalf("there are %d budgets, want 1", len(states))
	}
	return states[0].Balance
}

func (r *rig) wantBalance(settled, held penstock.NanoUSD) {
	r.t.Helper()
	if b := r.balance(); b.Settled != settled || b.Held != held {
		r.t.Errorf("settled %d and held %d, want %d and %d", b.Settled, b.Held, settled, held)
	}
}

func budgetReserve(r *rig) {
	a := account(25_000)
	r.submit(r.paid(2, a))
	r.wantBalance(0, 20_000)
	_, err := r.s.SubmitJob(r.t.Context(), acme, r.paid(1, a))
	r.wantCode("a job beyond the budget", err, penstock.CodeBudgetExceeded)
	r.wantBalance(0, 20_000)
	r.submit(r.paid(1)) // one that no budget covers
	a.Limit = 30_000    // as a reload does
	r.submit(r.paid(1, a))
	r.wantBalance(0, 30_000)
}

func budgetSoft(r *rig) {
	a := account(15_000, soft)
	receipt, err := r.s.SubmitJob(r.t.Context(), acme, r.paid(1, a))
	r.must("submit", err)
	if len(receipt.Warnings) != 0 {
		r.t.Errorf("a job within the budget gets the warning %q", receipt.Warnings)
	}
	receipt, err = r.s.SubmitJob(r.t.Context(), acme, r.paid(1, a))
	r.must("submit beyond a soft budget", err)
	if len(receipt.Warnings) != 1 {
		r.t.Errorf("a job beyond the budget gets the warnings %q, want one", receipt.Warnings)
	}
	r.wantBalance(0, 20_000)
}

func budgetSettle(r *rig) {
	r.submit(r.paid(2, account(20_000)))
	claims := r.claimN(r.lease("worker"), 2)
	r.win(r.ending(claims[0], penstock.TransitionSucceed))
	r.wantBalance(300, 10_000)
	unknown := r.ending(claims[1], penstock.TransitionFail)
	unknown.Cost, unknown.Forfeit = 100, 9_900
	unknown.Attempts[0].Cost = 100
	r.win(unknown)
	r.wantBalance(10_300, 0)
}

func budgetRelease(r *rig) {
	stopped := r.submit(r.paid(3, account(60_000)))
	r.submit(r.paid(3, account(60_000)))
	r.wantBalance(0, 60_000)
	r.stop(stopped.Job.ID)
	r.drain(5, r.cancel)
	r.wantBalance(0, 30_000)
	r.clock.Advance(deadlineIn)
	r.drain(5, r.expire)
	r.wantBalance(0, 0)
}

func budgetRetry(r *rig) {
	r.submit(r.paid(1, account(10_300)))
	l := r.lease("worker")
	c := r.claimOne(l)
	r.win(r.ending(c, penstock.TransitionRetry)) // costs 300: just enough is left for another attempt
	r.wantBalance(300, 10_000)
	c = r.claimOne(l)
	r.win(r.ending(c, penstock.TransitionRetry)) // now it is not
	item, err := r.s.Item(r.t.Context(), acme, c.Item)
	r.must("read the item", err)
	if item.Status != penstock.StatusFailed || item.Error == nil || item.Error.Code != penstock.CodeBudgetExceeded {
		r.t.Errorf("the item is %s with %+v, want it failed for lack of budget", item.Status, item.Error)
	}
	r.wantBalance(600, 0)
}

func budgetRescue(r *rig) {
	r.submit(r.paid(2, account(30_000)))
	l := r.lease("dead")
	claims := r.claimN(l, 2)
	r.clock.Advance(pastLease)
	r.drain(5, r.rescue)
	// Each lost 10,000: one may be tried again with the last 10,000, or both fail; never more than the limit.
	if b := r.balance(); b.Settled != 20_000 || b.Settled+b.Held > b.Limit {
		r.t.Errorf("settled %d, held %d of %d", b.Settled, b.Held, b.Limit)
	}
	late := r.ending(claims[0], penstock.TransitionSucceed) // what the dead one says is counted already
	verdicts, err := r.s.FinishItems(r.t.Context(), []store.Finish{late})
	r.must("finish", err)
	if verdicts[0].Won {
		r.t.Error("a stale finish won")
	}
	if b := r.balance(); b.Settled != 20_000 {
		r.t.Errorf("settled %d, want 20000", b.Settled)
	}
}

// held withdraws from accounts of acme's.
func (r *rig) held(l store.Lease, need, want penstock.NanoUSD, accounts ...store.Account) ([]store.BudgetGrant, error) {
	o := store.BudgetDraw{Lease: l}
	for _, a := range accounts {
		o.Wants = append(o.Wants, store.BudgetWant{Account: a, Need: need, Want: want})
	}
	return r.s.Hold(r.t.Context(), acme, o)
}

func budgetDraw(r *rig) {
	a, l := account(1_000), r.lease("api")
	grants, err := r.held(l, 100, 700, a)
	r.must("hold", err)
	if grants[0].Amount != 700 {
		r.t.Errorf("got %d, want 700", grants[0].Amount)
	}
	grants, err = r.held(l, 100, 700, a)
	r.must("hold the rest", err)
	if grants[0].Amount != 300 {
		r.t.Errorf("got %d, want the 300 that were left", grants[0].Amount)
	}
	_, err = r.held(l, 1, 1, a)
	r.wantCode("a hold beyond the budget", err, penstock.CodeBudgetExceeded)
	r.wantBalance(0, 1_000)

	call := r.request()
	call.Cost, call.Forfeit = 40, 60
	call.Funding = penstock.Funding{Process: l.Process, Epoch: l.Epoch, Budgets: []penstock.ID{a.ID(acme)}}
	r.record(call)
	r.record(call) // a group may be written again
	r.wantBalance(100, 900)
	for range 2 { // one whose answer got lost is sent again
		r.must("return", r.s.ReturnBudgets(r.t.Context(), l, []store.BudgetReturn{{Budget: a.ID(acme), Amount: 400, Number: 1}}))
		r.wantBalance(100, 500)
	}
	r.must("return more", r.s.ReturnBudgets(r.t.Context(), l, []store.BudgetReturn{{Budget: a.ID(acme), Amount: 400, Number: 2}}))
	r.wantBalance(100, 100)
}

func budgetOverdrawn(r *rig) {
	a, l := account(1_000), r.lease("api")
	_, err := r.held(l, 100, 100, a)
	r.must("hold", err)
	call := r.request()
	call.Cost = 130 // an upstream that did not keep to the bounds
	call.Funding = penstock.Funding{Process: l.Process, Epoch: l.Epoch, Budgets: []penstock.ID{a.ID(acme)}}
	r.record(call)
	r.wantBalance(130, 0)
}

// splitPaid gives a job items of its file that are paid from accounts.
func (r *rig) splitPaid(sub store.Submission, from int, accounts ...store.Account) store.Step {
	r.t.Helper()
	step, err := r.s.SplitJob(r.t.Context(), acme, store.Split{Job: sub.Job.ID, From: from, Items: sub.Items[from:], Accounts: accounts})
	r.must("split", err)
	return step
}

// paidBatch is a job over a file of n lines, each of which reserves 10,000 nano-dollars and spends 300 and its index.
func (r *rig) paidBatch(n int) store.Submission {
	sub := r.batch(n)
	for i := range sub.Items {
		sub.Items[i].Reserved = 10_000
	}
	return sub
}

func budgetSplit(r *rig) {
	a := account(25_000)
	sub := r.paidBatch(4)
	if step := r.splitPaid(sub, 0, a); step.Items != 2 {
		r.t.Errorf("the job got %d items, want the 2 that there is money for", step.Items)
	}
	r.wantBalance(0, 20_000)
	r.wantSame("lacking", r.unsplit(), map[penstock.ID]int{sub.Job.ID: 2})
	if step := r.splitPaid(sub, 2, a); step.Items != 0 {
		r.t.Errorf("the job got %d items, want none", step.Items)
	}
	if j := r.job(sub.Job.ID); j.WaitingOn != penstock.WaitingOnBudget || !j.Resolved.Bounded {
		r.t.Errorf("the job waits on %q, bounded %t", j.WaitingOn, j.Resolved.Bounded)
	}
	r.wantSame("those to look at while it waits", r.unsplit(), map[penstock.ID]int{})

	r.win(r.endings(r.claimN(r.lease("worker"), 2), penstock.TransitionSucceed)...)
	r.wantBalance(601, 0)
	r.clock.Advance(time.Minute)
	r.wantSame("lacking later", r.unsplit(), map[penstock.ID]int{sub.Job.ID: 2})
	if step := r.splitPaid(sub, 2, a); step.Items != 2 {
		r.t.Errorf("the job got %d items, want the last 2", step.Items)
	}
	if j := r.job(sub.Job.ID); j.WaitingOn != "" {
		r.t.Errorf("the job waits on %q", j.WaitingOn)
	}
	r.win(r.endings(r.claimN(r.lease("worker"), 2), penstock.TransitionSucceed)...)
	r.wantBalance(1_206, 0)
	r.audit(sub)
}

// splitAsBefore gives a job items of its file whose budgets are unknown.
func (r *rig) splitAsBefore(sub store.Submission, from int) store.Step {
	r.t.Helper()
	step, err := r.s.SplitJob(r.t.Context(), acme, store.Split{Job: sub.Job.ID, From: from, Items: sub.Items[from:], AsBefore: true})
	r.must("split", err)
	return step
}

func budgetAsBefore(r *rig) {
	a := account(25_000)
	sub := r.paidBatch(5)
	first := sub
	first.Items = sub.Items[:1]
	r.splitPaid(first, 0, a)
	if step := r.splitAsBefore(sub, 1); step.Items != 1 {
		r.t.Errorf("the job got %d items, want the one that there is money for", step.Items)
	}
	r.wantBalance(0, 20_000)
	if step := r.splitAsBefore(sub, 2); step.Items != 0 {
		r.t.Errorf("the job got %d items beyond its hard budget", step.Items)
	}
	if j := r.job(sub.Job.ID); j.WaitingOn != penstock.WaitingOnBudget {
		r.t.Errorf("the job waits on %q", j.WaitingOn)
	}
	r.win(r.endings(r.claimN(r.lease("worker"), 2), penstock.TransitionSucceed)...)
	r.wantBalance(601, 0)
}

func budgetNobody(r *rig) {
	free, bounded := r.batch(1), r.batch(1, func(s *store.Submission) { s.Job.Resolved.Bounded = true })
	if step := r.splitAsBefore(free, 0); step.Items != 1 {
		r.t.Errorf("a job without budgets got %d items", step.Items)
	}
	if step := r.splitAsBefore(bounded, 0); step.Items != 0 {
		r.t.Errorf("a job under a hard budget got %d items that no budget pays for", step.Items)
	}
	if j := r.job(bounded.Job.ID); j.WaitingOn != penstock.WaitingOnBudget {
		r.t.Errorf("the job waits on %q", j.WaitingOn)
	}
}

func budgetTurn(r *rig) {
	daily := func(day int) store.Account {
		b := penstock.Budget{Period: penstock.PeriodDaily, Limit: 25_000, Hard: true}
		return store.Account{Budget: b, Start: time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)}
	}
	sub := r.paidBatch(3)
	r.splitPaid(sub, 0, daily(1))
	if step := r.splitPaid(sub, 2, daily(2)); step.Items != 1 { // the next day
		r.t.Fatalf("the job got %d items, want 1", step.Items)
	}
	l := r.lease("worker")
	claims := r.claimN(l, 3)
	r.win(r.ending(claims[0], penstock.TransitionRetry), r.ending(claims[1], penstock.TransitionSucceed), r.ending(claims[2], penstock.TransitionSucceed))
	r.wantStates(map[int]store.Balance{1: {Settled: 601, Held: 10_000}, 2: {Settled: 302}})
	r.win(r.ending(r.claimOne(l), penstock.TransitionSucceed))
	r.wantStates(map[int]store.Balance{1: {Settled: 901}, 2: {Settled: 302}})
}

// wantStates checks the balances of daily budgets; the ledger must agree with them.
func (r *rig) wantStates(want map[int]store.Balance) {
	r.t.Helper()
	r.verifyLedger()
	states, err := r.s.BudgetStates(r.t.Context(), acme, everything)
	r.must("list budgets", err)
	got := map[int]store.Balance{}
	for _, s := range states {
		got[s.Start.Day()] = store.Balance{Settled: s.Balance.Settled, Held: s.Balance.Held}
	}
	r.wantSame("budgets by day", got, want)
}

func budgetStopped(r *rig) {
	a := account(15_000)
	sub := r.paidBatch(4)
	r.splitPaid(sub, 0, a)
	r.splitPaid(sub, 1, a) // which waits
	r.stop(sub.Job.ID)
	r.wantSame("a stopped one is looked at while it waits", r.unsplit(), map[penstock.ID]int{sub.Job.ID: 1})
	if step := r.splitPaid(sub, 1, a); step.Items != 3 || len(step.Finished) != 1 {
		r.t.Errorf("a stopped job got %d items and finished %v", step.Items, step.Finished)
	}
	r.wantBalance(0, 0)
}

func budgetForfeit(r *rig) {
	a, l := account(1_000), r.lease("api")
	_, err := r.held(l, 600, 600, a)
	r.must("hold", err)
	step, err := r.s.ForfeitBudgets(r.t.Context(), everything)
	r.must("forfeit nothing", err)
	if step.Items != 0 {
		r.t.Errorf("%d holds of a living process were forfeit", step.Items)
	}
	r.clock.Advance(pastLease)
	_, err = r.s.ForfeitBudgets(r.t.Context(), everything)
	r.must("forfeit", err)
	r.wantBalance(600, 0)

	call := r.request() // what it says later is counted already
	call.Cost = 50
	call.Funding = penstock.Funding{Process: l.Process, Epoch: l.Epoch, Budgets: []penstock.ID{a.ID(acme)}}
	r.record(call)
	r.must("return", r.s.ReturnBudgets(r.t.Context(), l, []store.BudgetReturn{{Budget: a.ID(acme), Amount: 500, Number: 1}}))
	r.wantBalance(600, 0)
}

func budgetAll(r *rig) {
	l := r.lease("api")
	wide, tight := account(1_000), account(50, func(b *penstock.Budget) { b.Model = "fast" })
	_, err := r.held(l, 100, 100, wide, tight)
	r.wantCode("a hold that one of two refuses", err, penstock.CodeBudgetExceeded)
	states, err := r.s.BudgetStates(r.t.Context(), acme, everything)
	r.must("list budgets", err)
	for _, s := range states {
		if s.Balance.Held != 0 {
			r.t.Errorf("%v holds %d after a refusal", s.Budget, s.Balance.Held)
		}
	}
	day := store.Account{Budget: wide.Budget, Start: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}
	if day.ID(acme) == wide.ID(acme) || wide.ID(acme) == wide.ID("other") {
		r.t.Error("two accounts share an id")
	}
}

func budgetLease(r *rig) {
	old := r.lease("api")
	r.lease("api")
	_, err := r.held(old, 1, 1, account(1_000))
	r.wantCode("a hold of an old epoch", err, penstock.CodeConflict)
}

func budgetExceeded(r *rig) {
	exceeded := r.hook(penstock.EventBudgetExceeded)
	r.hook(penstock.EventJobFinished)
	a := account(500, soft) // each item spends 300 and its index, and holds 10,000
	r.submit(r.paid(3, a))
	claims := r.claimN(r.lease("worker"), 3)
	r.win(r.ending(claims[0], penstock.TransitionSucceed))
	r.delivering(0) // much is set aside, but not so much spent
	r.win(r.ending(claims[1], penstock.TransitionSucceed))
	d := r.delivering(1)[0]
	if d.Type != penstock.EventBudgetExceeded || d.Webhook != exceeded.ID || d.Job != "" ||
		!strings.Contains(string(d.Body), `"job_id":null,"item_id":null,"data":{"key":null,"model":null,"period":"total","starts_at":null,"limit_usd":"0.000000500","spent_usd":"0.000000601"}`) {
		r.t.Errorf("%s received %s: %s", d.Webhook, d.Type, d.Body)
	}
	r.delivered(d)
	at := r.clock.Now()
	r.clock.Advance(time.Minute)
	r.win(r.ending(claims[2], penstock.TransitionSucceed))
	for _, d := range r.delivering(1) { // the end of the job, for the other one
		if d.Type != penstock.EventJobFinished {
			r.t.Errorf("published again: %s", d.Body)
		}
	}
	if all, err := r.s.Balances(r.t.Context(), acme, []store.Account{a}); err != nil || !all[0].ExceededAt.Equal(at) {
		r.t.Errorf("it was used up at %v, says %+v, %v", at, all, err)
	}
	next := account(1, soft, func(b *penstock.Budget) { b.Model = "m2" })
	r.submit(r.paid(1, next))
	r.win(r.ending(r.claimOne(r.lease("other")), penstock.TransitionSucceed))
	if all := r.delivering(2); all[0].Type != penstock.EventBudgetExceeded && all[1].Type != penstock.EventBudgetExceeded {
		r.t.Errorf("no webhook received the event of another budget: %+v", all)
	}
}

func budgetBalances(r *rig) {
	drawn, fresh := account(25_000), account(9_000, func(b *penstock.Budget) { b.Model = "smart" })
	ask := func() []store.Balance {
		r.t.Helper()
		all, err := r.s.Balances(r.t.Context(), acme, []store.Account{fresh, drawn})
		r.must("ask for balances", err)
		return all
	}
	untouched := store.Balance{Limit: 9_000, Hard: true}
	if all := ask(); all[0] != untouched || all[1].Held != 0 {
		r.t.Errorf("balances of unused budgets: %+v", all)
	}
	if states, err := r.s.BudgetStates(r.t.Context(), acme, everything); err != nil || len(states) != 0 {
		r.t.Errorf("asking made %v, %v", states, err)
	}
	r.submit(r.paid(2, drawn))
	drawn.Limit = 30_000 // as it is configured now counts, not as it was
	if all := ask(); all[0] != untouched || (all[1] != store.Balance{Limit: 30_000, Held: 20_000, Hard: true}) {
		r.t.Errorf("balances: %+v", all)
	}
}

func askBalances(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
	a := account(1_000)
	if _, err := r.held(r.lease("api"), 7, 7, a); err != nil {
		return false, err
	}
	all, err := r.s.Balances(r.t.Context(), tenant, []store.Account{a})
	return len(all) != 1 || all[0].Held > 0, err
}

// askBudgetDraw draws on an account with the name of acme's account: another tenant must get its own.
func askBudgetDraw(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
	l, a := r.lease("api"), account(1_000_000)
	if _, err := r.held(l, 600, 600, a); err != nil {
		return false, err
	}
	grants, err := r.s.Hold(r.t.Context(), tenant, store.BudgetDraw{Lease: l, Wants: []store.BudgetWant{{Account: a, Need: 1, Want: 1}}})
	if err != nil {
		return false, err
	}
	return grants[0].Balance.Held > 400, nil
}

func askBudgetStates(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
	if _, err := r.held(r.lease("api"), 1, 1, account(1_000)); err != nil {
		return false, err
	}
	states, err := r.s.BudgetStates(r.t.Context(), tenant, everything)
	return len(states) > 0, err
}
