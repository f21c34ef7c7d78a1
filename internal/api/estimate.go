package api

import (
	"math"
	"strconv"
	"time"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/backlog"
)

// Estimator says when a job will start and finish.
type Estimator interface {
	Estimate(j penstock.Job) backlog.Estimate
}

// The bounds of Retry-After for an unfinished job. The upper bound is low, so that callers soon see an estimate that
// improves.
const (
	minPoll = time.Second
	maxPoll = 30 * time.Second
)

// estimate says when a job will be done. It is unknown while the job waits for an operator, a provider or a worker.
func (c jobs) estimate(j penstock.Job) backlog.Estimate {
	switch c.waitingOn(j) {
	case penstock.WaitingOnPaused, penstock.WaitingOnProvider, penstock.WaitingOnWorkers:
		return backlog.Estimate{}
	}
	return c.Backlog.Estimate(j)
}

// setRetryAfter sets Retry-After on the answer with an unfinished job.
func (c jobs) setRetryAfter(j penstock.Job) {
	c.W.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(c.pollIn(j).Seconds()))))
}

// pollIn is how long a caller should wait before it reads an unfinished job again.
func (c jobs) pollIn(j penstock.Job) time.Duration {
	wait := minPoll
	if finish := c.estimate(j).Finish; !finish.IsZero() {
		wait = min(max(finish.Sub(c.Clock()), minPoll), maxPoll)
	}
	return wait
}

// rateOf is how many items of a job ended a second since its first started, nil when none did.
func rateOf(j penstock.Job, now time.Time) *float64 {
	ended := j.Counts.Total - j.Counts.Open()
	if ended == 0 || j.StartedAt.IsZero() {
		return nil
	}
	if !j.FinishedAt.IsZero() {
		now = j.FinishedAt
	}
	// A very short time gives no reliable rate.
	took := max(now.Sub(j.StartedAt), minRateTime).Seconds()
	rate := math.Round(float64(ended)/took*1000) / 1000
	return &rate
}

// minRateTime is the shortest time that a rate is computed from.
const minRateTime = 100 * time.Millisecond

// byRate is when a job ends at its rate so far.
func byRate(j penstock.Job, rate float64, now time.Time) time.Time {
	if rate <= 0 {
		return time.Time{}
	}
	end := now.Add(time.Duration(min(float64(j.Counts.Open())/rate, admit.MaxDeadline.Seconds()) * float64(time.Second)))
	if end.After(j.Deadline) {
		return j.Deadline
	}
	return end
}
