package budget

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

// bank is a store of one budget.
type bank struct {
	store.Budgets
	mu      sync.Mutex
	balance store.Balance
	visits  int
	deaf    int           // how many returns are booked without that the answer arrives
	last    int64         // number of the last return
	stall   chan struct{} // holds wait for it
}

func (b *bank) Hold(ctx context.Context, _ penstock.TenantID, o store.BudgetDraw) ([]store.BudgetGrant, error) {
	if b.stall != nil {
		<-b.stall
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.visits++
	w := o.Wants[0]
	got, ok := b.balance.Hold(w.Need, w.Want)
	if !ok {
		return nil, w.Account.Exceeded(b.balance, w.Need)
	}
	return []store.BudgetGrant{{Amount: got, Balance: b.balance}}, ctx.Err() // a commit counts, whether or not its answer arrives
}

func (b *bank) ReturnBudgets(_ context.Context, _ store.Lease, returns []store.BudgetReturn) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range returns {
		if r.Number > b.last {
			b.balance.Spend(r.Amount, 0)
			b.last = r.Number
		}
	}
	if b.deaf > 0 {
		b.deaf--
		return errors.New("the connection broke")
	}
	return nil
}

// record is what the record of a call does to the budget.
func (b *bank) record(spent penstock.NanoUSD) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.balance.Spend(spent, spent)
}

func newReserver(limit penstock.NanoUSD, hard bool) (*Reserver, *bank, Demand) {
	money := &bank{balance: store.Balance{Limit: limit, Hard: hard}}
	reserver := New(Deps{
		Store: money, Lease: func() store.Lease { return store.Lease{Process: "p", Epoch: 1} },
		Metrics: telemetry.NewMetrics("test", ""), Log: slog.New(slog.DiscardHandler), Clock: time.Now,
	})
	budget := penstock.Budget{Period: penstock.PeriodTotal, Limit: limit, Hard: hard}
	return reserver, money, Demand{Principal: penstock.Principal{Key: "k", Tenant: penstock.Tenant{ID: "t", Budgets: []penstock.Budget{budget}}}, Model: penstock.ModelNames{Asked: "m", Answers: "m"}}
}

// Many calls at once spend a hard budget to the end and never beyond it, and nothing stays held.
func TestCallsNeverExceedAHardBudget(t *testing.T) {
	t.Parallel()
	const limit, most = 100_000, 500
	reserver, money, demand := newReserver(limit, true)
	demand.Most = most
	var calls sync.WaitGroup
	for range 16 {
		calls.Go(func() {
			for {
				reservation, err := reserver.Reserve(t.Context(), demand)
				switch penstock.ErrorCode(err) {
				case penstock.CodeBudgetExceeded:
					return
				case penstock.CodeOverloaded:
					continue
				}
				spent := penstock.NanoUSD(rand.Int64N(most + 1))
				money.record(spent)
				reservation.Settle(spent)
			}
		})
	}
	calls.Wait()
	if err := reserver.returnIdle(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if b := money.balance; b.Settled > limit || b.Held != 0 || b.Settled < limit-17*most {
		t.Errorf("%+v after all calls ended", b)
	}
}

// What was withdrawn for a caller who has left is there for the next one, and goes back when nobody comes.
func TestCallerWhoLeavesLeavesNoMoneyBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reserver, money, demand := newReserver(100_000, true)
		demand.Most = 500
		money.stall = make(chan struct{})
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			if reservation, err := reserver.Reserve(ctx, demand); err == nil {
				reservation.Settle(0)
			}
		}()
		synctest.Wait()
		leave()
		close(money.stall)
		synctest.Wait()
		if err := reserver.returnIdle(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if money.visits != 1 || money.balance.Held != 0 {
			t.Errorf("after %d visits %d are held for nobody", money.visits, money.balance.Held)
		}
	})
}

func TestMemoryPaysForMostCalls(t *testing.T) {
	t.Parallel()
	reserver, money, demand := newReserver(10_000_000, true)
	demand.Most = 100
	for range 90 {
		reservation, err := reserver.Reserve(t.Context(), demand)
		if err != nil {
			t.Fatal(err)
		}
		money.record(100)
		reservation.Settle(100)
	}
	if money.visits != 1 {
		t.Errorf("%d visits for 90 calls within one withdrawal", money.visits)
	}
}

func TestCallsWithoutABudgetCostNothing(t *testing.T) {
	t.Parallel()
	reserver, money, _ := newReserver(1, true)
	reservation, err := reserver.Reserve(t.Context(), Demand{Most: 1000})
	reservation.Settle(1000)
	if err != nil || money.visits != 0 || reservation.Hard || len(reservation.Funding.Budgets) != 0 {
		t.Errorf("reservation %+v, %v, %d visits", reservation, err, money.visits)
	}
}

