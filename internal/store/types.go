package store

import (
	"time"

	"penstock"
)

// Submission is a job to be accepted. The store numbers its items, computes its counts and sets its
// times, but for a deadline that the caller chose.
type Submission struct {
	Job   penstock.Job
	Items []NewItem
	// Lines is how many items a job has whose items are the lines of Job.File; SplitJob adds them later, and
	// Items is empty.
	Lines int
	// Batch holds the fields that only a batch has, nil for none. The store fills in the fields that the job has too.
	Batch *Batch
	// Parts are further jobs of the same Batch, over lines as well: they are accepted with it, or nothing is. They have
	// neither a batch nor a key of their own.
	Parts []Submission
	// DeadlineIn is how long the job may take, by the store's clock. A Deadline of the job itself takes precedence.
	DeadlineIn time.Duration
	// Idempotency is nil when the caller gave no key.
	Idempotency *IdempotencyKey
	// Accounts are the budgets that the job is paid from. SubmitJob then also answers budget_exceeded.
	Accounts []Account
	// Starter, if there is one, would start all of the items at once.
	Starter *Lease
	// StartTargets are where calls were reserved for the items that Starter starts, in their order; nil for unknown.
	StartTargets []string
	// Webhook is where the events of this job alone are sent, beside the tenant's endpoints; nil to send them to those alone.
	Webhook *JobWebhook
	// StoredLimit is the most that the tenant may have stored with it, 0 for any amount. SubmitJob then also answers
	// quota_exceeded.
	StoredLimit int64
}

// JobWebhook is where the events of one job are sent. Messages are signed with the tenant's own secret.
type JobWebhook struct {
	URL    string
	Events []penstock.EventType
}

// NewItem is an item to be accepted.
type NewItem struct {
	CustomID       string
	Body           []byte
	EstimateTokens int64            // upper bound of input and output
	Reserved       penstock.NanoUSD // upper bound of the cost of one attempt
	StartIn        time.Duration    // how long it is held back, by the store's clock
	// Files are the files whose content is in the body.
	Files []penstock.AttachedFile
	// Truncated is what was dropped of the body because it was too long, nil for nothing.
	Truncated *penstock.Truncation
	// Prompt is the prompt whose messages are in the body, nil for none.
	Prompt *penstock.PromptUse
	// Refusal is why a line of a file cannot be run, nil if it can. Only SplitJob uses it.
	Refusal *penstock.ItemError
}

// IdempotencyKey recognises a submit that was sent before.
type IdempotencyKey struct {
	Key      string
	BodyHash []byte
	TTL      time.Duration
}

// Receipt is the answer to a submission.
type Receipt struct {
	Job      penstock.Job
	Replayed bool // the job was there already, under the same idempotency key
	// Claimed are the items if the submission's starter has them: nothing waited in the job's lane. Job is as it
	// was before.
	Claimed  []*Claimed
	Warnings []string // of soft budgets that it exceeds
}

// MaxJobScan is how many rows of jobs one list or summary reads at the most, beside those that a segment or an index names.
const MaxJobScan = 10_000

// MaxSegmentScan is how many segments of jobs one list or summary reads at the most: those of two million jobs.
const MaxSegmentScan = 512

// JobFilter selects jobs. Zero fields select all. Of a field with several values, any counts.
type JobFilter struct {
	Statuses     []penstock.Status
	Lanes        []penstock.Lane
	Models       []string
	Keys         []string
	TagKey       string
	TagValue     string
	Code         penstock.Code // of an item that failed
	Fingerprint  string        // of an item that failed
	CreatedAfter time.Time
	CreatedUntil time.Time
	IDPrefix     string      // of the bare id
	After        penstock.ID // the cursor of the previous page
	Direction    Direction   // Descending, newest first, if not given
	Limit        int
}

// JobPage is a page of jobs.
type JobPage struct {
	Jobs []penstock.Job
	Next penstock.ID // where the next page begins, "" after the last one
	// Codes are the error codes of the first failed item of each job that has one.
	Codes map[penstock.ID]penstock.Code
}

// JobSummaryQuery selects the jobs of a summary.
type JobSummaryQuery struct {
	Filter  JobFilter // without Code, Fingerprint, IDPrefix, After, Direction and Limit
	Buckets int       // of the histogram; 0 for none
}

// JobSummary counts jobs.
type JobSummary struct {
	Exact  bool // no count is an estimate
	Counts map[penstock.Status]int64
	// From is the start of the first bucket, and Width the length of each. Without a bound in the filter, From is the oldest
	// job's creation.
	From    time.Time
	Width   time.Duration
	Buckets []map[penstock.Status]int64
	AsOf    time.Time
}

