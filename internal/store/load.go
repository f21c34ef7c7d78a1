package store

import (
	"context"
	"time"

	"penstock"
)

// Load is the amount of open work, for admission, monitoring and scaling. Its answers span all tenants: they are for the
// process itself and for operators.
type Load interface {
	// Backlogs returns what is queued, runs and was drained, for each lane, tenant and model that ever
	// had anything queued: those with the most queued first, at most MaxBacklogs of them. It is one
	// consistent picture, read from counters and indexes and not by counting items.
	Backlogs(ctx context.Context) ([]Backlog, error)

	// Processes returns the latest report of each process that holds a lease. A process without a report counts as a
	// worker that may call every target.
	Processes(ctx context.Context) ([]Process, error)

	// OpenResolutions returns what the jobs that have not ended were resolved to, each list of targets once.
	OpenResolutions(ctx context.Context) ([]Resolution, error)

	// Depths sums the backlogs up by lane and status; what has nothing open is left out.
	Depths(ctx context.Context) ([]Depth, error)

	// Suspects is how many suspects wait to be run in a child process. It counts no further than MaxBacklogs.
	Suspects(ctx context.Context) (int64, error)
}

// Resolution is a list of targets that open jobs were resolved to, and how many they are.
type Resolution struct {
	Targets []string
	Jobs    int64
	Items   int64 // of them that have not ended
}

// MaxBacklogs bounds the rows of a picture of the load. Past it the least queued are not seen.
const MaxBacklogs = 10_000

// Backlog is what one tenant has in one lane for one model.
type Backlog struct {
	Lane   penstock.Lane
	Tenant penstock.TenantID
	Model  string

	Ready   int64 // items that may start
	Parked  int64 // items that wait until they may be tried again
	Tokens  int64 // upper bound of all that is queued
	Bytes   int64 // of their inputs
	Unsplit int64 // items that their jobs do not have yet: lines of files
	Running int64

	// DrainedItems and DrainedTokens are counters: they grow with every claim and shrink when a claimed item is
	// queued again, so the difference of two readings is the progress of all processes.
	DrainedItems  int64
	DrainedTokens int64

	// Waited is how long the item that is next has been due, RunningFor the age of the oldest job that
	// has items running; both are 0 when there is none.
	Waited     time.Duration
	RunningFor time.Duration
}

// Queued is how many items are queued.
func (b Backlog) Queued() int64 { return b.Ready + b.Parked + b.Unsplit }

// Depth is how much open work there is in a lane.
type Depth struct {
	Lane   penstock.Lane
	Status penstock.Status // queued or running
	Items  int64
	// Oldest is, for queued items, how long the one that waited longest among those that are next has
	// been due; for running ones, the age of the oldest job.
	Oldest time.Duration
}

// DepthsOf sums backlogs up by lane and status, most urgent lane first.
func DepthsOf(backlogs []Backlog) []Depth {
	var depths []Depth
	for _, lane := range penstock.Lanes {
		queued, running := Depth{Lane: lane, Status: penstock.StatusQueued}, Depth{Lane: lane, Status: penstock.StatusRunning}
		for _, b := range backlogs {
			if b.Lane != lane {
				continue
			}
			queued.Items += b.Queued()
			queued.Oldest = max(queued.Oldest, b.Waited)
			running.Items += b.Running
			running.Oldest = max(running.Oldest, b.RunningFor)
		}
		for _, d := range []Depth{queued, running} {
			if d.Items > 0 {
				depths = append(depths, d)
			}
		}
	}
	return depths
}
