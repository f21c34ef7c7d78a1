// Package disk watches the free space on the file systems that accepted work is written to, and refuses new work when
// it is too small. It also locks the data directory, so that one process writes there.
//
// It owns the watermark. Below it new jobs are refused, so that accepted work can still be finished, read, cancelled
// and deleted. A tenth above it new jobs are accepted again. A write that finds a disk full, whatever free space the
// file system reports, also refuses jobs for a while. It does not own space: freeing space is for the sweep, for
// callers who delete, and for the operator.
//
// A Watcher is safe for concurrent use; asking it costs an atomic load.
package disk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"penstock"
	"penstock/internal/telemetry"
)

const (
	// Interval is how often the disks are looked at.
	Interval = 2 * time.Second
	// fullFor is how long nothing is accepted after a write found a disk full.
	fullFor = 10 * time.Second
	// retryAfter is sent to refused callers. Space is seldom freed without an operator, and never at once.
	retryAfter = 30 * time.Second
	// statTimeout bounds the question how much of a database is free inside.
	statTimeout = time.Second
)

// Volume is a directory whose file system is watched.
type Volume struct {
	Name string // what callers and metrics call it, such as data
	Path string
	// Slack is what can be written there without taking more of the disk, in bytes: a database file
	// keeps the pages that deleted rows leave. May be nil.
	Slack func(context.Context) (int64, error)
}

// Space is the free and total space of a file system, in bytes.
type Space struct{ Size, Free uint64 }

// Deps are what a Watcher works with.
type Deps struct {
	Volumes []Volume
	Floor   func(size uint64) uint64         // how much must stay free on a disk of a size
	Stat    func(path string) (Space, error) // [Statfs] but for tests
	Metrics *telemetry.Metrics
	Log     *slog.Logger
	Clock   func() time.Time
}

// Watcher knows whether there is space for new jobs.
type Watcher struct {
	Deps
	refusal atomic.Pointer[penstock.Error] // nil while there is space
	uploads atomic.Pointer[penstock.Error] // nil while there is space for large files

	mu        sync.Mutex // held while the disks are looked at
	lookedAt  time.Time
	low       map[string]bool
	scant     map[string]bool // disks with too little space for uploads
	fullUntil time.Time
}

// New returns a watcher that has not looked yet.
func New(d Deps) (*Watcher, error) {
	if len(d.Volumes) == 0 || d.Floor == nil || d.Stat == nil || d.Metrics == nil || d.Log == nil || d.Clock == nil {
		return nil, errors.New("a watcher needs volumes, a floor, a way to look, metrics, a log and a clock")
	}
	return &Watcher{Deps: d, low: map[string]bool{}, scant: map[string]bool{}}, nil
}

// Run watches until ctx ends. It begins after an interval: the caller of Run has checked once before.
func (w *Watcher) Run(ctx context.Context) error {
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			w.Look(ctx)
		}
	}
}

// Refusal is the answer to new jobs: nil while there is space. Codes: overloaded.
func (w *Watcher) Refusal() error {
	if e := w.refusal.Load(); e != nil {
		return e
	}
	return nil
}

// uploadLook is how old a look may be that an upload goes by: one can write much within [Interval].
const uploadLook = 100 * time.Millisecond

// UploadRefusal is the answer to uploads: nil while there is space for them. They need twice the floor, so that the files
// of one tenant do not take the space of everybody's jobs. An upload asks again while it writes. Codes: overloaded.
func (w *Watcher) UploadRefusal(ctx context.Context) error {
	w.mu.Lock()
	stale := w.Clock().Sub(w.lookedAt) >= uploadLook
	w.mu.Unlock()
	if stale {
		w.Look(ctx)
	}
	if e := w.uploads.Load(); e != nil {
		return e
	}
	return w.Refusal()
}

// Full reports to the watcher that a write found a disk full.
func (w *Watcher) Full() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fullUntil = w.Clock().Add(fullFor)
	if w.refusal.Load() == nil {
		w.Log.Error("a write found the disk full; new jobs are refused", "for", fullFor)
	}
	w.refusal.Store(refusal("A disk of the server is full"))
}

