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

// How long a caller shall wait before it asks for a job again. The upper bound lets it notice soon
// when an estimate improves.
const (
	minPoll = time.Second
	maxPoll = 30 * time.Second
)

// estimate says when a job will be done. What an operator holds back waits for that person, and nobody knows when a
// provider is back, or a worker.
func (c jobs) estimate(j penstock.Job) backlog.Estimate {
	switch c.waitingOn(j) {
	case penstock.WaitingOnPaused, penstock.WaitingOnProvider, penstock.WaitingOnWorkers:
		return backlog.Estimate{}
	}
	return c.Backlog.Estimate(j)
}

// comeBack tells a caller when to ask for an unfinished job again.
func (c jobs) comeBack(j penstock.Job) {
	c.W.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(c.pollIn(j).Seconds()))))
}

// pollIn is how long a caller should wait before it asks for an unfinished job again.
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
	// What took less than a moment says nothing about a rate that could be kept up.
	took := max(now.Sub(j.StartedAt), minRateTime).Seconds()
	rate := math.Round(float64(ended)/took*1000) / 1000
	return &rate
}

// minRateTime is the least that a rate is taken over.
const minRateTime = 100 * time.Millisecond

// byRate is when a job ends that goes on as it did so far.
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
