// Package measure is what the benchmarks have in common: figures over rounds, percentiles, processor
// time, and targets that are met or missed for everyone to see.
package measure

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Median is the middle of some figures, which are sorted by it; of an even number, the mean of the two.
func Median(all []float64) float64 {
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// Quantile is the figure below which the part q of all lies. It sorts them.
func Quantile[T cmp.Ordered](all []T, q float64) T {
	slices.Sort(all)
	return all[int(q*float64(len(all)-1)+0.5)]
}

// CPU is the processor time that this process has used so far.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Allocs is how many objects this process has allocated so far.
func Allocs() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/tiny/allocs:objects"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64() + sample[1].Value.Uint64()
}

// FileBytes is how many bytes this process has written to files, sockets and pipes so far; 0 where that is not counted.
func FileBytes() (n uint64) {
	counts, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(counts)) {
		if count, ok := strings.CutPrefix(line, "wchar: "); ok {
			n, _ = strconv.ParseUint(strings.TrimSpace(count), 10, 64)
		}
	}
	return n
}

// Target is a promise and what was measured.
type Target struct {
	What string
	Got  float64
	// AtLeast and AtMost bound it; a nil bound does not.
	AtLeast, AtMost *float64
	Unit            string
}

// AtLeast is a target that wants got to be want or more.
func AtLeast(what string, got, want float64, unit string) Target {
	return Target{What: what, Got: got, AtLeast: &want, Unit: unit}
}

// AtMost is a target that wants got to be want or less.
func AtMost(what string, got, want float64, unit string) Target {
	return Target{What: what, Got: got, AtMost: &want, Unit: unit}
}

// Met says whether the promise holds.
func (t Target) Met() bool {
	return (t.AtLeast == nil || t.Got >= *t.AtLeast) && (t.AtMost == nil || t.Got <= *t.AtMost)
}

func (t Target) String() string {
	verdict := "MISSED"
	if t.Met() {
		verdict = "met"
	}
	var bounds []string
	if t.AtLeast != nil {
		bounds = append(bounds, fmt.Sprintf("≥ %.3g%s", *t.AtLeast, t.Unit))
	}
	if t.AtMost != nil {
		bounds = append(bounds, fmt.Sprintf("≤ %.3g%s", *t.AtMost, t.Unit))
	}
	return fmt.Sprintf("  %-6s %s: %.3g%s (target %s)", verdict, t.What, t.Got, t.Unit, strings.Join(bounds, ", "))
}

// Print writes targets, one a line.
func Print(w io.Writer, targets ...Target) {
	for _, t := range targets {
		fmt.Fprintln(w, t)
	}
}
