package live

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"penstock"
	"penstock/internal/backlog"
	"penstock/internal/signal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a source and a load that a test changes.
type world struct {
	mu     sync.Mutex
	jobs   map[penstock.ID]JobState
	logs   map[Log][]Mark
	dead   map[penstock.TenantID]int
	queued int64
	asked  int
}

func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *world) JobStates(_ context.Context, ids []penstock.ID) (all []JobState, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	for _, id := range ids {
		if j, ok := w.jobs[id]; ok {
			j.ID = string(id)
			all = append(all, j)
		}
	}
	return all, nil
}

func (w *world) Recent(_ context.Context, log Log, _ time.Time, _ int) ([]Mark, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	return slices.Clone(w.logs[log]), nil
}

func (w *world) DeadLetters(_ context.Context, tenant penstock.TenantID, most int) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	return min(w.dead[tenant], most), nil
}

func (w *world) Report() backlog.LoadReport {
	w.mu.Lock()
	defer w.mu.Unlock()
	return backlog.LoadReport{Report: backlog.Report{At: time.Now(), Total: backlog.Row{Ready: w.queued}, Lanes: []backlog.Row{}},
		Targets: []backlog.TargetLoad{{Name: "main", State: backlog.TargetOpen, Running: int(w.queued)}}}
}

func (w *world) TenantLanes(tenant penstock.TenantID) backlog.TenantReport {
	return backlog.TenantReport{At: time.Now(), Total: backlog.Row{Name: string(tenant)}, Lanes: []backlog.Row{}}
}

// rig is a hub over a world.
type rig struct {
	*Hub
	t     *testing.T
	world *world
	jobs  *signal.Topic[penstock.ID]
}

func newRig(t *testing.T) *rig {
	t.Helper()
	w := &world{jobs: map[penstock.ID]JobState{}, logs: map[Log][]Mark{}, dead: map[penstock.TenantID]int{}}
	r := &rig{t: t, world: w, jobs: signal.NewTopic[penstock.ID](nil, "job")}
	r.Hub = New(Deps{Source: w, Load: w, Jobs: r.jobs, Control: signal.NewTopic[signal.None](nil, "control"), Log: slog.New(slog.DiscardHandler), Clock: time.Now})
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- r.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-over
	})
	return r
}

// page is a reader that keeps all frames.
type page struct {
	mu     sync.Mutex
	text   bytes.Buffer
	stuck  chan struct{} // a write waits until it is closed; nil for a reader that reads
	stop   func()
	stream *Stream
}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	stuck := p.stuck
	p.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *page) Send() error { return nil }

func (r *rig) open(reader Reader) *page {
	r.t.Helper()
	s, err := r.Open(reader)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(r.t.Context())
	over := make(chan struct{})
	p := &page{stream: s, stop: sync.OnceFunc(func() { cancel(); <-over; s.Close() })}
	go func() {
		defer close(over)
		_ = s.Follow(ctx, p)
	}()
	r.t.Cleanup(p.stop)
	synctest.Wait()
	return p
}

// frame is an event as a page sees it.
type frame struct{ kind, id, data string }

func (p *page) frames(t *testing.T) (all []frame) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range strings.Split(p.text.String(), "\n\n") {
		var f frame
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if v, ok := strings.CutPrefix(line, "event: "); ok {
				f.kind = v
			} else if v, ok := strings.CutPrefix(line, "id: "); ok {
				f.id = v
			} else if v, ok := strings.CutPrefix(line, "data: "); ok {
				f.data = v
			}
		}
		if f.kind != "" {
			all = append(all, f)
		}
	}
	return all
}

func kinds(frames []frame) (all []string) {
	for _, f := range frames {
		all = append(all, f.kind)
	}
	return all
}

func job(n int) penstock.ID { return penstock.ItemID("01JQ0000000000000000000001", n) }

func (r *rig) change(id penstock.ID, tenant penstock.TenantID, s penstock.Status, done int) {
	r.world.set(func() {
		r.world.jobs[id] = JobState{Tenant: tenant, Status: s, Counts: penstock.Counts{Total: 9, Succeeded: done}, Seq: int64(done), Batch: true}
	})
	r.jobs.Publish(id)
}