// Look measures every disk once.
func (w *Watcher) Look(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookedAt = w.Clock()
	var verdict, uploads *penstock.Error
	for _, v := range w.Volumes {
		space, err := w.measure(ctx, v)
		if err != nil {
			w.Log.WarnContext(ctx, "looking at a disk", "disk", v.Name, "path", v.Path, "error", err)
			if w.low[v.Name] {
				verdict = w.refusal.Load() // not knowing is no reason to change one's mind
			}
			if w.scant[v.Name] {
				uploads = w.uploads.Load()
			}
			continue
		}
		if w.scant[v.Name] = space.Free < 2*w.Floor(space.Size); w.scant[v.Name] {
			uploads = uploadRefusal(v.Name)
		}
		if w.judge(ctx, v, space) {
			verdict = refusal(fmt.Sprintf("The server's %s disk is nearly full: %s are free, %s must stay free",
				v.Name, sizeText(space.Free), sizeText(w.Floor(space.Size))))
		}
	}
	w.uploads.Store(uploads)
	if verdict == nil && w.Clock().Before(w.fullUntil) {
		return
	}
	w.refusal.Store(verdict)
}

// measure measures the space of a volume, with what the database can use again.
func (w *Watcher) measure(ctx context.Context, v Volume) (Space, error) {
	space, err := w.Stat(v.Path)
	if err != nil || v.Slack == nil {
		return space, err
	}
	ctx, cancel := context.WithTimeout(ctx, statTimeout)
	defer cancel()
	slack, err := v.Slack(ctx)
	if err != nil {
		return space, fmt.Errorf("measuring the space in the database: %w", err)
	}
	space.Free += uint64(max(slack, 0))
	return space, nil
}

// judge reports whether a volume is low. One that was must gain a tenth before it no longer is, so that
// admission does not flap.
func (w *Watcher) judge(ctx context.Context, v Volume, space Space) bool {
	floor := w.Floor(space.Size)
	was := w.low[v.Name]
	low := space.Free < floor
	if was {
		low = space.Free < floor+floor/10
	}
	w.low[v.Name] = low
	w.Metrics.DiskSeen(telemetry.DiskState{Disk: v.Name, Free: space.Free, Low: low})
	switch {
	case low && !was:
		w.Log.ErrorContext(ctx, "a disk is nearly full; new jobs are refused until there is space",
			"disk", v.Name, "path", v.Path, "free_bytes", space.Free, "floor_bytes", floor)
	case was && !low:
		w.Log.InfoContext(ctx, "a disk has space again; new jobs are accepted", "disk", v.Name, "path", v.Path, "free_bytes", space.Free)
	}
	return low
}

// refusal is for tenants. Which disk it is, and how much space it has, is the operator's to know: it is in the cause, the log and the
// metrics.
func refusal(why string) *penstock.Error {
	return &penstock.Error{
		Code: penstock.CodeOverloaded, RetryAfter: retryAfter, Err: errors.New(why),
		Message: "The server is short of disk space. It accepts no new jobs until the operator frees space; jobs can still be read, cancelled and deleted.",
	}
}

func uploadRefusal(disk string) *penstock.Error {
	return &penstock.Error{
		Code: penstock.CodeOverloaded, RetryAfter: retryAfter, Err: fmt.Errorf("the %s disk has less than twice the space that must stay free", disk),
		Message: "The server is short of disk space for uploads: the remaining space is reserved for jobs. Try again when the operator has freed space, or send fewer requests as inputs of a job.",
	}
}

// sizeText writes a size as people do.
func sizeText(n uint64) string {
	const kib = 1 << 10
	if n < kib {
		return fmt.Sprintf("%d bytes", n)
	}
	value, units := float64(n)/kib, []string{"KiB", "MiB", "GiB", "TiB"}
	for len(units) > 1 && value >= kib {
		value, units = value/kib, units[1:]
	}
	return fmt.Sprintf("%.1f %s", value, units[0])
}

// Statfs asks the file system of a path for its space.
func Statfs(path string) (Space, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return Space{}, fmt.Errorf("measuring the space on the disk of %s: %w", path, err)
	}
	block := uint64(s.Bsize)
	return Space{Size: uint64(s.Blocks) * block, Free: uint64(s.Bavail) * block}, nil
}
