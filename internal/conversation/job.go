package conversation

import (
	"context"
	"time"

	"penstock"
)

// MaxOpenJobs bounds the turns of a conversation that run as jobs and were not added to it yet.
const MaxOpenJobs = 20

// JobTurn is a turn of a conversation that runs as a job: in the background, or with an idempotency key. The job and its result are in
// the queue's store, and the turn is added to the conversation once the job has ended.
//
// The turn is written before the job is submitted, so that no accepted job lacks its turn. It is settled in the transaction that adds
// its items, so that they are added once. A caller that reads the conversation first settles the turns whose jobs have ended, and so sees
// every turn that ended before.
type JobTurn struct {
	Conversation penstock.ID
	Job          penstock.ID
	Own          int // how many items at the end of the job's input are the caller's own, not of earlier turns
}

// Jobs is the storage of turns that run as jobs.
type Jobs interface {
	// AddJobTurn adds a turn whose job is about to be submitted. Codes: not_found (the conversation), conflict (MaxOpenJobs).
	AddJobTurn(ctx context.Context, tenant penstock.TenantID, t JobTurn) error
	// RemoveJobTurn removes a turn whose job was not accepted.
	RemoveJobTurn(ctx context.Context, tenant penstock.TenantID, job penstock.ID) error
	// OpenJobTurns returns the turns of a conversation that are not settled, in the order of their jobs.
	OpenJobTurns(ctx context.Context, tenant penstock.TenantID, id penstock.ID) ([]JobTurn, error)
	// SettleJobTurn adds the items of a turn to its conversation, unless that was done before. A conversation that was deleted
	// does not grow.
	SettleJobTurn(ctx context.Context, tenant penstock.TenantID, t JobTurn, items []Item) error
}

// submitTime is how long the submit of a job may take.
const submitTime = time.Hour

// Abandoned reports whether the job of a turn was never accepted, if the queue does not have it: the process died before.
func (s *Service) Abandoned(t JobTurn) bool { return s.Clock().Sub(t.Job.Time()) > submitTime }