// A page sees the jobs of its own tenant, a job at most once a second, and the last state of each.
func TestJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		acme := r.open(Reader{Name: "a", Tenant: "acme", Topics: []Topic{TopicJobs}})
		umbra := r.open(Reader{Name: "u", Tenant: "umbra", Topics: TenantTopics})
		all := r.open(Reader{Name: "o", Topics: []Topic{TopicBatches}})
		for n := range 50 {
			r.change(job(1), "acme", penstock.StatusRunning, n/6)
			time.Sleep(50 * time.Millisecond)
		}
		r.change(job(1), "acme", penstock.StatusSucceeded, 9)
		time.Sleep(2 * JobInterval)
		synctest.Wait()
		got := acme.frames(t)
		if n := len(got); n < 4 || n > 6 || got[0].kind != "hello" || got[1].kind != "job.changed" || got[2].kind != "job.progress" || got[n-1].kind != "job.changed" {
			t.Errorf("the page of the tenant got %v", got)
		}
		var last JobState
		if err := json.Unmarshal([]byte(got[len(got)-1].data), &last); err != nil || last.Status != penstock.StatusSucceeded || last.Counts.Succeeded != 9 || last.ID != penstock.ViewJob.Format(job(1)) {
			t.Errorf("the last event is %+v, %v", last, err)
		}
		for _, f := range umbra.frames(t) {
			if strings.Contains(f.data, "acme") || strings.HasPrefix(f.kind, "job") {
				t.Errorf("another tenant got %v", f)
			}
		}
		if k := kinds(all.frames(t)); !slices.Contains(k, "job.progress") {
			t.Errorf("the page of all tenants got %v", k)
		}
	})
}

// A reader that reconnects gets what it missed; if the hub does not have it any more, it is told to fetch again.
func TestResume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		reader := Reader{Name: "a", Tenant: "acme", Topics: []Topic{TopicJobs}}
		first := r.open(reader)
		first.stop()
		if text := first.text.String(); !strings.HasPrefix(text, "retry: 1000\n") || !strings.HasSuffix(text, "retry: 2000\n\n") {
			t.Errorf("the stream is %q", text)
		}
		r.change(job(1), "acme", penstock.StatusRunning, 1)
		time.Sleep(2 * JobInterval)
		reader.After = first.frames(t)[0].id
		second := r.open(reader)
		if k := kinds(second.frames(t)); !slices.Equal(k, []string{"hello", "job.changed"}) {
			t.Errorf("resumed with %v", k)
		}
		for n := range ringSize + 1 {
			r.add(event{topics: []Topic{TopicJobs}, tenant: "other", key: fmt.Sprint(n), kind: TypeJob, data: []byte("{}")})
		}
		for _, id := range []string{reader.After, "other-1-1", "junk", r.epoch, r.epoch + "-1", r.epoch + "-99999-" + fmt.Sprint(time.Now().Unix())} {
			reader.After = id
			late := r.open(reader)
			if k := kinds(late.frames(t)); !slices.Equal(k, []string{"hello", "reset"}) {
				t.Errorf("resumed behind the ring from %q with %v", id, k)
			}
			late.stop()
		}
		second.stop()
		time.Sleep(2*linger + PollInterval) // nobody listens: changes are missed from here on
		reader.After = second.frames(t)[1].id
		after := r.open(reader)
		if k := kinds(after.frames(t)); !slices.Equal(k, []string{"hello", "reset"}) {
			t.Errorf("resumed after a pause with %v", k)
		}
	})
}

// A reader that does not read costs no memory, and then gets the last state of each object, or a reset.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := r.open(Reader{Name: "a", Tenant: "acme", Topics: []Topic{TopicJobs}})
		stuck := make(chan struct{})
		p.mu.Lock()
		p.stuck = stuck
		p.mu.Unlock()
		for n := range 100 {
			r.add(event{topics: []Topic{TopicJobs}, tenant: "acme", key: fmt.Sprint(n % 2), kind: TypeJob, data: fmt.Appendf(nil, "%d", n)})
		}
		synctest.Wait()
		p.mu.Lock()
		p.stuck = nil
		p.mu.Unlock()
		close(stuck)
		synctest.Wait()
		got := p.frames(t)
		if n := len(got); n > 4 || got[n-1].data != "99" || got[n-2].data != "98" {
			t.Errorf("after a pause the reader got %v", got)
		}
		if len(r.ring) > ringSize {
			t.Errorf("the ring has %d events", len(r.ring))
		}
	})
}

