package forecast

import (
	"math"
	"math/bits"
	"time"
)

// histogram counts durations in buckets that are 1/64 of their value wide, so that quantiles are right to
// about one percent whatever their size.
type histogram struct {
	buckets [histogramBuckets]uint64
	count   uint64
	sum     float64
	max     time.Duration
}

const (
	bucketBits       = 6 // 64 buckets to a doubling
	histogramBuckets = (64 - bucketBits) << bucketBits
)

func (h *histogram) add(d time.Duration) {
	d = max(d, 0)
	h.buckets[bucketOf(d)]++
	h.count++
	h.sum += float64(d)
	h.max = max(h.max, d)
}

func (h *histogram) merge(o *histogram) {
	for i, n := range o.buckets {
		h.buckets[i] += n
	}
	h.count += o.count
	h.sum += o.sum
	h.max = max(h.max, o.max)
}

// bucketOf counts nanoseconds one by one at first, and in ever wider steps after.
func bucketOf(d time.Duration) int {
	v := uint64(d)
	shift := max(0, bits.Len64(v)-bucketBits-1)
	return shift<<bucketBits + int(v>>shift)
}

// middle is a duration in the middle of a bucket.
func middle(bucket int) time.Duration {
	shift := max(0, bucket>>bucketBits-1)
	least := uint64(bucket-shift<<bucketBits) << shift
	return time.Duration(least + (1<<shift)/2)
}

// quantile is the value that a part q of all are not above: of ten values, 0.95 is the tenth.
func (h *histogram) quantile(q float64) time.Duration {
	rank := uint64(math.Ceil(q * float64(h.count)))
	for i, seen := 0, uint64(0); i < len(h.buckets); i++ {
		if seen += h.buckets[i]; seen >= rank && rank > 0 {
			return min(middle(i), h.max)
		}
	}
	return 0
}

// jain is Jain's index of fairness: 1 when all are alike, 1/n when one has everything.
func jain(values []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range values {
		sum += v
		squares += v * v
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(values)) * squares)
}
