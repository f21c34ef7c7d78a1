package client_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/client"
)

// results are lines of results with the given numbers.
func results(seqs ...int) string {
	var b strings.Builder
	for _, n := range seqs {
		fmt.Fprintf(&b, `{"seq":%d,"index":%d,"item_id":"item_%d","status":"succeeded","response":{"status_code":200,"body":{"n":%d}}}`+"\n", n, 10-n, n, n)
	}
	return b.String()
}

// readSeqs reads results to the end and returns their numbers.
func readSeqs(t *testing.T, c *client.Client, f client.ResultFilter) (seqs []int64, err error) {
	t.Helper()
	for r, err := range c.Results(t.Context(), "job_01", f) {
		if err != nil {
			return seqs, err
		}
		if want := fmt.Sprintf(`{"n":%d}`, r.Seq); string(r.Response.Body) != want {
			t.Errorf("result %d answers %s", r.Seq, r.Response.Body)
		}
		seqs = append(seqs, r.Seq)
	}
	return seqs, nil
}

func TestResults(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		filter client.ResultFilter
		steps  []http.HandlerFunc
		want   []int64
		asked  []string
	}{
		{name: "none yet", steps: times(1, says(200, "")), asked: []string{""}},
		{name: "all at once", steps: times(1, says(200, results(1, 2, 3))), want: []int64{1, 2, 3}, asked: []string{""}},
		{name: "some of them", filter: client.ResultFilter{Order: client.OrderInput, Status: penstock.StatusFailed, After: new(int64(0))},
			steps: times(1, says(200, "")), asked: []string{"?after=0&order=input&status=failed"}},
		{name: "broken between lines", want: []int64{1, 2, 3}, asked: []string{"", "?after=2"},
			steps: []http.HandlerFunc{breaks(results(1, 2)), says(200, results(3))}},
		{name: "broken inside a line", want: []int64{1, 2, 3}, asked: []string{"", "?after=1", "?after=2"},
			steps: []http.HandlerFunc{breaks(results(1, 2)[:150]), breaks(results(2)), says(200, results(3))}},
		{name: "broken after what looks like a whole line", want: []int64{1}, asked: []string{"", ""},
			steps: []http.HandlerFunc{breaks(strings.TrimSpace(results(1))), says(200, results(1))}},
		{name: "ended without a line feed", want: []int64{1}, asked: []string{"", ""},
			steps: []http.HandlerFunc{says(200, strings.TrimSpace(results(1))), says(200, results(1))}},
		{name: "broken in order of input", filter: client.ResultFilter{Order: client.OrderInput}, want: []int64{3, 2},
			asked: []string{"?order=input", "?after=7&order=input"},
			steps: []http.HandlerFunc{breaks(results(3)), says(200, results(2))}},
		{name: "overloaded at first", want: []int64{1}, asked: []string{"", ""},
			steps: []http.HandlerFunc{fails(503, "overloaded"), says(200, results(1))}},
		{name: "broken more often than a call is tried", want: []int64{1, 2, 3, 4, 5, 6, 7, 8},
			asked: []string{"", "?after=1", "?after=2", "?after=3", "?after=4", "?after=5", "?after=6", "?after=7"},
			steps: []http.HandlerFunc{breaks(results(1)), breaks(results(2)), breaks(results(3)), breaks(results(4)),
				breaks(results(5)), breaks(results(6)), breaks(results(7)), says(200, results(8))}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &script{t: t, steps: tc.steps}
				c := newClient(t, client.Config{HTTPClient: &http.Client{Transport: inMemory{s}}})
				got, err := readSeqs(t, c, tc.filter)
				if err != nil || !slices.Equal(got, tc.want) {
					t.Errorf("results %v, %v; want %v", got, err, tc.want)
				}
				var queries []string
				for _, call := range asked(s) {
					queries = append(queries, strings.TrimPrefix(call, "GET /v1/jobs/job_01/results"))
				}
				if !slices.Equal(queries, tc.asked) {
					t.Errorf("asked %q, want %q", queries, tc.asked)
				}
			})
		})
	}
}

func TestResultsEndWithTheirError(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		steps []http.HandlerFunc
		want  []int64
	}{
		{name: "not found", steps: times(1, fails(404, "not_found"))},
		{name: "not JSON", steps: times(1, says(200, results(1)+"<html>\n")), want: []int64{1}},
		{name: "no progress", want: []int64{1},
			steps: append(times(1, breaks(results(1))), times(client.DefaultMaxTries-1, breaks(""))...)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &script{t: t, steps: tc.steps}
				c := newClient(t, client.Config{HTTPClient: &http.Client{Transport: inMemory{s}}})
				got, err := readSeqs(t, c, client.ResultFilter{})
				if err == nil || !slices.Equal(got, tc.want) {
					t.Errorf("results %v, error %v; want %v and an error", got, err, tc.want)
				}
				if len(s.calls) != len(tc.steps) {
					t.Errorf("%d calls, want %d", len(s.calls), len(tc.steps))
				}
			})
		})
	}
}

