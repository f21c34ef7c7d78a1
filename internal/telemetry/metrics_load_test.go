package telemetry

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"penstock"
)

func TestObjectives(t *testing.T) {
	t.Parallel()
	m := NewMetrics("", "")
	item := func(lane penstock.Lane, status penstock.Status, wait time.Duration) {
		m.ItemFinished(ItemObservation{Model: "fast", Lane: lane, Status: status, Wait: wait})
	}
	item(penstock.LaneBulk, penstock.StatusSucceeded, 0) // before anybody said what is good
	m.SetObjectives(Objectives{penstock.LaneBulk: time.Hour, penstock.LaneRealtime: time.Second})
	item(penstock.LaneBulk, penstock.StatusSucceeded, time.Hour)
	item(penstock.LaneBulk, penstock.StatusFailed, time.Hour+1)
	item(penstock.LaneRealtime, penstock.StatusSucceeded, time.Minute)
	item(penstock.LaneRealtime, penstock.StatusCancelled, 0) // it was never started
	m.SetObjectives(Objectives{penstock.LaneRealtime: time.Hour})
	item(penstock.LaneRealtime, penstock.StatusSucceeded, time.Minute)
	expect(t, scrape(t, m), map[string]float64{
		`penstock_slo_total{lane="bulk"}`:          2,
		`penstock_slo_good_total{lane="bulk"}`:     1,
		`penstock_slo_total{lane="realtime"}`:      2,
		`penstock_slo_good_total{lane="realtime"}`: 1,
		`penstock_slo_total{lane="standard"}`:      0,
		`penstock_slo_good_total{lane="standard"}`: 0,
	})
}

func TestEstimateDue(t *testing.T) {
	t.Parallel()
	m := NewMetrics("", "")
	m.EstimateDue(EstimateObservation{Lane: penstock.LaneBulk, Promised: 10 * time.Second, Took: 12 * time.Second})
	m.EstimateDue(EstimateObservation{Lane: penstock.LaneBulk, Promised: 10 * time.Second, Took: 4 * time.Second})
	m.EstimateDue(EstimateObservation{Lane: "?", Promised: time.Second})
	expect(t, scrape(t, m), map[string]float64{
		`penstock_estimate_error_seconds_sum{lane="bulk",side="late"}`:     2,
		`penstock_estimate_error_seconds_sum{lane="bulk",side="early"}`:    6,
		`penstock_estimate_error_seconds_count{lane="other",side="early"}`: 1,
		`penstock_estimate_error_ratio_count{lane="bulk"}`:                 2,
		`penstock_estimate_error_ratio_bucket{lane="bulk",le="0.2"}`:       1,
		`penstock_estimate_error_ratio_bucket{lane="bulk",le="2"}`:         2,
		`penstock_estimate_error_ratio_count{lane="other"}`:                0,
	})
}

func TestLoad(t *testing.T) {
	t.Parallel()
	m := NewMetrics("", "")
	expect(t, scrape(t, m), map[string]float64{`penstock_desired_workers`: absent})
	m.Admit(Names{Tenants: []string{"search"}})
	rate := 2.5
	m.CollectLoad(func() Load {
		load := Load{DesiredWorkers: 3, Lanes: []LaneLoad{
			{Lane: penstock.LaneBulk, DrainItemsPerSec: &rate, DesiredSlots: 190, ArrivalsPerSecond: 4}, {Lane: penstock.LaneRealtime},
		}}
		for i := range 2 * DefaultMaxLabels {
			load.Tenants = append(load.Tenants, TenantLoad{Tenant: fmt.Sprint("tenant-", i), Ready: 1, Parked: 2, Running: 3})
		}
		load.Tenants = append(load.Tenants, TenantLoad{Tenant: "search", Ready: 7})
		return load
	})
	m.LoadUnread()
	expect(t, scrape(t, m), map[string]float64{
		`penstock_desired_workers`:                                      3,
		`penstock_desired_slots{lane="bulk"}`:                           190,
		`penstock_desired_slots{lane="realtime"}`:                       0,
		`penstock_drain_items_per_second{lane="bulk"}`:                  2.5,
		`penstock_drain_items_per_second{lane="realtime"}`:              absent,
		`penstock_arrival_items_per_second{lane="bulk"}`:                4,
		`penstock_tenant_queue_items{status="ready",tenant="search"}`:   7,
		`penstock_tenant_queue_items{status="ready",tenant="tenant-0"}`: 1,
		`penstock_tenant_queue_items{status="ready",tenant="other"}`:    DefaultMaxLabels,
		`penstock_tenant_queue_items{status="running",tenant="other"}`:  3 * DefaultMaxLabels,
		`penstock_load_errors_total`:                                    1,
	})
}

// A queue that cannot be read is not empty: nothing is exported, so that no autoscaler uses it.
func TestUnreadLoadIsNotTold(t *testing.T) {
	t.Parallel()
	m := NewMetrics("", "")
	m.CollectLoad(func() Load { return Load{Unknown: true, Lanes: []LaneLoad{{Lane: penstock.LaneBulk}}} })
	expect(t, scrape(t, m), map[string]float64{`penstock_desired_workers`: absent, `penstock_desired_slots{lane="bulk"}`: absent})
}

// Names knows what has no values yet, and nothing that cannot have any.
func TestNamesAreAllThereIs(t *testing.T) {
	t.Parallel()
	m := NewMetrics("", "")
	names := m.Names()
	for _, name := range []string{"penstock_attempts_total", "penstock_desired_workers", "penstock_queue_items", "go_goroutines", "penstock_item_wait_seconds"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is missing", name)
		}
	}
	exercise(m)
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if !slices.Contains(names, f.GetName()) {
			t.Errorf("%s is collected but not listed", f.GetName())
		}
	}
}
