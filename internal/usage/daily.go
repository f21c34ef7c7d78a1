package usage

import (
	"context"
	"slices"
	"sync"
	"time"

	"penstock"
	"penstock/internal/store"
)

const (
	// dayAge is how long the cost of a day that is over is used again: an item may be settled a little later.
	dayAge = time.Hour
	// todayAge is the same for the current day, and restPerRead the multiple of the duration of the read that it is at least.
	todayAge    = 15 * time.Second
	restPerRead = 50
	// maxDays bounds the costs in memory.
	maxDays = 20_000
)

// Daily knows the cost of days, for pages that show it often. It reads the ledger rarely, and is safe for concurrent use.
type Daily struct {
	ledger  Ledger
	tenants TenantLister
	clock   func() time.Time

	mu   sync.Mutex
	days map[tenantDay]dayCost
}

type tenantDay struct {
	tenant penstock.TenantID
	day    time.Time
}

type dayCost struct {
	cost  penstock.NanoUSD
	until time.Time // when it is read again
}

// NewDaily returns a Daily that has read nothing.
func NewDaily(l Ledger, t TenantLister, clock func() time.Time) *Daily {
	return &Daily{ledger: l, tenants: t, clock: clock, days: map[tenantDay]dayCost{}}
}

// Spent is the cost of today and of yesterday, in UTC, of a tenant or of all tenants for "".
func (d *Daily) Spent(ctx context.Context, tenant penstock.TenantID) (today, yesterday penstock.NanoUSD, err error) {
	now := penstock.PeriodDaily.Start(d.clock().UTC())
	costs, err := d.costs(ctx, tenant, []time.Time{now.Add(-day), now})
	if err != nil {
		return 0, 0, err
	}
	return costs[1], costs[0], nil
}

// costs are the costs of days of a tenant, or of all tenants for "".
func (d *Daily) costs(ctx context.Context, tenant penstock.TenantID, days []time.Time) ([]penstock.NanoUSD, error) {
	tenants, err := Tenants(ctx, d.tenants, tenant)
	if err != nil {
		return nil, err
	}
	sums := make([]penstock.NanoUSD, len(days))
	for _, id := range tenants {
		for i, at := range days {
			cost, err := d.cost(ctx, tenantDay{id, at})
			if err != nil {
				return nil, err
			}
			sums[i] = sums[i].Plus(cost)
		}
	}
	return sums, nil
}

// cost is the cost of one day of one tenant.
func (d *Daily) cost(ctx context.Context, at tenantDay) (penstock.NanoUSD, error) {
	began := d.clock()
	d.mu.Lock()
	known, ok := d.days[at]
	d.mu.Unlock()
	if ok && began.Before(known.until) {
		return known.cost, nil
	}
	spent, err := d.ledger.Spending(ctx, at.tenant, store.SpendingQuery{From: at.day, To: at.day.Add(day), Limit: 1})
	if err != nil {
		return 0, err
	}
	var sum Sum
	for _, s := range spent {
		sum.add(s)
	}
	now := d.clock()
	age := max(todayAge, restPerRead*now.Sub(began))
	if !now.UTC().Before(at.day.Add(day)) {
		age = dayAge
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.days) >= maxDays {
		clear(d.days)
	}
	d.days[at] = dayCost{sum.Cost, now.Add(age)}
	return sum.Cost, nil
}

// MonthForecast is the cost of the current month, in UTC: spent so far, and expected.
type MonthForecast struct {
	Object   string           `json:"object"`
	Month    string           `json:"month" about:"Such as 2026-11."`
	AsOf     time.Time        `json:"as_of"`
	Spent    penstock.NanoUSD `json:"spent_usd" about:"Since the first day of the month, from the ledger."`
	Forecast penstock.NanoUSD `json:"forecast_usd" about:"Expected for the whole month: spent so far, and for each day that is left the mean of the same weekday in the last four weeks."`
	Low      penstock.NanoUSD `json:"low_usd" about:"The same with the cheapest of the four weekdays."`
	High     penstock.NanoUSD `json:"high_usd" about:"The same with the dearest of the four weekdays."`
	Days     []DayForecast    `json:"days" about:"The days of the month."`
}

// DayForecast is a day of a month.
type DayForecast struct {
	Day      string           `json:"day"`
	Cost     penstock.NanoUSD `json:"cost_usd"`
	Expected bool             `json:"expected" about:"The day is not over: for today, the larger of the cost so far and the expected cost."`
}

// history is how many weeks a forecast looks back.
const history = 4

// Month forecasts the cost of the current month of a tenant, or of all tenants for "".
func (d *Daily) Month(ctx context.Context, tenant penstock.TenantID) (MonthForecast, error) {
	now := d.clock().UTC()
	today, first := penstock.PeriodDaily.Start(now), penstock.PeriodMonthly.Start(now)
	from := today.Add(-history * 7 * day)
	if first.Before(from) {
		from = first
	}
	var days []time.Time
	for at := from; !at.After(today); at = at.Add(day) {
		days = append(days, at)
	}
	costs, err := d.costs(ctx, tenant, days)
	if err != nil {
		return MonthForecast{}, err
	}
	known := make(map[time.Time]penstock.NanoUSD, len(days))
	for i, at := range days {
		known[at] = costs[i]
	}
	return forecast(known, now), nil
}

// forecast computes the forecast of the month of a moment from the costs of days up to it.
func forecast(known map[time.Time]penstock.NanoUSD, now time.Time) MonthForecast {
	today, first := penstock.PeriodDaily.Start(now), penstock.PeriodMonthly.Start(now)
	f := MonthForecast{Object: "usage.forecast", Month: first.Format("2006-01"), AsOf: now, Days: []DayForecast{}}
	for at := first; at.Month() == first.Month(); at = at.Add(day) {
		cost := known[at]
		f.Spent = f.Spent.Plus(cost)
		low, mean, high := cost, cost, cost
		if !at.Before(today) {
			a, b, c := weekday(known, today, at.Weekday())
			low, mean, high = max(cost, a), max(cost, b), max(cost, c)
		}
		f.Low, f.Forecast, f.High = f.Low.Plus(low), f.Forecast.Plus(mean), f.High.Plus(high)
		f.Days = append(f.Days, DayForecast{Day: at.Format(time.DateOnly), Cost: mean, Expected: !at.Before(today)})
	}
	return f
}

// weekday is the cheapest, the mean and the dearest cost of a weekday in the weeks before a day.
func weekday(known map[time.Time]penstock.NanoUSD, today time.Time, w time.Weekday) (low, mean, high penstock.NanoUSD) {
	var costs []penstock.NanoUSD
	for back := 1; back <= history*7; back++ {
		at := today.Add(-time.Duration(back) * day)
		if cost, ok := known[at]; ok && at.Weekday() == w {
			costs = append(costs, cost)
		}
	}
	if len(costs) == 0 {
		return 0, 0, 0
	}
	sum := penstock.NanoUSD(0)
	for _, cost := range costs {
		sum = sum.Plus(cost)
	}
	return slices.Min(costs), sum / penstock.NanoUSD(len(costs)), slices.Max(costs)
}
