package file

import (
	"context"
	"hash/maphash"

	"penstock/internal/store"
)

// hashSet holds hashes of custom ids: eight bytes for each, where a map of the ids would need a hundred. Two ids rarely
// share a hash (for a million lines, in one of forty million files). So a hit is only a suspicion, which a second pass over
// the file confirms or clears. The seed is new for every file, so callers cannot choose ids that collide.
type hashSet struct {
	seed  maphash.Seed
	slots []uint64 // a power of two of them; 0 is free
	used  int
}

const firstSlots = 1 << 10

func newHashSet() hashSet {
	return hashSet{seed: maphash.MakeSeed(), slots: make([]uint64, firstSlots)}
}

// add reports whether the hash of the id was new.
func (s *hashSet) add(id string) bool {
	if s.used*4 >= len(s.slots)*3 {
		s.grow()
	}
	return s.insert(s.hash(id))
}

func (s *hashSet) hash(id string) uint64 {
	return max(1, maphash.String(s.seed, id))
}

func (s *hashSet) insert(h uint64) bool {
	mask := uint64(len(s.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		switch s.slots[i] {
		case 0:
			s.slots[i] = h
			s.used++
			return true
		case h:
			return false
		}
	}
}

func (s *hashSet) grow() {
	old := s.slots
	s.slots, s.used = make([]uint64, 2*len(old)), 0
	for _, h := range old {
		if h != 0 {
			s.insert(h)
		}
	}
}

// suspect is a line whose custom id has the hash of an earlier one's.
type suspect struct {
	line int // from 1
	id   string
}

// settleDuplicates reads the stored file again, if there are suspects, and adds an error for each id that an earlier line
// used.
func (k *Service) settleDuplicates(ctx context.Context, f store.File, c *lineCheck) error {
	if len(c.suspects) == 0 {
		return nil
	}
	c.seen.slots = nil // not needed any more
	r, err := k.open(ctx, f)
	if err != nil {
		return err
	}
	first := make(map[string]int, len(c.suspects)) // where each id was first used
	for _, s := range c.suspects {
		first[s.id] = 0
	}
	n, last := 0, c.suspects[len(c.suspects)-1].line
	for text, err := range r.Texts(ctx, 0) {
		if err != nil {
			return err
		}
		if n++; n > last {
			break
		}
		line, bad := parseLine(text)
		if at, wanted := first[line.CustomID]; bad == nil && wanted && at == 0 {
			first[line.CustomID] = n
		}
	}
	for _, s := range c.suspects {
		if at := first[s.id]; at != s.line {
			bad := wrong(CodeDuplicateCustomID, "custom_id", "custom_id %q is already used on line %d.", clip(s.id), at)
			bad.Line = s.line
			c.errors = append(c.errors, *bad)
			c.errorCount++
		}
	}
	return nil
}
