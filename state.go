package penstock

import "fmt"

// Status is the status of a job or an item. Items use all of them; a job is never expired, only its items are.
type Status string

// The statuses.
const (
	StatusQueued    Status = "queued"
	StatusRunning   Status = "running"
	StatusSucceeded Status = "succeeded"
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled"
	StatusExpired   Status = "expired"
)

// Statuses lists every status in the order that counts are shown.
var Statuses = []Status{
	StatusQueued, StatusRunning, StatusSucceeded, StatusFailed, StatusCancelled, StatusExpired,
}

// Terminal reports whether no transition leaves the status.
func (s Status) Terminal() bool {
	switch s {
	case StatusSucceeded, StatusFailed, StatusCancelled, StatusExpired:
		return true
	}
	return false
}

// Transition is a change of an item's status.
type Transition string

// The transitions of an item.
const (
	TransitionClaim   Transition = "claim"   // a worker leased it
	TransitionSucceed Transition = "succeed" // an attempt produced a result
	TransitionFail    Transition = "fail"    // no attempt is left, or the error is permanent
	TransitionRetry   Transition = "retry"   // an attempt ended and another will follow
	TransitionRescue  Transition = "rescue"  // its worker died
	TransitionCancel  Transition = "cancel"  // its job was cancelled
	TransitionExpire  Transition = "expire"  // its deadline passed
	TransitionRefuse  Transition = "refuse"  // it is a line of a file that cannot be run
)

// Transitions lists every transition.
var Transitions = []Transition{
	TransitionClaim, TransitionSucceed, TransitionFail, TransitionRetry,
	TransitionRescue, TransitionCancel, TransitionExpire, TransitionRefuse,
}

// itemStates is the state machine of an item, as data. A pair that is missing is forbidden; no terminal status appears
// on the left, so a terminal status is final.
var itemStates = map[Status]map[Transition]Status{
	StatusQueued: {
		TransitionClaim:  StatusRunning,
		TransitionCancel: StatusCancelled,
		TransitionExpire: StatusExpired,
		TransitionRefuse: StatusFailed,
	},
	StatusRunning: {
		TransitionSucceed: StatusSucceeded,
		TransitionFail:    StatusFailed,
		TransitionRetry:   StatusQueued,
		TransitionRescue:  StatusQueued,
		TransitionCancel:  StatusCancelled,
		TransitionExpire:  StatusExpired,
	},
}

// Next returns the status that a transition leads to, or an error if it may not happen.
func (s Status) Next(t Transition) (Status, error) {
	next, ok := itemStates[s][t]
	if !ok {
		return s, fmt.Errorf("an item that is %s cannot %s", s, t)
	}
	return next, nil
}

// Counts says how many of a job's items are in each status. It is true at every moment: the
// statuses always add up to Total.
type Counts struct {
	Total     int `json:"total"`
	Queued    int `json:"queued"`
	Running   int `json:"running"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
	Expired   int `json:"expired"`
}

// Of returns a pointer to the count of one status, for reading and for moving items between two.
func (c *Counts) Of(s Status) *int {
	switch s {
	case StatusQueued:
		return &c.Queued
	case StatusRunning:
		return &c.Running
	case StatusSucceeded:
		return &c.Succeeded
	case StatusFailed:
		return &c.Failed
	case StatusCancelled:
		return &c.Cancelled
	case StatusExpired:
		return &c.Expired
	}
	panic("penstock: count of unknown status " + string(s))
}

// Move takes one item from one status to another.
func (c *Counts) Move(from, to Status) {
	*c.Of(from)--
	*c.Of(to)++
}

// Plus adds the counts of two jobs.
func (c Counts) Plus(d Counts) Counts {
	return Counts{
		Total: c.Total + d.Total, Queued: c.Queued + d.Queued, Running: c.Running + d.Running, Succeeded: c.Succeeded + d.Succeeded,
		Failed: c.Failed + d.Failed, Cancelled: c.Cancelled + d.Cancelled, Expired: c.Expired + d.Expired,
	}
}

// Open is the number of items that are not terminal yet.
func (c Counts) Open() int { return c.Queued + c.Running }

// Outcome sums up a finished job: it shows whether all, some or no items succeeded, which the status of a job does not.
type Outcome string

// The outcomes. An unfinished job has none.
const (
	OutcomeAllSucceeded  Outcome = "all_succeeded"
	OutcomeMixed         Outcome = "mixed"
	OutcomeNoneSucceeded Outcome = "none_succeeded"
)

// Outcome returns the outcome of a job with these counts, and "" while items are open.
func (c Counts) Outcome() Outcome {
	switch {
	case c.Open() > 0:
		return ""
	case c.Succeeded == c.Total && c.Total > 0:
		return OutcomeAllSucceeded
	case c.Succeeded > 0:
		return OutcomeMixed
	default:
		return OutcomeNoneSucceeded
	}
}
