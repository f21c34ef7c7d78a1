package queue

import (
	"testing"
	"time"
)

// Slots that were all filled at once are, a few service times later, filled evenly.
func TestPaceSpreadsStarts(t *testing.T) {
	t.Parallel()
	const slots, service = 32, 200 * time.Millisecond
	p, now := NewPace(slots), time.Unix(0, 0)
	p.Urgent(now)
	var ends []time.Time
	for range slots {
		if !p.Take(now) {
			t.Fatal("it held back what it knows nothing of")
		}
		ends = append(ends, now.Add(service))
	}
	started, most := 0, 0
	last := time.Unix(0, 0).Add(4 * time.Second)
	for ; now.Before(last); now = now.Add(time.Millisecond) {
		free := 0
		kept := ends[:0]
		for _, end := range ends {
			if end.After(now) {
				kept = append(kept, end)
				continue
			}
			p.Ended(service)
			free++
		}
		ends = kept
		if now.Sub(time.Unix(0, 0)) > time.Second {
			most = max(most, free)
		}
		for len(ends) < slots && p.Take(now) {
			ends = append(ends, now.Add(service))
			started++
		}
	}
	if most > slots/4 {
		t.Errorf("%d of %d slots came free within a millisecond, want them spread", most, slots)
	}
	if want := int(0.97 * slots * 4 / service.Seconds()); started+slots < want {
		t.Errorf("%d items started in 4 s, want at least %d: spreading must not cost throughput", started+slots, want)
	}
}

func TestPaceLeavesFastWorkAlone(t *testing.T) {
	t.Parallel()
	p, now := NewPace(4), time.Unix(0, 0)
	p.Urgent(now)
	for range 1000 {
		p.Ended(time.Millisecond)
		if !p.Take(now) {
			t.Fatal("items of a millisecond were held back")
		}
	}
}

func TestPaceSaysWhenToComeBack(t *testing.T) {
	t.Parallel()
	p, now := NewPace(8), time.Unix(0, 0)
	p.Ended(time.Second)
	for range 100 {
		if !p.Take(now) {
			t.Fatal("it held back work while nothing urgent came")
		}
	}
	p.Urgent(now)
	for p.Take(now) {
	}
	wait := p.Next(now)
	if wait <= 0 || wait > 200*time.Millisecond {
		t.Fatalf("the next start is in %v, want about a tenth of a second", wait)
	}
	if !p.Take(now.Add(wait)) {
		t.Error("it did not keep its word")
	}
	if wait := p.Next(now.Add(time.Minute)); wait != 0 {
		t.Errorf("a minute after the last urgent item it still asks for %v", wait)
	}
}

// Urgent items take starts from the others: were they not counted, all together would start faster than slots come free.
func TestPaceCountsUrgentStarts(t *testing.T) {
	t.Parallel()
	const slots, service, rounds = 32, 200 * time.Millisecond, 50
	p, now := NewPace(slots), time.Unix(0, 0)
	p.Ended(service)
	all, gap := 0, service/slots
	for step := range slots * rounds {
		if now = now.Add(gap); step%5 == 0 {
			p.Urgent(now)
			all++
		}
		for p.Take(now) {
			all++
		}
	}
	if most := int(slots*rounds*paceSlack) + slots; all > most {
		t.Errorf("%d items started in the time of %d, want at most %d", all, slots*rounds, most)
	}
}