func TestSoftBudgetWarns(t *testing.T) {
	t.Parallel()
	reserver, _, demand := newReserver(1_000, false)
	demand.Most = 900
	for i, warnings := range []int{0, 1} {
		reservation, err := reserver.Reserve(t.Context(), demand)
		if err != nil || len(reservation.Warnings) != warnings || reservation.Hard {
			t.Errorf("call %d: reservation %+v, %v; want %d warnings", i, reservation, err, warnings)
		}
	}
}

// A return whose answer got lost is made again, and counts once.
func TestReturnIsRepeated(t *testing.T) {
	t.Parallel()
	reserver, money, demand := newReserver(1_000_000, true)
	demand.Most = 500
	for round := range 3 {
		reservation, err := reserver.Reserve(t.Context(), demand)
		if err != nil {
			t.Fatal(err)
		}
		reservation.Settle(0)
		money.deaf = 2
		for range 2 {
			if err := reserver.returnIdle(t.Context(), 0); err == nil {
				t.Fatal("a lost answer is no error")
			}
		}
		if err := reserver.returnIdle(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if money.balance.Held != 0 {
			t.Errorf("round %d: %v stays held", round, money.balance.Held)
		}
	}
}

// What a call may have spent of which nobody knows stays withdrawn, and its local allowance is forgotten.
func TestLostCall(t *testing.T) {
	t.Parallel()
	reserver, money, demand := newReserver(1_000, true)
	demand.Most = 400
	reservation, err := reserver.Reserve(t.Context(), demand)
	if err != nil {
		t.Fatal(err)
	}
	reservation.Lose()
	reservation.Settle(0) // too late
	for range 2 {
		if err := reserver.returnIdle(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	if money.balance.Held != 400 || len(reserver.allowances) != 0 || len(reserver.gates) != 0 {
		t.Errorf("%v is held, %d local allowances and %d gates are left", money.balance.Held, len(reserver.allowances), len(reserver.gates))
	}
}

// A withdrawal from one budget does not wait for one from another.
func TestBudgetsDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	reserver, money, slow := newReserver(1_000_000, true)
	quick := slow
	quick.Principal.Tenant.ID = "other"
	slow.Most, quick.Most = 10, 10
	if _, err := reserver.Reserve(t.Context(), quick); err != nil {
		t.Fatal(err)
	}
	money.stall = make(chan struct{})
	done := make(chan error)
	go func() {
		_, err := reserver.Reserve(t.Context(), slow)
		done <- err
	}()
	leave, err := reserver.admit(t.Context(), quick, store.AccountsOf(quick.Principal, store.Work{Model: penstock.ModelNames{Asked: "m", Answers: "m"}}, time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	leave()
	close(money.stall)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// However many draw at once on a budget of which little is withdrawn ahead, nobody is turned away while there is money.
func TestCrowdIsNotTurnedAway(t *testing.T) {
	t.Parallel()
	const limit = 100_000
	b := &bank{balance: store.Balance{Limit: limit, Hard: true}}
	reserver := New(Deps{
		Store: b, Lease: func() store.Lease { return store.Lease{Process: "a", Epoch: 1} }, Metrics: telemetry.NewMetrics("test", ""),
		Log: slog.New(slog.DiscardHandler), Clock: time.Now,
	})
	d := Demand{Principal: penstock.Principal{Tenant: penstock.Tenant{ID: "t", Budgets: []penstock.Budget{{Period: penstock.PeriodTotal, Limit: limit, Hard: true}}}}, Model: penstock.ModelNames{Asked: "m", Answers: "m"}, Most: 1000}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for range 20 {
				reservation, err := reserver.Reserve(t.Context(), d)
				if err != nil {
					t.Error(err)
					return
				}
				reservation.Settle(0)
			}
		})
	}
	all.Wait()
}

// What is left of a hard budget pays for the cheaper targets of a call, and the dearest that there is money for decides how much is set aside.
func TestWhatIsLeftPaysForFewerTargets(t *testing.T) {
	t.Parallel()
	reserver, money, demand := newReserver(1000, true)
	asked := 0
	demand.Less = func() []penstock.NanoUSD { asked++; return []penstock.NanoUSD{700, 300, 100} }
	for _, tt := range []struct {
		most, want penstock.NanoUSD // want is 0 for a refusal
		asked      int
	}{{600, 600, 0}, {800, 300, 1}, {400, 100, 2}, {50, 0, 3}} {
		demand.Most = tt.most
		reservation, err := reserver.Reserve(t.Context(), demand)
		refused := penstock.ErrorCode(err) == penstock.CodeBudgetExceeded
		if reservation.Most != tt.want || refused != (tt.want == 0) || asked != tt.asked {
			t.Errorf("for %d: %d set aside, %v, lesser amounts asked for %d times; want %d and %d", tt.most, reservation.Most, err, asked, tt.want, tt.asked)
		}
	}
	if b := money.balance; b.Held != 1000 || b.Settled != 0 {
		t.Errorf("%+v", b)
	}
}