// MaxRequestScan is how many records of calls one list reads at the most.
const MaxRequestScan = 3_000

// RequestFilter selects synchronous calls. Zero fields select all.
type RequestFilter struct {
	Status       penstock.Status
	Code         penstock.Code
	Model        string
	Target       string
	Key          string
	Subject      string
	Prompt       penstock.PromptUse // only its name and version; version 0 for any
	TagKey       string
	TagValue     string
	MinCost      penstock.NanoUSD
	CreatedAfter time.Time // by the time of their ids
	CreatedUntil time.Time
	After        penstock.ID // the cursor of the previous page
	Limit        int
}

// RequestPage is a page of calls.
type RequestPage struct {
	Requests []penstock.Request
	Next     penstock.ID // where the next page begins, "" after the last one
}

// Order is the order of results.
type Order string

// The orders of results.
const (
	OrderCompletion Order = "completion"
	OrderInput      Order = "input"
)

// ResultPage selects results.
type ResultPage struct {
	Order  Order
	After  int64           // a seq in completion order, an index in input order; -1 for the start
	Status penstock.Status // "" for every terminal status
	Limit  int
}

// ItemPage selects items.
type ItemPage struct {
	After  int             // an index; -1 for the start
	Status penstock.Status // "" for every status
	Limit  int
}

// MaxItemScan is how many items of a job one search by custom id looks at.
const MaxItemScan = 100_000

// ItemSearch selects items by their custom id.
type ItemSearch struct {
	CustomID string
	After    int // an index; -1 for the start
	Limit    int
}

// ItemsFound are items of a job.
type ItemsFound struct {
	Items []penstock.Item
	Next  int // the index behind which the search goes on; -1 at the end of the job
}

// EventPage selects events.
type EventPage struct {
	Job   penstock.ID
	After int64
	Limit int
	Kept  time.Duration // how long after its end a job's log is shown; 0 for as long as the job is there
}

// Deletion removes a job on behalf of its owner.
type Deletion struct {
	Job   penstock.ID
	Batch bool   // all jobs of the batch that the job names
	Actor string // name of the key
}

// Purge bounds a step of retention.
type Purge struct {
	Kept  time.Duration // how long objects are kept
	Limit int           // the most rows that are removed; the attempts at an item count, its dead letter does not
}

// Purged is the result of a step of retention.
type Purged struct {
	Removed int
	More    bool          // the bound was reached: there may be more
	Overdue time.Duration // how long ago the oldest should have been removed; 0 when nothing was due
}

// TenantPage selects tenants.
type TenantPage struct {
	After penstock.TenantID
	Limit int
}

// BlobPage selects blobs.
type BlobPage struct {
	After        string    // the name that the page begins behind, "" for the first page
	StoredBefore time.Time // by the clock of the blob store
	Limit        int       // blobs looked at
}

// PurgedBlobs is what PurgeBlobs did.
type PurgedBlobs struct {
	Purged
	Next string // where the next page begins, with More
}

// Lease is the right of one process to work on the items that it claimed.
type Lease struct {
	Process string
	Epoch   int64
}

// Claimed is an item that a lease may work on, with everything that an attempt needs.
type Claimed struct {
	*ClaimedJob
	Item       penstock.ID
	Job        penstock.ID
	Tenant     penstock.TenantID
	Index      int
	CustomID   string
	Body       []byte
	BodyErr    error // why Body could not be read; gone if it never can, penstock.ErrUnreachable if it cannot be at the moment
	Fence      int64
	Tries      int           // attempts recorded so far
	Attempts   int           // attempts so far that count against MaxAttempts
	QueuedFor  time.Duration // since it became due
	Estimate   int64         // upper bound of its tokens
	InputBytes int64         // of its body
	Charged    int64         // tokens that its tenant was charged for it
	Spent      Spent         // by earlier claims
	Sealed     *Sealed       // of a suspect, in the place of Body
	Claim      penstock.ID   // the claim that it belongs to
	Place      int           // in its claim, from 1; 0 for an item with a row of its own
	Call       Call          // that was reserved for it
	Reserved   penstock.NanoUSD
}

// ClaimedJob is shared by the items of a job that were claimed together.
type ClaimedJob struct {
	Key         string // name of the key that it was submitted with
	Endpoint    penstock.Endpoint
	Model       string
	Lane        penstock.Lane
	Stream      penstock.Stream
	Resolved    penstock.Resolved
	MaxAttempts int
	ItemTimeout time.Duration
	TimeLeft    time.Duration // until the deadline, by the database's clock
	Age         time.Duration // since it was accepted
	TraceParent string
}

