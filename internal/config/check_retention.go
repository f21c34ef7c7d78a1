package config

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

func (c *checker) retentions(f *File) {
	c.retention("retention", f.Retention)
	for id, t := range f.Tenants {
		// Problems of the global windows are reported once, where they are written.
		if at := path("tenants").key(id) + ".retention"; t.Retention != f.Retention && c.wrote(at) {
			c.retention(at, t.Retention)
		}
	}
}

// wrote reports whether a path is in the file; for a file made in memory that is unknown.
func (c *checker) wrote(at path) bool {
	_, ok := c.draft.places[at]
	return ok || c.draft.places == nil
}

func (c *checker) retention(at path, r Retention) {
	window := bounds[time.Duration]{minRetention, maxRetention}
	within(c, at+".results", r.Results, window)
	if within(c, at+".events", r.Events, window) {
		c.notLonger(at+".events", r.Events, at+".results", r.Results)
	}
	within(c, at+".files", r.Files, window)
	within(c, at+".idempotency", r.Idempotency, bounds[time.Duration]{minIdempotency, maxRetention})
}

// The bounds of disk.min_free.
const (
	maxFreePercent = 50
	maxFreeBytes   = 1 << 50
)

// byteUnits are the units of sizes, largest first.
var byteUnits = []struct {
	name  string
	bytes uint64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// floor is what must stay free: so many bytes, or a percentage of the disk.
type floor struct {
	bytes   uint64
	percent float64
}

// Floor is how many bytes must stay free on a disk of the given size.
func (d Disk) Floor(size uint64) uint64 {
	f, err := d.floor()
	if err != nil {
		panic("config: read a checked size: " + err.Error())
	}
	return max(f.bytes, uint64(float64(size)*f.percent/100))
}

func (d Disk) floor() (floor, error) {
	wrong := errors.New(`must be a size such as "2GiB" or "500MiB", at most "1024TiB", or a part of the disk such as "5%", at most "50%"; "0" turns it off`)
	if d.MinFree == "0" {
		return floor{}, nil
	}
	if digits, ok := strings.CutSuffix(d.MinFree, "%"); ok {
		percent, err := strconv.ParseFloat(digits, 64)
		if err != nil || !(percent >= 0 && percent <= maxFreePercent) {
			return floor{}, wrong
		}
		return floor{percent: percent}, nil
	}
	for _, unit := range byteUnits {
		if digits, ok := strings.CutSuffix(d.MinFree, unit.name); ok {
			n, err := strconv.ParseFloat(digits, 64)
			if size := n * float64(unit.bytes); err == nil && size >= 0 && size <= maxFreeBytes && !math.Signbit(n) {
				return floor{bytes: uint64(size)}, nil
			}
			break
		}
	}
	return floor{}, wrong
}