// Over a real connection: the transport undoes compression, and a cut inside it is noticed.
func TestResultsCompressed(t *testing.T) {
	t.Parallel()
	compressed := func(cut bool, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
				t.Error("compression was not asked for")
			}
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			io.WriteString(z, text)
			if cut {
				_ = z.Flush()
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			_ = z.Close()
		}
	}
	s := &script{t: t, steps: []http.HandlerFunc{compressed(true, results(1, 2)), compressed(false, results(3))}}
	got, err := readSeqs(t, dial(t, s), client.ResultFilter{})
	if want := []int64{1, 2, 3}; err != nil || !slices.Equal(got, want) {
		t.Errorf("results %v, %v; want %v", got, err, want)
	}
}

func TestResultsStopWhenTheReaderDoes(t *testing.T) {
	t.Parallel()
	s := &script{t: t, steps: times(1, breaks(results(1, 2)))}
	n := 0
	for range dial(t, s).Results(t.Context(), "job_01", client.ResultFilter{}) {
		n++
		break
	}
	if n != 1 || len(s.calls) != 1 {
		t.Errorf("%d results in %d calls", n, len(s.calls))
	}
}

// events are server-sent events with the given numbers; a negative one is the job's last.
func events(seqs ...int) string {
	var b strings.Builder
	b.WriteString(": alive\n\n")
	for _, n := range seqs {
		kind := "item.succeeded"
		if n < 0 {
			n, kind = -n, "job.finished"
		}
		fmt.Fprintf(&b, "id: %d\nevent: %s\ndata: {\"seq\":%d,\"type\":%q,\"data\":{\"seq\":%d}}\n\n", n, kind, n, kind, n)
	}
	return b.String()
}

func follow(t *testing.T, c *client.Client, after int64) (seqs []int64, err error) {
	t.Helper()
	for e, err := range c.Events(t.Context(), "job_01", after) {
		if err != nil {
			return seqs, err
		}
		seqs = append(seqs, e.Seq)
	}
	return seqs, nil
}

const finishedJob, runningJob = `{"id":"job_01","finished_at":"2026-11-15T02:00:02Z"}`, `{"id":"job_01","finished_at":null}`

func TestEvents(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		after int64
		steps []http.HandlerFunc
		want  []int64
		asked []string // path under the job, and Last-Event-ID
	}{
		{name: "in one go", steps: times(1, says(200, events(1, 2, -3))), want: []int64{1, 2, 3}, asked: []string{"/events"}},
		{name: "from the middle", after: 1, steps: times(1, says(200, events(2, -3))), want: []int64{2, 3}, asked: []string{"/events 1"}},
		{name: "nothing behind the last event", steps: times(1, breaks(events(-1))), want: []int64{1}, asked: []string{"/events"}},
		{name: "lines that end in CR LF", steps: times(1, says(200, strings.ReplaceAll(events(1, -2), "\n", "\r\n"))), want: []int64{1, 2},
			asked: []string{"/events"}},
		{name: "data in two lines", steps: times(1, says(200, "data: {\"seq\":1,\ndata: \"type\":\"job.finished\"}\n\n")), want: []int64{1},
			asked: []string{"/events"}},
		{name: "broken twice", want: []int64{1, 2, 3}, asked: []string{"/events", "/events 1", "/events 2"},
			steps: []http.HandlerFunc{breaks(events(1)), breaks(events(2)), says(200, events(-3))}},
		{name: "broken inside an event", want: []int64{1, 2}, asked: []string{"/events", "/events 1"},
			steps: []http.HandlerFunc{breaks(strings.TrimSpace(events(1, 2))), says(200, events(-2))}},
		{name: "the server stops", want: []int64{1, 2}, asked: []string{"/events", "/events 1", "/events 1"},
			steps: []http.HandlerFunc{says(200, events(1)), fails(503, "overloaded"), says(200, events(-2))}},
		{name: "the server stops before anything happened", after: 4, want: []int64{5}, asked: []string{"/events 4", "", "/events 4"},
			steps: []http.HandlerFunc{says(200, ""), says(200, runningJob), says(200, events(-5))}},
		{name: "broken more often than a call is tried", want: []int64{1, 2, 3, 4, 5, 6, 7, 8},
			asked: []string{"/events", "/events 1", "/events 2", "/events 3", "/events 4", "/events 5", "/events 6", "/events 7"},
			steps: []http.HandlerFunc{breaks(events(1)), breaks(events(2)), breaks(events(3)), breaks(events(4)),
				breaks(events(5)), breaks(events(6)), breaks(events(7)), says(200, events(-8))}},
		{name: "come back after the last event", after: 7, asked: []string{"/events 7", ""},
			steps: []http.HandlerFunc{says(200, ""), says(200, finishedJob)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &script{t: t, steps: tc.steps}
				c := newClient(t, client.Config{HTTPClient: &http.Client{Transport: inMemory{s}}})
				got, err := follow(t, c, tc.after)
				if err != nil || !slices.Equal(got, tc.want) {
					t.Errorf("events %v, %v; want %v", got, err, tc.want)
				}
				var calls []string
				for _, r := range s.calls {
					calls = append(calls, strings.TrimSpace(strings.TrimPrefix(r.URL.RequestURI(), "/v1/jobs/job_01")+" "+r.Header.Get("Last-Event-ID")))
				}
				if !slices.Equal(calls, tc.asked) {
					t.Errorf("asked %q, want %q", calls, tc.asked)
				}
			})
		})
	}
}

