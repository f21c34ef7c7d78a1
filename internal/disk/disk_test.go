package disk

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"penstock"
	"penstock/internal/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const mib = 1 << 20

// rig is a watcher of two disks whose free space the test sets.
type rig struct {
	*Watcher
	t      *testing.T
	free   map[string]uint64
	broken map[string]error
	slack  int64
	log    *strings.Builder
	now    time.Time
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, free: map[string]uint64{"/data": 900 * mib, "/blobs": 900 * mib}, broken: map[string]error{},
		log: &strings.Builder{}, now: time.Date(2026, 11, 15, 6, 0, 0, 0, time.UTC)}
	w, err := New(Deps{
		Volumes: []Volume{
			{Name: "data", Path: "/data", Slack: func(context.Context) (int64, error) { return r.slack, nil }},
			{Name: "blob", Path: "/blobs"},
		},
		Floor: func(size uint64) uint64 { return size / 10 },
		Stat: func(path string) (Space, error) {
			return Space{Size: 1000 * mib, Free: r.free[path]}, r.broken[path]
		},
		Metrics: telemetry.NewMetrics("test", ""), Log: slog.New(slog.NewTextHandler(r.log, nil)),
		Clock: func() time.Time { return r.now },
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Watcher = w
	return r
}

// want looks, and demands that new jobs be refused for a reason, or taken when there is none.
func (r *rig) want(reason string) {
	r.t.Helper()
	r.Look(r.t.Context())
	r.wantNow(reason)
}

func (r *rig) wantNow(reason string) {
	r.t.Helper()
	err := r.Refusal()
	switch {
	case reason == "" && err != nil:
		r.t.Errorf("refused with %v, want space", err)
	case reason != "" && (err == nil || !strings.Contains(err.Error(), reason)):
		r.t.Errorf("refusal is %v, want one that says %q", err, reason)
	}
	if reason != "" {
		if e := penstock.AsError(err); e.Code != penstock.CodeOverloaded || e.RetryAfter <= 0 || !strings.Contains(e.Message, "operator frees space") {
			r.t.Errorf("%+v does not say when to come back or what to do", e)
		}
		if e := penstock.AsError(err); strings.ContainsAny(e.Message, "0123456789/") || strings.Contains(e.Message, "data") || strings.Contains(e.Message, "blob") {
			r.t.Errorf("a tenant reads about disks: %s", e.Message)
		}
	}
}

func (r *rig) metric(name string) string {
	r.t.Helper()
	w := httptest.NewRecorder()
	r.Metrics.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func TestWatermark(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.wantNow("") // before the first look
	r.want("")
	r.free["/data"] = 100 * mib // the floor itself
	r.want("")
	r.free["/data"] = 100*mib - 1
	r.want("data disk is nearly full: 100.0 MiB are free")
	if got := r.metric(`penstock_disk_low{disk="data"}`); got != "1" {
		t.Errorf("the metric of the low disk is %q", got)
	}
	if got := r.metric(`penstock_disk_low{disk="blob"}`); got != "0" {
		t.Errorf("the metric of the other disk is %q", got)
	}
	r.free["/data"] = 110*mib - 1
	r.want("data disk") // no flapping
	r.free["/data"] = 110 * mib
	r.want("")
	r.free["/blobs"] = 0
	r.want("blob disk is nearly full: 0 bytes are free, 100.0 MiB must stay free")
	r.free["/blobs"] = 500 * mib
	r.want("")
	for _, once := range []string{"disk=data path=/data free_bytes=104857599", "disk=blob path=/blobs free_bytes=0", "has space again"} {
		if !strings.Contains(r.log.String(), once) {
			t.Errorf("the log does not say %q:\n%s", once, r.log)
		}
	}
	if n := strings.Count(r.log.String(), "level=ERROR"); n != 2 {
		t.Errorf("two low disks made %d errors in the log", n)
	}
}

// TestSlackCounts holds that space inside the database counts: without it a server would refuse for good
// after its jobs were deleted, since the file does not shrink.
func TestSlackCounts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.free["/data"] = 40 * mib
	r.want("data disk")
	r.slack = 80 * mib
	r.want("")
	if got := r.metric(`penstock_disk_free_bytes{disk="data"}`); got != "1.2582912e+08" {
		t.Errorf("the metric says %s bytes are free", got)
	}
}

// TestBlindWatcherKeepsItsMind holds that a look that fails changes nothing.
func TestBlindWatcherKeepsItsMind(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.broken["/data"] = errors.New("no such device")
	r.want("")
	r.free["/blobs"] = 0
	r.want("blob disk")
	r.broken["/blobs"] = errors.New("no such device")
	r.free["/blobs"] = 900 * mib
	r.want("blob disk")
	r.broken["/blobs"] = nil
	r.want("")
	if !strings.Contains(r.log.String(), "no such device") {
		t.Errorf("the log does not say why a disk could not be looked at:\n%s", r.log)
	}
}

// TestUploadsNeedTwiceTheFloor holds that uploads stop while jobs still have the space that is kept for them, that no more than
// a moment passes before an upload sees it, and that a tenant reads nothing about disks.
func TestUploadsNeedTwiceTheFloor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	look := func(free uint64, refused bool) {
		t.Helper()
		r.free["/blobs"] = free
		r.now = r.now.Add(uploadLook)
		err := r.UploadRefusal(t.Context())
		if refused != (err != nil) {
			t.Errorf("with %d bytes an upload is answered %v", free, err)
		}
		if e := penstock.AsError(err); err != nil && (e.Code != penstock.CodeOverloaded || e.RetryAfter != retryAfter || !strings.Contains(e.Message, "short of disk space for uploads") ||
			strings.Contains(e.Message, "blob") || !strings.Contains(e.Error(), "the blob disk")) {
			t.Errorf("%+v", e)
		}
	}
	look(200*mib, false) // twice the floor itself
	look(200*mib-1, true)
	r.wantNow("") // jobs go on
	r.broken["/blobs"] = errors.New("no such device")
	look(900*mib, true)
	delete(r.broken, "/blobs")
	look(900*mib, false)
	r.free["/blobs"] = 0
	r.now = r.now.Add(uploadLook - 1)
	if err := r.UploadRefusal(t.Context()); err != nil {
		t.Errorf("the disks are looked at more often than needed: %v", err)
	}
	look(0, true)
	look(200*mib, false)
	r.Full()
	if err := r.UploadRefusal(t.Context()); penstock.ErrorCode(err) != penstock.CodeOverloaded {
		t.Errorf("after a write that found the disk full an upload is answered %v", err)
	}
}

// TestFull holds that a write that found no space refuses jobs even where the disk reports some,
// and that it opens again by itself.
func TestFull(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Full()
	r.wantNow("is full")
	r.now = r.now.Add(fullFor - 1)
	r.want("is full")
	r.now = r.now.Add(1)
	r.want("")
}

func TestRunLooksAgainAndAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()
		r.wantNow("")
		r.mu.Lock()
		r.free["/data"] = 0
		r.mu.Unlock()
		time.Sleep(Interval) // of the bubble's clock
		synctest.Wait()
		r.wantNow("data disk")
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestStatfs(t *testing.T) {
	t.Parallel()
	space, err := Statfs(t.TempDir())
	if err != nil || space.Size == 0 || space.Free > space.Size {
		t.Errorf("%+v, %v", space, err)
	}
	if _, err := Statfs("/nonexistent/penstock"); err == nil {
		t.Error("a directory that does not exist has space")
	}
}

func TestNewWantsEverything(t *testing.T) {
	t.Parallel()
	if _, err := New(Deps{}); err == nil {
		t.Error("a watcher of nothing was made")
	}
}