// Sealed is the stored input of a suspect with the owners of its payloads: a child process opens the input and seals the
// result, not the process that claims.
type Sealed struct {
	Input  []byte
	Opens  PayloadOwner // the input
	Result PayloadOwner
}

// PayloadOwner is what a sealed payload is bound to.
type PayloadOwner struct{ Tenant, ID, Part string }

// Spent is what earlier claims of an item used.
type Spent struct {
	Crashes     int // workers that died while holding it
	ChildDeaths int // child processes that died with it while their workers lived
	Usage       penstock.Usage
	Cost        penstock.NanoUSD
}

// Renewal is the heartbeat of a process.
type Renewal struct {
	TTL time.Duration // of its lease, from now
	// Calls are how many calls it makes on each target that it knows to be paused, synchronous ones too.
	Calls map[string]int
	State ProcessState
}

// ProcessState is what a process reports about itself to all others.
type ProcessState struct {
	Works   bool                       `json:"works,omitempty"`   // it claims items
	Blocked map[string]penstock.Reason `json:"blocked,omitempty"` // by target: why it may make no call there now

	// The following is for operators.
	Version    string         `json:"version,omitempty"`
	Role       string         `json:"role,omitempty"`
	Slots      int            `json:"slots,omitempty"`    // items that it runs at a time, reserved slots included
	InUse      int            `json:"in_use,omitempty"`   // slots that run an item
	Draining   bool           `json:"draining,omitempty"` // it is about to stop and claims nothing
	Running    map[string]int `json:"running,omitempty"`  // by target: its open calls, where there are any
	StartedAt  time.Time      `json:"started_at,omitzero"`
	ReportedAt time.Time      `json:"reported_at,omitzero"`
	Interval   time.Duration  `json:"interval,omitzero"` // between two reports
}

// Process is a process that holds a lease.
type Process struct {
	Name string
	ProcessState
}

// Held is an item that runs under a lease.
type Held struct {
	Item      penstock.ID
	Job       penstock.ID
	Tenant    penstock.TenantID
	Fence     int64
	Cancelled bool // its job was cancelled
}

// Finish is how a claim ended.
type Finish struct {
	Item   penstock.ID
	Job    penstock.ID
	Tenant penstock.TenantID
	Fence  int64
	// Of is the claim as ClaimItems returned it, without its body. It saves the store from reading the item; nil for
	// unknown.
	Of *Claimed

	// Transition is succeed, fail, retry, cancel or expire. A retry of a job that was asked to stop
	// becomes a cancel.
	Transition penstock.Transition
	RetryIn    time.Duration // for a retry: how long to wait
	Attempts   []penstock.Attempt
	Counted    int // how many of them count against the job's maximum
	// ChildDied means that the child process of a suspect died while its worker lived. The MaxChildDeaths-th time, a retry
	// becomes a failure with the code poison.
	ChildDied bool

	Target     string
	StatusCode int
	Result     []byte
	Sealed     bool // Result is sealed already, by Claimed.Sealed.Result
	Error      *penstock.ItemError
	ErrorKind  string

	// Tail are deltas of the item that AppendDeltas did not get yet; they come before the event of its end.
	Tail []Delta

	// Usage and Cost are what is known to have been spent under this claim; Forfeit is the upper bound of what may have
	// been spent without a report of the upstream.
	Usage        penstock.Usage
	Cost         penstock.NanoUSD
	Forfeit      penstock.NanoUSD
	PriceVersion string
}

// Verdict is the result of a Finish.
type Verdict struct {
	Won         bool            // false: the claim was stale and another outcome was recorded
	Status      penstock.Status // the item's status now
	JobFinished bool            // this finish ended the job
	// PromisedIn is the duration that the job's caller was given when it was accepted; 0 for none, or when the job was
	// cancelled.
	PromisedIn time.Duration
}

// Step is the result of a bounded step of maintenance.
type Step struct {
	Items    int           // items moved
	More     bool          // the bound was reached: there may be more
	Finished []penstock.ID // jobs that ended by it
	Queued   int           // of Items, how many are due again
}

// LedgerReport is the result of an audit of the ledger.
type LedgerReport struct {
	Entries  int64
	Items    int64    // terminal items
	Requests int64    // recorded requests
	Problems []string // at most MaxLedgerProblems, empty when the ledger is right
}

// MaxLedgerProblems bounds a report.
const MaxLedgerProblems = 100
