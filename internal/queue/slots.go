package queue

import (
	"context"
	"runtime"
	"sync"
)

// Slots is a number of slots, of which some are taken. It is safe for concurrent use; one goroutine at a time waits for slots.
type Slots struct {
	size  int
	freed chan struct{} // has a value if slots became free since the last wait

	mu    sync.Mutex
	taken int
}

// NewSlots returns n free slots.
func NewSlots(n int) *Slots { return &Slots{size: n, freed: make(chan struct{}, 1)} }

// Take waits for one free slot and takes as many more as there are, up to most. It takes none when ctx has ended.
func (s *Slots) Take(ctx context.Context, most int) int {
	for s.takeFree(1) == 0 {
		select {
		case <-ctx.Done():
			return 0
		case <-s.freed:
		}
	}
	runtime.Gosched() // lets items that are about to end free their slots
	return 1 + s.takeFree(most-1)
}

// takeFree takes the slots that are free, up to most.
func (s *Slots) takeFree(most int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(most, s.size-s.taken)
	s.taken += n
	return n
}

// TakeAll takes n slots if so many are free.
func (s *Slots) TakeAll(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size-s.taken < n {
		return false
	}
	s.taken += n
	return true
}

// Give frees n slots.
func (s *Slots) Give(n int) {
	if n == 0 {
		return
	}
	s.mu.Lock()
	s.taken -= n
	s.mu.Unlock()
	select {
	case s.freed <- struct{}{}:
	default:
	}
}

// InUse is how many slots are taken.
func (s *Slots) InUse() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken
}

// Size is how many slots there are.
func (s *Slots) Size() int { return s.size }
