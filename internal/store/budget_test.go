package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"penstock"
)

// Whatever jobs, calls and processes do, and in whatever order they end or die, no more than the limit of a hard
// budget is ever spent, and nothing stays set aside in the end.
func TestHardBudgetIsNeverExceeded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := Balance{Limit: penstock.NanoUSD(rapid.Int64Range(0, 10_000).Draw(t, "limit")), Hard: true}
		var open []penstock.NanoUSD // what is set aside for each thing that runs
		var spent penstock.NanoUSD  // upstream, as the provider counts it
		amount := func(most penstock.NanoUSD, name string) penstock.NanoUSD {
			return penstock.NanoUSD(rapid.Int64Range(0, int64(most)).Draw(t, name))
		}
		take := func(t *rapid.T) int {
			if len(open) == 0 {
				t.Skip("nothing runs")
			}
			return rapid.IntRange(0, len(open)-1).Draw(t, "which")
		}
		drop := func(i int) { open = append(open[:i], open[i+1:]...) }
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) {
				need := amount(3_000, "need")
				if got, ok := b.Hold(need, need+amount(500, "ahead")); ok {
					if got < need {
						t.Fatalf("got %d, needed %d", got, need)
					}
					open = append(open, got)
				}
			},
			"end": func(t *rapid.T) { // known and unknown cost alike, never more than was set aside
				i := take(t)
				cost := amount(open[i], "cost")
				spent += cost
				b.Spend(open[i], cost)
				drop(i)
			},
			"again": func(t *rapid.T) { // a failed attempt is made again, if there is money for it
				i := take(t)
				cost := amount(open[i], "cost")
				spent += cost
				b.Spend(0, cost)
				if b.Over() {
					b.Spend(open[i], 0)
					drop(i)
				}
			},
			"die": func(t *rapid.T) { // the amount spent is unknown: all of it counts
				i := take(t)
				spent += amount(open[i], "unseen")
				b.Spend(open[i], open[i])
				drop(i)
			},
			"": func(t *rapid.T) {
				var held penstock.NanoUSD
				for _, h := range open {
					held += h
				}
				if spent > b.Limit || b.Settled > b.Limit || b.Settled+b.Held > b.Limit || b.Held != held || spent > b.Settled {
					t.Fatalf("%+v with %d held and %d spent", b, held, spent)
				}
			},
		})
	})
}

// Of a soft budget as much may be set aside as can be counted.
func TestSoftBudgetDoesNotOverflow(t *testing.T) {
	t.Parallel()
	b := Balance{Limit: 10, Settled: 5}
	const half = math.MaxInt64 / 2
	if _, ok := b.Hold(half, half); !ok {
		t.Fatal("half of all money cannot be set aside")
	}
	items := []NewItem{{Reserved: half / 2}, {Reserved: half}}
	if fit := b.Fit(items); fit != 1 {
		t.Errorf("%d items fit, want 1", fit)
	}
	before := b
	if got, ok := b.Hold(half, half); ok || b != before {
		t.Errorf("set %d aside, of which there is none: %+v", got, b)
	}
	if got, ok := b.Hold(1, math.MaxInt64); !ok || !b.Over() || b.Held < 0 {
		t.Errorf("got %d, %t: %+v", got, ok, b)
	}
	if _, ok := b.Hold(-1, -1); ok {
		t.Error("less than nothing was set aside")
	}
}

func TestSoftBudgetGivesWhatIsWanted(t *testing.T) {
	t.Parallel()
	b := Balance{Limit: 10}
	if got, ok := b.Hold(5, 20); got != 20 || !ok || !b.Over() {
		t.Errorf("got %d, %t, over %t", got, ok, b.Over())
	}
}

