package deliver

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
)

// Many who follow one job cost the store about as much as one, and all of them see everything.
func TestFollowersShareTheirReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const readers, deltas = 50, 20
		s, changes := newStore(), newTopic()
		for i := range deltas {
			time.AfterFunc(time.Duration(2*i+1)*50*time.Millisecond, func() { s.add(penstock.EventItemDelta); changes.Publish(jobID) })
		}
		time.AfterFunc(5300*time.Millisecond, func() { s.add(penstock.EventJobFinished); changes.Publish(jobID) })
		r := NewReader(s, changes)
		seen := make([]followed, readers)
		var all sync.WaitGroup
		for i := range seen {
			all.Go(func() { seen[i] = follow(t.Context(), r, int64(i%2)) })
		}
		all.Wait()
		var want []int64
		for seq := range int64(deltas + 2) {
			want = append(want, seq+1)
		}
		for i, f := range seen {
			if f.err != nil || !slices.Equal(f.seqs, want[i%2:]) {
				t.Errorf("reader %d saw %v, %v", i, f.seqs, f.err)
			}
		}
		// One read for each change, one for each who comes, and two a second in between.
		if _, pages := s.count(); pages > deltas+1+readers+2*5 {
			t.Errorf("%d readers took %d reads of the store", readers, pages)
		}
		if len(r.tails.byJob)+len(r.tails.follow) != 0 {
			t.Error("a tail is left that nobody follows")
		}
		noReaders(t, changes)
	})
}

// A reader that is behind what is kept in memory misses nothing.
func TestSlowFollowerReadsTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const events = 3 * tailEvents
		s, changes := newStore(), newTopic()
		r := NewReader(s, changes)
		var slow followed
		var both sync.WaitGroup
		both.Go(func() {
			for e, err := range r.Follow(t.Context(), tenant, eventsAfter(0)) {
				slow.seqs, slow.err = append(slow.seqs, e.Seq), err
				time.Sleep(10 * time.Millisecond)
			}
		})
		both.Go(func() {
			if fast := follow(t.Context(), r, 0); len(fast.seqs) != events+2 || fast.err != nil {
				t.Errorf("the fast reader saw %d events, %v", len(fast.seqs), fast.err)
			}
		})
		for range events {
			time.Sleep(time.Millisecond)
			s.add(penstock.EventItemDelta)
			changes.Publish(jobID)
		}
		s.add(penstock.EventJobFinished)
		changes.Publish(jobID)
		both.Wait()
		for i, seq := range slow.seqs {
			if seq != int64(i)+1 {
				t.Fatalf("event %d came as number %d", seq, i+1)
			}
		}
		if len(slow.seqs) != events+2 || slow.err != nil {
			t.Errorf("the slow reader saw %d events, %v", len(slow.seqs), slow.err)
		}
	})
}
