package store

import (
	"encoding/json"
	"time"

	"penstock"
)

// DeadLetter is a failed item that was not retried or dismissed yet.
type DeadLetter struct {
	Item        penstock.ID
	Job         penstock.ID
	Model       string
	Code        penstock.Code
	Kind        string // kind of the last upstream error, "" when there was none
	Message     string
	Target      string // that was called last, "" when none was
	Fingerprint string
	CreatedAt   time.Time
}

// DeadLetterFilter selects dead letters. Zero fields select everything.
type DeadLetterFilter struct {
	Job          penstock.ID
	Model        string
	Code         penstock.Code
	Kind         string
	Fingerprint  string
	CreatedAfter time.Time
	CreatedUntil time.Time
	Items        []penstock.ID // lists do not look at it
}

const (
	// MaxDeadLetterScan is how many dead letters one list reads at the most.
	MaxDeadLetterScan = 5_000
	// MaxGroupCount is how many dead letters of a group are counted.
	MaxGroupCount = 10_000
)

// DeadLetterPage selects dead letters.
type DeadLetterPage struct {
	Filter DeadLetterFilter
	After  penstock.ID
	Limit  int
}

// DeadLetterGroupPage selects groups of dead letters.
type DeadLetterGroupPage struct {
	Filter DeadLetterFilter
	After  string // a fingerprint
	Limit  int
}

// DeadLetterGroup is the dead letters that share a fingerprint.
type DeadLetterGroup struct {
	Fingerprint string
	Count       int
	AtLeast     bool   // there are more than Count: a group is counted up to MaxGroupCount
	Model       string // "" when they are of several
	FirstAt     time.Time
	LastAt      time.Time
	Sample      DeadLetter // the newest, by its id
}

// DeadLetterJobPage selects jobs by their dead letters.
type DeadLetterJobPage struct {
	Filter      DeadLetterFilter
	DeadLetters int // dead letters looked at
	Jobs        int
}

// DeadLetterJob is a job with dead letters.
type DeadLetterJob struct {
	Job         penstock.ID
	DeadLetters int // of those looked at
}

// RetrySelection selects items of a job that did not succeed.
type RetrySelection struct {
	Job penstock.ID
	// DeadLetters narrows it to dead letters. Nil: every item that failed, expired or was cancelled, also
	// when its dead letter was dismissed.
	DeadLetters *DeadLetterFilter
	Limit       int // items at the most
}

// MaxRetryBytes bounds the sum of the inputs of one retry, roughly; one item is always taken.
const MaxRetryBytes = 64 << 20

// Retryable is what can be retried of a job.
type Retryable struct {
	Job   penstock.Job
	Items []RetryableItem // in input order
}

// RetryableItem is an item that can be retried, with its input.
type RetryableItem struct {
	ID       penstock.ID
	CustomID string
	Body     []byte
}

// Retry is a job over items of another, which its RetryOf names.
type Retry struct {
	Submission
	Retried       []penstock.ID    // the items that Submission.Items run again, in the same order
	OfDeadLetters bool             // they were selected as dead letters: an earlier dismissal wins
	Resolve       penstock.Resolve // for the audit
	Actor         string           // for the audit; "" for the key of the job
}

// Dismissal marks dead letters as dealt with.
type Dismissal struct {
	Filter DeadLetterFilter
	Actor  string // name of the key
	Limit  int
}

// AuditPage selects entries of the audit.
type AuditPage struct {
	After penstock.ID // the last entry of the page before
	Limit int
}

// AuditEntry says who changed what.
type AuditEntry struct {
	ID        penstock.ID
	Actor     string // name of the key
	Action    string
	Subject   string // what was changed, as callers name it
	Before    json.RawMessage
	After     json.RawMessage
	CreatedAt time.Time
}

// The actions of the audit.
const (
	ActionRetryJob           = "job.retry"
	ActionRetryDeadLetters   = "dead_letters.retry"
	ActionDismissDeadLetters = "dead_letters.dismiss"
	ActionDeleteJob          = "job.delete"
)