func TestEventsEndWithTheirError(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		steps []http.HandlerFunc
		want  []int64
	}{
		{name: "not found", steps: times(1, fails(404, "not_found"))},
		{name: "purged while away", steps: []http.HandlerFunc{breaks(events(1)), fails(410, "gone")}, want: []int64{1}},
		{name: "not JSON", steps: times(1, says(200, "data: <html>\n\n"))},
		{name: "going back", steps: times(1, says(200, events(2, 1))), want: []int64{2}},
		{name: "no progress", want: []int64{1},
			steps: append(times(1, breaks(events(1))), times(client.DefaultMaxTries-1, says(200, ""))...)},
		{name: "no log at all", steps: times(client.DefaultMaxTries, says(200, ""))}, // every log has an end
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &script{t: t, steps: tc.steps}
				c := newClient(t, client.Config{HTTPClient: &http.Client{Transport: inMemory{s}}})
				got, err := follow(t, c, 0)
				if err == nil || !slices.Equal(got, tc.want) {
					t.Errorf("events %v, error %v; want %v and an error", got, err, tc.want)
				}
				if len(s.calls) != len(tc.steps) {
					t.Errorf("%d calls, want %d", len(s.calls), len(tc.steps))
				}
			})
		})
	}
}

// Comments keep a stream alive for as long as the job takes; without them the connection counts as
// broken. A reader that takes its time is neither.
func TestEventsNoticeSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		alive := func(w http.ResponseWriter, r *http.Request) {
			for range 100 {
				io.WriteString(w, ": alive\n\n")
				<-time.After(15 * time.Second)
			}
			io.WriteString(w, events(1))
			<-r.Context().Done() // from here on it is silent
		}
		const busy = 2 * client.IdleTimeout // how long the reader takes for one event
		slow := func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, events(2))
			<-time.After(busy + time.Second)
			io.WriteString(w, events(-3))
		}
		s := &script{t: t, steps: []http.HandlerFunc{alive, slow}}
		c := newClient(t, client.Config{HTTPClient: &http.Client{Transport: inMemory{s}}})
		began := time.Now()
		var seqs []int64
		for e, err := range c.Events(t.Context(), "job_01", 0) {
			if err != nil {
				t.Fatal(err)
			}
			seqs = append(seqs, e.Seq)
			if e.Seq == 2 {
				<-time.After(busy)
			}
		}
		if want := []int64{1, 2, 3}; !slices.Equal(seqs, want) {
			t.Errorf("events %v, want %v", seqs, want)
		}
		least := 100*15*time.Second + client.IdleTimeout + busy + time.Second
		if took := time.Since(began); took < least || took > least+time.Second || len(s.calls) != 2 {
			t.Errorf("took %v in %d calls, want %v in 2", took, len(s.calls), least)
		}
	})
}

func TestEventsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open := func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, events(1))
			<-r.Context().Done()
		}
		s := &script{t: t, steps: times(1, open)}
		c := newClient(t, client.Config{HTTPClient: &http.Client{Transport: inMemory{s}}})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var last error
		for _, err := range c.Events(ctx, "job_01", 0) {
			last = err
		}
		if !errors.Is(last, context.DeadlineExceeded) {
			t.Errorf("ended with %v", last)
		}
	})
}

func TestEventsStopWhenTheReaderDoes(t *testing.T) {
	t.Parallel()
	s := &script{t: t, steps: times(1, says(200, events(1, 2, -3)))}
	for range dial(t, s).Events(t.Context(), "job_01", 0) {
		break
	}
	if len(s.calls) != 1 {
		t.Errorf("%d calls", len(s.calls))
	}
}

// Over a real connection: a server that dies in the middle of a stream.
func TestEventsSurviveACutConnection(t *testing.T) {
	t.Parallel()
	s := &script{t: t, steps: []http.HandlerFunc{breaks(events(1, 2)), says(200, events(-3))}}
	got, err := follow(t, dial(t, s), 0)
	if want := []int64{1, 2, 3}; err != nil || !slices.Equal(got, want) {
		t.Errorf("events %v, %v; want %v", got, err, want)
	}
}
