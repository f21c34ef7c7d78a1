package store

import (
	"encoding/json"
	"slices"
	"time"
)

const (
	// maxHolders is how many of the holders that use a pool are told apart. More of them share its future as if they were
	// so many.
	maxHolders = 8
	// holderFor is how long after its last call a holder still counts as one that uses the pool.
	holderFor = 10 * time.Minute
)

// Holders are those who used a pool of late.
type Holders struct {
	last string // the one that came last
	all  []Holder
}

// Holder is one of them.
type Holder struct {
	Name string `json:"name"`
	Seen int64  `json:"seen"` // in microseconds
}

// Saw notes that a holder uses the pool. It is on the way of every call: where one comes again it costs a comparison.
func (h *Holders) Saw(name string, now time.Time) {
	if name == h.last && len(h.all) > 0 {
		return
	}
	h.last = name
	t := now.UnixMicro()
	if n := slices.IndexFunc(h.all, func(k Holder) bool { return k.Name == name }); n >= 0 {
		h.all[n].Seen = t
		return
	}
	if len(h.all) < maxHolders {
		h.all = append(h.all, Holder{name, t})
		return
	}
	oldest := 0
	for i := range h.all {
		if h.all[i].Seen < h.all[oldest].Seen {
			oldest = i
		}
	}
	h.all[oldest] = Holder{name, t}
}

// See notes that holders use the pool.
func (p *Pool) See(names []string, now time.Time) {
	if len(names) > 0 && p.Kept == nil {
		p.Kept = new(Kept)
	}
	for _, name := range names {
		p.Users.Saw(name, now)
	}
}

// Names are those who used the pool within the last minutes.
func (h *Holders) Names(now time.Time) []string {
	var names []string
	for _, k := range h.all {
		if k.Name == h.last || now.UnixMicro()-k.Seen < holderFor.Microseconds() {
			names = append(names, k.Name)
		}
	}
	return names
}

// MarshalJSON writes those who are kept.
func (h Holders) MarshalJSON() ([]byte, error) { return json.Marshal(h.all) }

// UnmarshalJSON reads what MarshalJSON writes.
func (h *Holders) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &h.all) }

// IsZero says that nobody used the pool.
func (h Holders) IsZero() bool { return len(h.all) == 0 }
