package usage

import (
	"context"
	"testing"
	"time"

	"penstock"
	"penstock/internal/store"
)

// diary is a ledger in which every day of November costs 10 and every day of October costs 4, for each of two tenants.
type diary struct{ asked int }

func (d *diary) Spending(_ context.Context, _ penstock.TenantID, q store.SpendingQuery) ([]store.Spending, error) {
	d.asked++
	cost := penstock.NanoUSD(10)
	if q.From.Month() == time.October {
		cost = 4
	}
	return []store.Spending{{Cost: cost}}, nil
}

func (d *diary) TenantIDs(_ context.Context, p store.TenantPage) ([]penstock.TenantID, error) {
	return []penstock.TenantID{"acme", "umbra"}, nil
}

func TestMonth(t *testing.T) {
	t.Parallel()
	d, now := new(diary), time.Date(2026, 11, 15, 9, 0, 0, 0, time.UTC)
	daily := NewDaily(d, d, func() time.Time { return now })
	f, err := daily.Month(t.Context(), "acme")
	if err != nil || f.Month != "2026-11" || f.Spent != 150 || len(f.Days) != 30 || !f.Days[14].Expected || f.Days[13].Expected {
		t.Errorf("%+v, %v", f, err)
	}
	// Each weekday was seen twice in each month, so that a day that is left is expected to cost 7; today is at 10 already.
	if f.Forecast != 150+15*7 || f.Low != 150+15*4 || f.High != 150+15*10 {
		t.Errorf("the month costs %d, from %d to %d", f.Forecast, f.Low, f.High)
	}
	asked := d.asked
	if _, err := daily.Month(t.Context(), "acme"); err != nil || d.asked != asked {
		t.Errorf("%d further questions, %v", d.asked-asked, err)
	}
	now = now.Add(time.Minute)
	if _, err := daily.Month(t.Context(), "acme"); err != nil || d.asked != asked+1 {
		t.Errorf("%d further questions a minute later, %v", d.asked-asked, err)
	}
	if today, yesterday, err := daily.Spent(t.Context(), ""); today != 20 || yesterday != 20 || err != nil {
		t.Errorf("all tenants: %d, %d, %v", today, yesterday, err)
	}
}
