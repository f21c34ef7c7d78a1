package api

import (
	"math"
	"strconv"
	"time"

	"penstock"
	"penstock/internal/backlog"
)

// Estimator says when a job will start and finish.
type Estimator interface {
	Estimate(j penstock.Job) backlog.Estimate
}

// How long a caller is told to wait before it asks for a job again. The upper bound lets it notice soon
// when an estimate improves.
const (
	minPoll = time.Second
	maxPoll = 30 * time.Second
)

// estimate says when a job will be done. What an operator holds back waits for that person.
func (c *call) estimate(j penstock.Job) backlog.Estimate {
	if c.Admit.Held(j) {
		return backlog.Estimate{}
	}
	return c.Backlog.Estimate(j)
}

// comeBack tells a caller when to ask for an unfinished job again.
func (c *call) comeBack(j penstock.Job) {
	wait := minPoll
	if finish := c.estimate(j).Finish; !finish.IsZero() {
		wait = min(max(finish.Sub(c.Clock()), minPoll), maxPoll)
	}
	c.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
}
