package e2e

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"penstock/internal/sim"
)

// streamSteps are the transitions by which answers are shown while they arrive; TestCrashDuringStream strikes there.
var streamSteps = []string{"deltas"}

// TestCrashDuringStream kills the server at each moment at which it writes what an item says. Whoever follows the job
// ends with the answer that it keeps, and the item ran once for each life that held it.
func TestCrashDuringStream(t *testing.T) {
	t.Parallel()
	for _, on := range []engine{onSQLite, onPostgres} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, on)
			for _, moment := range moments {
				point := streamSteps[0] + "." + moment
				prompt := fmt.Sprintf("killed at %s [sim:tokens=3000]", point)
				l := r.start(at(point))
				job := (&Server{Process: l.Process, URL: r.endpoint.URL}).streaming(prompt)
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				read := make(chan string, 1)
				f := &follower{s: r.endpoint, job: job, fickle: true, said: new(atomic.Int64)}
				go func() { read <- f.read(ctx) }()
				if !l.pass(patience) {
					t.Fatalf("the server did not come to %s", point)
				}
				r.bury(l)
				next := r.start(death{})
				got := <-read
				cancel()
				if want := (&Server{Process: next.Process, URL: r.endpoint.URL}).answerOf(job); got != want || want == "" {
					t.Errorf("after a kill at %s a reader ends with %d bytes, but the answer has %d", point, len(got), len(want))
				}
				if ran := r.upstream.Executions(prompt); ran.Attempts > 2 {
					t.Errorf("after one kill at %s the item ran %d times", point, ran.Attempts)
				}
				if code := next.Stop(); code != 0 {
					t.Errorf("the server stopped with code %d:\n%s", code, tail(next.Output()))
				}
			}
		})
	}
}

// TestStreamOfAnotherProcess follows a job by one process while another runs it, which is killed meanwhile: what is
// said and where it begins anew passes through the database alone.
func TestStreamOfAnotherProcess(t *testing.T) {
	t.Parallel()
	worker := newRig(t, onPostgres)
	if err := worker.upstream.Configure(sim.Config{Seed: worker.seed, TokensPerSecond: 200}); err != nil {
		t.Fatal(err)
	}
	endpoint := worker.twin()
	s := &Server{Process: Start(t, endpoint.env, "serve", "--role", "api", "--config", endpoint.config), URL: endpoint.endpoint.URL}
	s.AwaitReady()
	first := Start(t, worker.env, "serve", "--role", "worker", "--config", worker.config)

	prompt := "told elsewhere [sim:tokens=300]"
	job := s.streaming(prompt)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	var said atomic.Int64
	read := make(chan string, 2)
	for _, fickle := range []bool{false, true} {
		f := &follower{s: s, job: job, fickle: fickle, said: &said}
		go func() { read <- f.read(ctx) }()
	}
	Await(t, "the readers to hear something", func() error {
		if n := said.Load(); n < 4 {
			return fmt.Errorf("they heard %d deltas", n)
		}
		return nil
	})
	first.Kill()
	Start(t, worker.env, "serve", "--role", "worker", "--config", worker.config)
	one, other := <-read, <-read
	if want := s.answerOf(job); want == "" || one != want || other != want {
		t.Errorf("readers end with %d and %d bytes, but the answer has %d", len(one), len(other), len(want))
	}
	if ran := worker.upstream.Executions(prompt); ran.Attempts != 2 {
		t.Errorf("the item ran %d times, though one worker of two was killed", ran.Attempts)
	}
}
