package backlog

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"penstock/internal/store"
)

func TestSlots(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		Demand
		want int
	}{
		"nothing":                                             {Demand{Service: time.Second, SLOWait: time.Second, Idle: time.Hour}, 0},
		"nothing is known":                                    {Demand{Ready: 500, SLOWait: time.Second}, 1},
		"nothing is known but what runs":                      {Demand{Ready: 500, Running: 7, SLOWait: time.Second}, 8},
		"an hour for an hour of work":                         {Demand{Ready: 3600, Service: time.Second, SLOWait: time.Hour}, 1},
		"a minute for an hour of work":                        {Demand{Ready: 3600, Service: time.Second, SLOWait: time.Minute}, 60},
		"to keep up":                                          {Demand{Running: 20, PerSecond: 10, Service: 2 * time.Second, SLOWait: time.Second}, 20},
		"to keep up and catch up":                             {Demand{Ready: 60, Running: 20, PerSecond: 10, Service: 2 * time.Second, SLOWait: time.Minute}, 22},
		"no more slots than items":                            {Demand{Ready: 5, Service: time.Minute, SLOWait: time.Second}, 5},
		"one item that nobody waits for":                      {Demand{Ready: 1, Service: time.Millisecond, SLOWait: time.Hour}, 1},
		"what runs asks for no more than that a worker stays": {Demand{Running: 40, Service: time.Second, SLOWait: time.Second}, 1},
		"an item that waits for its next try":                 {Demand{Parked: 1, Service: time.Second, SLOWait: time.Second, Idle: time.Hour}, 1},
		"lines of a file and no speed":                        {Demand{Parked: 1e6, SLOWait: time.Second}, 1},
		"a lull":                                              {Demand{PerSecond: 1e-3, Service: time.Second, SLOWait: time.Second, Idle: idleToZero - 1}, 1},
		"no work for a while":                                 {Demand{PerSecond: 1e-3, Service: time.Second, SLOWait: time.Second, Idle: idleToZero}, 0},
	} {
		if got := tt.Slots(); got != tt.want {
			t.Errorf("%s: %d slots, want %d", name, got, tt.want)
		}
	}
	if got := []int{Workers(0, 64), Workers(1, 64), Workers(64, 64), Workers(65, 64), Workers(3, 0)}; got[0] != 0 || got[1] != 1 || got[2] != 1 || got[3] != 2 || got[4] != 3 {
		t.Errorf("workers: %v", got)
	}
}

func TestSlotsGrowWithTheQueue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := Demand{
			Ready: rapid.Int64Range(0, 1e6).Draw(t, "ready"), Running: rapid.Int64Range(0, 1e4).Draw(t, "running"),
			PerSecond: rapid.Float64Range(0, 1e4).Draw(t, "per second"),
			Service:   time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "service")),
			SLOWait:   time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "slo")),
		}
		slots := d.Slots()
		if slots < 0 || d.Ready > 0 && slots == 0 {
			t.Fatalf("%d slots for %+v", slots, d)
		}
		more := d
		more.Ready++
		if more.Slots() < slots {
			t.Fatalf("%d slots for %+v, fewer than the %d for one item less", more.Slots(), more, slots)
		}
		patient := d
		patient.SLOWait *= 2
		if patient.Slots() > slots {
			t.Fatalf("%d slots for %+v, more than the %d for half the patience", patient.Slots(), patient, slots)
		}
		// So many slots drain the queue in time, or every item has one.
		if d.Service > 0 && float64(slots) < float64(d.Ready) {
			inTime := float64(slots) / d.Service.Seconds() * d.SLOWait.Seconds()
			if inTime+1e-3 < float64(d.Ready)*0.999 {
				t.Fatalf("%d slots start %v items in %v, of %+v", slots, inTime, d.SLOWait, d)
			}
		}
	})
}

// A queue that is empty and stays so needs no worker after a while, and needs one as soon as something is queued. In between
// nothing flaps: the number falls to zero once, and a slow stream of items keeps its worker.
func TestScaleToZeroAndBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, limits{})
	workers := func() int { return r.Report(Process{Slots: 8}, objective).Workers }
	r.pass(0)
	r.queue.rows = []store.Backlog{row(100)}
	r.pass(time.Second)
	if got := workers(); got < 1 {
		t.Fatalf("%d workers are wanted for 100 items that nobody works on", got)
	}
	r.drains(10, 10)
	changes, last, idle := 0, workers(), 0
	for ; idle < 900; idle++ {
		r.pass(time.Second)
		if got := workers(); got != last {
			changes, last = changes+1, got
		}
		if last == 0 {
			break
		}
	}
	if last != 0 || idle < 100 || idle > 140 {
		t.Errorf("after %d idle seconds %d workers are wanted, want none after two minutes", idle, last)
	}
	if changes > 3 {
		t.Errorf("the number of workers changed %d times on the way down", changes)
	}
	for range 600 {
		if r.pass(time.Second); workers() != 0 {
			t.Fatalf("%d workers are wanted though nothing came", workers())
		}
	}
	// One item comes, with no worker there: it is seen at the next look.
	b := &r.queue.rows[0]
	b.Ready++
	if r.pass(time.Second); workers() != 1 {
		t.Errorf("%d workers are wanted for an item in a queue that was idle", workers())
	}
	// An item a minute, which starts and ends between two looks, is no idle queue.
	b.Ready--
	b.DrainedItems++
	for second := range 600 {
		if second%60 == 0 {
			b.DrainedItems++
		}
		if r.pass(time.Second); workers() != 1 {
			t.Fatalf("%d workers are wanted for an item a minute, after %d s", workers(), second)
		}
	}
}

// A burst that comes after a quiet time is not taken for a stream of bursts: what waits is what must be worked off.
func TestABurstIsNoStream(t *testing.T) {
	t.Parallel()
	r := newRig(t, limits{})
	burst := func() Row {
		t.Helper()
		r.queue.rows = []store.Backlog{row(600)}
		r.queue.rows[0].Running = 10
		r.pass(time.Second)
		r.drains(1, 10)
		return r.Report(Process{Slots: 8}, objective).Lanes[1]
	}
	r.pass(0)
	if got := burst(); got.Slots < 15 || got.Slots > 100 {
		t.Errorf("%d slots are wanted for a burst of 600 right after the start", got.Slots)
	}
	r.queue.rows = nil
	for range 60 {
		r.pass(time.Second)
	}
	got := burst()
	if got.ArrivalsPerSecond < 10 || got.ArrivalsPerSecond > 25 {
		t.Errorf("600 items after a minute of rest arrive at %.0f/s, want about 20, their part of half a minute", got.ArrivalsPerSecond)
	}
	if got.Slots < 15 || got.Slots > 60 {
		t.Errorf("%d slots are wanted for 590 items within a minute, each of %.1f s", got.Slots, *got.ServiceSeconds)
	}
}
