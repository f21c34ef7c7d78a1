package store

import (
	"encoding/json"
	"slices"
	"time"
)

const (
	// maxHolders is the largest number of holders that a pool counts. More holders share its units as if they were
	// maxHolders.
	maxHolders = 8
	// holderFor is how long after its last call a holder still counts as one that uses the pool.
	holderFor = 10 * time.Minute
)

// Holders are the recent users of a pool.
type Holders struct {
	last string // the latest user
	all  []Holder
}

// Holder is a recent user of a pool.
type Holder struct {
	Name string `json:"name"`
	Seen int64  `json:"seen"` // in microseconds
}

// Saw records that a holder uses the pool. It runs on every call: a repeated call of the same holder costs one comparison.
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

// See records that holders use the pool.
func (p *Pool) See(names []string, now time.Time) {
	if len(names) > 0 && p.Kept == nil {
		p.Kept = new(Kept)
	}
	for _, name := range names {
		p.Users.Saw(name, now)
	}
}

// Names are the holders that used the pool within holderFor.
func (h *Holders) Names(now time.Time) []string {
	var names []string
	for _, k := range h.all {
		if k.Name == h.last || now.UnixMicro()-k.Seen < holderFor.Microseconds() {
			names = append(names, k.Name)
		}
	}
	return names
}

// MarshalJSON writes the list of holders.
func (h Holders) MarshalJSON() ([]byte, error) { return json.Marshal(h.all) }

// UnmarshalJSON reads what MarshalJSON writes.
func (h *Holders) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &h.all) }

// IsZero reports whether the pool has no recent user.
func (h Holders) IsZero() bool { return len(h.all) == 0 }
