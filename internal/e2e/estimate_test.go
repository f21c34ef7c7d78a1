package e2e

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// The estimates of a real server under a steady load: what callers were told when their jobs were accepted,
// held against when those were finished.
func TestEstimatesOfARealQueue(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	on := stage(t)
	// Every item takes a second: 64 slots drain 64 of them in a second, which leaves the machine time for other tests.
	on.setSim(t, `{"first_token_latency":"1s","tokens_per_second":0,"output_tokens":4}`)
	s := newScene(t, on)
	batch := func(items int) Call {
		inputs := strings.TrimSuffix(strings.Repeat(`{"body":`+ask("how long?")+`},`, items), ",")
		return post("/v1/jobs", `{"model":"sim","inputs":[`+inputs+`]}`)
	}
	for range 4 { // 16 seconds of work, so that there is a queue to be measured
		s.call(batch(256))
	}
	Await(s, "the first estimate", func() error {
		if a := s.call(batch(1)); s.field(a, "estimated_finish_at") == "" {
			return errors.New(a.Body)
		}
		return nil
	})

	type told struct {
		id               string
		accepted, finish time.Time
	}
	var jobs []told
	untold := 0
	tick := time.NewTicker(400 * time.Millisecond)
	defer tick.Stop()
	for n := range 40 {
		a := s.call(batch(1 + 25*(n%2)))
		if s.field(a, "estimated_finish_at") == "" {
			untold++
			continue
		}
		jobs = append(jobs, told{s.field(a, "id"), moment(s, a, "created_at"), moment(s, a, "estimated_finish_at")})
		<-tick.C
	}
	var off, part []float64
	for _, j := range jobs {
		s.finished(j.id)
		done := moment(s, s.call(get("/v1/jobs/"+j.id)), "finished_at")
		off = append(off, done.Sub(j.finish).Abs().Seconds())
		part = append(part, done.Sub(j.finish).Abs().Seconds()/done.Sub(j.accepted).Seconds())
	}
	slices.Sort(off)
	slices.Sort(part)
	t.Logf("%d estimates: error p50 %.2f s, p90 %.2f s; of the time taken p50 %.0f %%, p90 %.0f %%",
		len(off), rank(off, 0.5), rank(off, 0.9), 100*rank(part, 0.5), 100*rank(part, 0.9))
	if untold > 0 || rank(part, 0.5) > 0.3 || rank(part, 0.9) > 1 {
		t.Errorf("%d jobs were told nothing; errors are %.2f", untold, off)
	}
	if _, text := s.fetch(s.metrics); !strings.Contains(text, `penstock_estimate_error_ratio_count{lane="standard"} `) ||
		strings.Contains(text, `penstock_estimate_error_ratio_count{lane="standard"} 0`) {
		t.Error("the metrics do not tell of the errors")
	}
}

func rank(sorted []float64, q float64) float64 { return sorted[int(q*float64(len(sorted)-1))] }

// moment is a time in an answer.
func moment(s *scene, a Answer, field string) time.Time {
	s.Helper()
	at, err := time.Parse(time.RFC3339, s.field(a, field))
	if err != nil {
		s.Fatal(err)
	}
	return at
}
