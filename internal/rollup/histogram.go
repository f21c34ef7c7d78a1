package rollup

import (
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// buckets is how many buckets a histogram has. Each is wider than the one before by the square root of two, from 1 ms on:
// the last begins at about 17 minutes.
const buckets = 42

// Histogram counts durations.
type Histogram [buckets]uint32

func (h *Histogram) add(d time.Duration) {
	ms := float64(d) / float64(time.Millisecond)
	if ms < 1 {
		h[0]++
		return
	}
	h[min(int(2*math.Log2(ms))+1, buckets-1)]++
}

func (h *Histogram) merge(o *Histogram) {
	for i, n := range o {
		h[i] += n
	}
}

// Quantile is the duration below which the part q of all durations lies, and whether there are any.
func (h *Histogram) Quantile(q float64) (time.Duration, bool) {
	total := 0.0
	for _, n := range h {
		total += float64(n)
	}
	if total == 0 {
		return 0, false
	}
	rank := q * total
	for i, n := range h {
		if rank -= float64(n); rank > 0 || n == 0 {
			continue
		}
		low, high := 0.0, 1.0
		if i > 0 {
			low, high = math.Exp2(float64(i-1)/2), math.Exp2(float64(i)/2)
		}
		within := 1 + rank/float64(n) // from 0 to 1
		return time.Duration((low + (high-low)*within) * float64(time.Millisecond)), true
	}
	return 0, false
}

// MarshalText writes the counts by their bucket; most buckets are empty.
func (h Histogram) MarshalText() ([]byte, error) {
	counts := map[string]uint32{}
	for i, n := range h {
		if n > 0 {
			counts[strconv.Itoa(i)] = n
		}
	}
	return json.Marshal(counts)
}

// UnmarshalText reads what MarshalText wrote. Buckets that it does not know are left out.
func (h *Histogram) UnmarshalText(text []byte) error {
	var counts map[string]uint32
	if err := json.Unmarshal(text, &counts); err != nil {
		return err
	}
	*h = Histogram{}
	for name, n := range counts {
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < buckets {
			h[i] = n
		}
	}
	return nil
}
