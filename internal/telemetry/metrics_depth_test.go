package telemetry

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func depthsOf(depths ...Depth) DepthFunc {
	return func(context.Context) ([]Depth, error) { return depths, nil }
}

func TestDepths(t *testing.T) {
	t.Parallel()
	m := NewMetrics("", "")
	expect(t, scrape(t, m), map[string]float64{`penstock_queue_items{lane="bulk",status="queued"}`: absent})

	m.CollectDepths(depthsOf(
		Depth{Lane: "bulk", Status: "queued", Items: 7, OldestSeconds: 60},
		Depth{Lane: "bulk", Status: "queued", Items: 1, OldestSeconds: 30},
		Depth{Lane: "x", Status: "\xff", Items: 2},
		Depth{Lane: "y", Status: "z", Items: 3},
	))
	expect(t, scrape(t, m), map[string]float64{
		`penstock_queue_items{lane="bulk",status="queued"}`:          8,
		`penstock_queue_oldest_seconds{lane="bulk",status="queued"}`: 60,
		`penstock_queue_items{lane="bulk",status="running"}`:         0,
		`penstock_queue_items{lane="realtime",status="queued"}`:      0,
		`penstock_queue_items{lane="other",status="other"}`:          5,
		`penstock_queue_depth_errors_total`:                          0,
	})

	m.CollectDepths(depthsOf())
	expect(t, scrape(t, m), map[string]float64{`penstock_queue_items{lane="bulk",status="queued"}`: 0})
}

func TestDepthsKeepTheLastGoodAnswer(t *testing.T) {
	t.Parallel()
	m := NewMetrics("", "")
	m.CollectDepths(depthsOf(Depth{Lane: "bulk", Status: "queued", Items: 7}))
	scrape(t, m)
	m.CollectDepths(func(context.Context) ([]Depth, error) { return nil, errors.New("the store is away") })
	scrape(t, m)
	m.CollectDepths(func(context.Context) ([]Depth, error) { return nil, errors.New("still away") })
	got := scrape(t, m)
	expect(t, got, map[string]float64{`penstock_queue_items{lane="bulk",status="queued"}`: 7})
	if n := got["penstock_queue_depth_errors_total"]; n < 1 || n > 2 {
		t.Errorf("%v errors were counted, want those of one or two scrapes", n)
	}
}

func TestDepthsBoundTheScrape(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := NewMetrics("", "")
		m.CollectDepths(depthsOf(Depth{Lane: "bulk", Status: "queued", Items: 7}))
		scrape(t, m)

		var calls atomic.Int32
		release := make(chan struct{})
		m.CollectDepths(func(ctx context.Context) ([]Depth, error) {
			calls.Add(1)
			<-release // deaf to its context
			return []Depth{{Lane: "bulk", Status: "queued", Items: 9}}, ctx.Err()
		})
		start := time.Now()
		var group sync.WaitGroup
		for range maxScrapes {
			group.Go(func() {
				expect(t, scrape(t, m), map[string]float64{`penstock_queue_items{lane="bulk",status="queued"}`: 7})
			})
		}
		group.Wait()
		if took := time.Since(start); took != DepthTimeout {
			t.Errorf("the scrapes took %v, want %v", took, DepthTimeout)
		}
		if n := calls.Load(); n != 1 {
			t.Errorf("the source was called %d times at once", n)
		}
		close(release)
		synctest.Wait()

		m.CollectDepths(depthsOf(Depth{Lane: "bulk", Status: "queued", Items: 11}))
		expect(t, scrape(t, m), map[string]float64{
			`penstock_queue_items{lane="bulk",status="queued"}`: 11,
			`penstock_queue_depth_errors_total`:                 maxScrapes,
		})
	})
}

func TestDepthsCancelTheirSource(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := NewMetrics("", "")
		m.CollectDepths(func(ctx context.Context) ([]Depth, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		start := time.Now()
		scrape(t, m)
		if took := time.Since(start); took != DepthTimeout {
			t.Errorf("the scrape took %v, want %v", took, DepthTimeout)
		}
	})
}