// Figures are told when they change, and hints when a log grows; each only to the readers that may see them.
func TestFiguresAndHints(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		acme := r.open(Reader{Name: "a", Tenant: "acme", Topics: TenantTopics})
		all := r.open(Reader{Name: "o", Topics: Topics})
		time.Sleep(10 * PollInterval)
		synctest.Wait()
		quiet := len(acme.frames(t)) + len(all.frames(t))
		if k := kinds(all.frames(t)); !slices.Contains(k, "load") || !slices.Contains(k, "target.changed") || !slices.Contains(k, "dead_letters.changed") {
			t.Errorf("the first figures are %v", k)
		}
		time.Sleep(10 * PollInterval)
		synctest.Wait()
		if n := len(acme.frames(t)) + len(all.frames(t)); n != quiet {
			t.Errorf("%d events while nothing changed", n-quiet)
		}
		r.world.set(func() {
			r.world.dead = map[penstock.TenantID]int{"acme": 3, "": 20_000}
			r.world.logs[LogDeliveries] = []Mark{{ID: job(1), Tenant: "acme", State: "pending 0"}}
			r.world.logs[LogAudit] = []Mark{{ID: job(2), Tenant: "umbra"}}
			r.world.logs[LogPrompts] = []Mark{{ID: job(3), Tenant: "acme"}}
			r.world.queued = 7
		})
		r.Control.Notify()
		time.Sleep(2 * PollInterval)
		synctest.Wait()
		if k := kinds(acme.frames(t)); !slices.Contains(k, "delivery.changed") || !slices.Contains(k, "prompt.changed") || slices.Contains(k, "audit.appended") || slices.Contains(k, "target.changed") || slices.Contains(k, "control.changed") {
			t.Errorf("the tenant got %v", k)
		}
		text := all.text.String()
		for _, want := range []string{`"count":10000,"at_least":true`, "event: audit.appended", "event: control.changed", `"ready":7`} {
			if !strings.Contains(text, want) {
				t.Errorf("all tenants: %q is missing in %s", want, text)
			}
		}
	})
}

// A flood of jobs costs one bounded read a second, and readers are told to fetch again.
func TestFlood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := r.open(Reader{Name: "a", Tenant: "acme", Topics: []Topic{TopicJobs}})
		time.Sleep(PollInterval)
		synctest.Wait()
		r.world.set(func() { r.world.asked = 0 })
		for range 10 {
			for n := range 2 * maxJobs {
				r.jobs.Publish(job(n))
			}
			time.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		r.world.set(func() {
			if r.world.asked > 3 {
				t.Errorf("%d reads in a second", r.world.asked)
			}
		})
		if k := kinds(p.frames(t)); !slices.Equal(k, []string{"hello", "reset"}) {
			t.Errorf("the flood is %v", k)
		}
	})
}

// Nothing is read while nobody listens, and the number of streams is bounded.
func TestBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.change(job(1), "acme", penstock.StatusRunning, 1)
		time.Sleep(time.Hour)
		if r.world.asked > 0 {
			t.Errorf("%d questions while nobody listens", r.world.asked)
		}
		var open []*Stream
		for n := range MaxStreams {
			s, err := r.Open(Reader{Name: fmt.Sprint(n / MaxStreamsPerReader), Tenant: "acme"})
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, s)
		}
		if _, err := r.Open(Reader{Name: "another"}); penstock.ErrorCode(err) != penstock.CodeRateLimited {
			t.Errorf("one stream too many: %v", err)
		}
		open[1999].Close()
		if _, err := r.Open(Reader{Name: "0"}); penstock.ErrorCode(err) != penstock.CodeRateLimited {
			t.Errorf("one stream of a reader too many: %v", err)
		}
		open[0].Close()
		last, err := r.Open(Reader{Name: "0"})
		if err != nil {
			t.Error(err)
		}
		for _, s := range append(open[1:1999], last) {
			s.Close()
		}
	})
}

func TestReadTopics(t *testing.T) {
	t.Parallel()
	if topics, err := ReadTopics(" jobs,load,jobs", TenantTopics); err != nil || !slices.Equal(topics, []Topic{TopicJobs, TopicLoad}) {
		t.Errorf("%v, %v", topics, err)
	}
	for _, bad := range []string{"targets", "jobs,", "x"} {
		if _, err := ReadTopics(bad, TenantTopics); penstock.ErrorCode(err) != penstock.CodeInvalidRequest {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
