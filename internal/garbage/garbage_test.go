package garbage

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestPercentFor(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for name, tt := range map[string]struct {
		alive uint64
		rate  float64
		want  int
	}{
		"nothing yet":                {0, 0, maxPercent},
		"small and idle":             {16 * mib, 0, 400},
		"small and busy":             {16 * mib, 100 * mib, 400},
		"many streams that are slow": {500 * mib, 1 * mib, 20},
		"many streams that are busy": {512 * mib, 100 * mib, 54},
		"large and very busy":        {512 * mib, 10_000 * mib, 100},
	} {
		if got := percentFor(tt.alive, tt.rate); got != tt.want {
			t.Errorf("%s: got %d, want %d", name, got, tt.want)
		}
	}
}

// The collector is set after a cycle, to what fits the heap by then. It is a setting of the process, so this test is alone.
func TestPacer(t *testing.T) {
	if p := Start(func(string) (string, bool) { return "50", true }); p != nil {
		t.Error("GOGC of the environment is overruled")
	}
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	p := Start(func(string) (string, bool) { return "", false })
	ballast := make([]byte, 256<<20)
	deadline := time.Now().Add(20 * time.Second)
	for seen := maxPercent; seen > 100; seen = p.current() {
		if time.Now().After(deadline) {
			t.Fatalf("with %d MiB alive, GOGC is still %d", len(ballast)>>20, p.current())
		}
		runtime.GC()
	}
	runtime.KeepAlive(ballast)
	p.Stop()
	if now := debug.SetGCPercent(100); now != 100 {
		t.Errorf("left at %d", now)
	}
	var none *Pacer
	none.Stop()
}

func (p *Pacer) current() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.percent
}