// The id of an account is kept in the database: it must stay what it was.
func TestAccountIDStays(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 15, 13, 0, 0, 0, time.UTC)
	budgets := []penstock.Budget{{Period: penstock.PeriodTotal}, {Key: "app", Period: penstock.PeriodDaily}, {Model: "fast", Period: penstock.PeriodMonthly}}
	all := AccountsOf(penstock.Principal{Tenant: penstock.Tenant{ID: "search", Budgets: budgets}, Key: "app"}, Work{Model: penstock.ModelNames{Asked: "fast", Answers: "fast"}}, now)
	for _, a := range all {
		text := fmt.Sprintf("search\x00%s\x00%s\x00%s\x00%d", a.Key, a.Model, a.Period, a.Period.Start(now).Unix())
		sum := sha256.Sum256([]byte(text))
		again := Account{Budget: a.Budget, Start: a.Start}
		if want := penstock.ID(hex.EncodeToString(sum[:])[:26]); a.ID("search") != want || again.ID("search") != want {
			t.Errorf("%v is %s and %s, want %s", a.Budget, a.ID("search"), again.ID("search"), want)
		}
	}
	if len(all) != 3 || !slices.IsSortedFunc(all, func(a, b Account) int { return strings.Compare(string(a.id), string(b.id)) }) {
		t.Errorf("accounts %v", all)
	}
}

// A budget by tag covers work with the tag, and its account differs from that of the same budget without one.
func TestTagBudgets(t *testing.T) {
	t.Parallel()
	budgets := []penstock.Budget{
		{Period: penstock.PeriodTotal, Limit: 1}, {Tag: "team:search", Period: penstock.PeriodTotal, Limit: 1}, {Tag: "team:a:b", Period: penstock.PeriodTotal, Limit: 1},
	}
	caller := penstock.Principal{Tenant: penstock.Tenant{ID: "acme", Budgets: budgets}}
	for want, tags := range map[int]map[string]string{1: {"team": "ads", "other": "search"}, 2: {"team": "search", "run": "1"}} {
		all := AccountsOf(caller, Work{Tags: tags}, time.Now())
		if len(all) != want {
			t.Errorf("%v counts against %d budgets, want %d", tags, len(all), want)
		}
		if want == 2 && all[0].ID("acme") == all[1].ID("acme") {
			t.Error("two budgets have one account")
		}
	}
	if all := AccountsOf(caller, Work{Tags: map[string]string{"team": "a:b"}}, time.Now()); len(all) != 2 {
		t.Errorf("a value with a colon counts against %d budgets", len(all))
	}
	plain := Account{Budget: penstock.Budget{Key: "app", Model: "fast", Period: penstock.PeriodDaily}, Start: time.Unix(1_800_000_000, 0)}
	if id := plain.ID("acme"); id != "8f4e5283dccfd66d6601152434" {
		t.Errorf("the id of an account without a tag is %s: budgets that exist would start at zero", id)
	}
}

func TestUsedUpAt(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC) // ten days of the month have passed
	for _, tt := range []struct {
		period             penstock.Period
		limit, spent, held penstock.NanoUSD
		want               time.Time
	}{
		{penstock.PeriodMonthly, 200, 100, 0, now.AddDate(0, 0, 10)},
		{penstock.PeriodMonthly, 200, 100, 50, now.AddDate(0, 0, 5)},
		{penstock.PeriodMonthly, 400, 100, 0, time.Time{}}, // the month is over before
		{penstock.PeriodMonthly, 100, 100, 0, time.Time{}},
		{penstock.PeriodMonthly, 100, 0, 0, time.Time{}},
		{penstock.PeriodTotal, 200, 100, 0, time.Time{}},
	} {
		a := Account{Budget: penstock.Budget{Period: tt.period, Limit: tt.limit}, Start: tt.period.Start(now)}
		if got := a.UsedUpAt(Balance{Limit: tt.limit, Settled: tt.spent, Held: tt.held}, now); !got.Equal(tt.want) {
			t.Errorf("%+v: used up at %v", tt, got)
		}
	}
}
