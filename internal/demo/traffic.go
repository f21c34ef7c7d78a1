package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"penstock"
	"penstock/client"
)

// The load of the present, and its bounds.
const (
	// callEvery is the average time between two calls while people are likely to look, for livelyFor after the start; calmEvery is that
	// after it, so that a day with the demo looks like the days before.
	callEvery = 650 * time.Millisecond
	livelyFor = 15 * time.Minute
	calmEvery = 6 * time.Second
	// jobEvery is the time between two jobs.
	jobEvery = 45 * time.Second
	// callContext is how many tokens of context a call carries.
	callContext = 60
	// pilotCalls keeps the calls of the pilot rare: its budget must stay nearly used up, and not be exceeded in minutes.
	pilotCalls = 0.5
	// batchEvery is how often the demo looks whether a batch is still running.
	batchEvery = time.Minute
	// maxCalls is how many calls are open at a time.
	maxCalls = 8
	// callTimeout bounds a call.
	callTimeout = time.Minute
	// trafficFor is how long the load goes on, so that a demo that somebody forgot does not fill the disk.
	trafficFor = 12 * time.Hour
	// prompts is how many different prompts are repeated, so that some answers come from the cache.
	prompts = 2
)

// TrafficDeps are what a Traffic works with.
type TrafficDeps struct {
	API   string // base URL of the public API
	State *State
	Begun bool // the demo ran before
	Log   *slog.Logger
}

// Traffic is the load of the present. It is a caller of the public API like any other.
type Traffic struct {
	TrafficDeps
	draw      *rand.Rand // of Run's goroutine
	workloads load
	http      *http.Client
	calls     sync.WaitGroup
	open      chan struct{} // one value for each open call
}

// NewTraffic returns a load that has not begun.
func NewTraffic(d TrafficDeps) *Traffic {
	all := workloads()
	for i := range all {
		if w := &all[i]; w.tenant == pilot {
			w.calls = pilotCalls
		}
	}
	return &Traffic{
		TrafficDeps: d, draw: rand.New(rand.NewPCG(seed, seed+1)), workloads: all,
		http: &http.Client{Timeout: callTimeout}, open: make(chan struct{}, maxCalls),
	}
}

// Run makes the load until ctx ends or it has gone on for long enough. A failure is logged: it must not end the server.
func (t *Traffic) Run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, trafficFor)
	defer cancel()
	defer t.calls.Wait()
	if !t.Begun {
		t.begin(ctx)
	}
	t.report(ctx, "keeping a batch running", t.keepBatch(ctx))
	calls, jobs, batches := time.NewTimer(0), time.NewTicker(jobEvery), time.NewTicker(batchEvery)
	defer calls.Stop()
	defer jobs.Stop()
	defer batches.Stop()
	every, calm := callEvery, time.NewTimer(livelyFor)
	defer calm.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-calls.C:
			t.call(ctx)
			calls.Reset(time.Duration((0.4 + 1.2*t.draw.Float64()) * float64(every)))
		case <-calm.C:
			every = calmEvery
		case <-jobs.C:
			t.report(ctx, "submitting a job", t.submit(ctx))
		case <-batches.C:
			t.report(ctx, "keeping a batch running", t.keepBatch(ctx))
		}
	}
}

// report logs a failure of the load.
func (t *Traffic) report(ctx context.Context, doing string, err error) {
	if err != nil && ctx.Err() == nil {
		t.Log.ErrorContext(ctx, "the load of the demo: "+doing, "error", err)
	}
}

// client calls as a key of a tenant.
func (t *Traffic) client(tenant penstock.TenantID, key string) (*client.Client, error) {
	return client.New(client.Config{URL: t.API, APIKey: t.State.Secret(tenant, key), HTTPClient: t.http})
}

// pick is a workload, in proportion to its calls.
func (t *Traffic) pick() *workload {
	sum := 0.0
	for i := range t.workloads {
		sum += t.workloads[i].calls
	}
	at := t.draw.Float64() * sum
	for i := range t.workloads {
		if at -= t.workloads[i].calls; at < 0 {
			return &t.workloads[i]
		}
	}
	return &t.workloads[0]
}

// call makes one synchronous call in a goroutine of its own, unless too many are open.
func (t *Traffic) call(ctx context.Context) {
	w := t.pick()
	draw := t.draw
	if t.draw.Float64() < 0.3 {
		draw = rand.New(rand.NewPCG(seed, uint64(t.draw.IntN(prompts)))) // a prompt that was sent before
	}
	body := w.body(draw, callContext)
	patience := callTimeout
	if t.draw.Float64() < w.streams {
		body["stream"] = true
		if t.draw.Float64() < 0.03 {
			patience = 700 * time.Millisecond // a caller that leaves
		}
	}
	select {
	case t.open <- struct{}{}:
	default:
		return
	}
	t.calls.Go(func() {
		defer func() { <-t.open }()
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		_, _ = t.post(ctx, w, string(w.endpoint), body) // failures are part of the story, and are in the log of calls
	})
}

// post sends a body, and returns the answer.
func (t *Traffic) post(ctx context.Context, w *workload, path string, body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encoding a body: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.API+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	var tags []string
	for _, name := range slices.Sorted(maps.Keys(w.tags)) {
		tags = append(tags, penstock.TagText(name, w.tags[name]))
	}
	request.Header.Set("Authorization", "Bearer "+t.State.Secret(w.tenant, w.key))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("x-penstock-tags", strings.Join(tags, ","))
	answer, err := t.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	read, err := io.ReadAll(io.LimitReader(answer.Body, maxHookBytes))
	if err == nil && answer.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s answered %d: %s", path, answer.StatusCode, read)
	}
	return read, err
}

// submit submits a small job.
func (t *Traffic) submit(ctx context.Context) error {
	w := t.pick()
	_, err := t.job(ctx, w, jobOf{model: w.model, items: 1 + t.draw.IntN(9)})
	return err
}

// jobOf is a job of the present.
type jobOf struct {
	model string
	items int
}

func (t *Traffic) job(ctx context.Context, w *workload, j jobOf) (*client.Job, error) {
	c, err := t.client(w.tenant, w.key)
	if err != nil {
		return nil, err
	}
	asked := *w
	asked.model = j.model
	spec := client.JobSpec{Model: j.model, Endpoint: w.endpoint, Lane: w.lane, Tags: w.tags}
	for n := range j.items {
		spec.Inputs = append(spec.Inputs, client.Input{CustomID: fmt.Sprintf("%s-%03d", w.feature.Name, n+1), Body: asked.body(t.draw, itemContext)})
	}
	return c.SubmitJob(ctx, spec)
}
