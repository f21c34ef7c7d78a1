package queue

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestSlotsAreTakenOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(5)
		if n := s.Take(t.Context(), 3); n != 3 {
			t.Errorf("took %d slots, want 3", n)
		}
		if s.TakeAll(3) || !s.TakeAll(2) || s.InUse() != 5 {
			t.Errorf("%d slots are taken", s.InUse())
		}
		taken := make(chan int, 1)
		go func() { taken <- s.Take(t.Context(), 10) }()
		synctest.Wait()
		s.Give(2)
		if n := <-taken; n != 2 || s.InUse() != 5 {
			t.Errorf("took %d slots of 2 that became free; %d are taken", n, s.InUse())
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if n := s.Take(ctx, 1); n != 0 {
			t.Errorf("took %d slots after the end of the context", n)
		}
	})
}
