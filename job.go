package penstock

import (
	"slices"
	"time"
)

// Job is work that a caller submitted for later: one or many items.
type Job struct {
	ID       ID
	Tenant   TenantID
	Key      string // name of the key that submitted it
	Endpoint Endpoint
	Model    string
	Lane     Lane
	Tags     map[string]string
	RetryOf  ID // the job whose unsuccessful items it runs again, or ""
	File     ID // the file whose lines are its items, or ""
	Stream   Stream

	Counts     Counts
	Usage      Usage
	Cost       NanoUSD
	Seq        int64 // number of the job's newest event
	StartedSeq int64 // number of its job.started, 0 until then
	// StartedItems is how many items its first claim took.
	StartedItems int
	ProgressAt   time.Time // when its last job.progress was; zero if there was none
	LogPurged    bool      // the deltas of its events were removed

	MaxAttempts int
	ItemTimeout time.Duration
	Resolved    Resolved
	TraceParent string // W3C trace context of the submit, so that its later spans belong to the same trace
	// Call marks, at acceptance, a synchronous call with an Idempotency-Key. It counts against its caller's concurrency
	// until it ends.
	Call bool

	CreatedAt         time.Time
	Deadline          time.Time
	StartedAt         time.Time // zero until an item was claimed
	FinishedAt        time.Time // zero until every item is terminal
	CancelRequestedAt time.Time // zero unless a cancel was asked for

	// The estimate at acceptance: the value of the backlog's odometer at which the first item is due, the tokens of all
	// items, and the estimated finish.
	QueueMark   int64
	QueueTokens int64
	PromisedAt  time.Time // zero when no estimate was possible
	StoredBytes int64     // of its inputs and results, before compression

	// Paid are the budgets that pay for its items, by the period in which the items were accepted.
	Paid      []Stretch
	WaitingOn Reason // what keeps it from getting more of its items, "" for nothing
}

// Stretch is a range of items, from an index on, that the same budgets pay for.
type Stretch struct {
	From    int  `json:"from"`
	Budgets []ID `json:"budgets"`
}

// Reason is why the queued items of a job do not start.
type Reason string

// The reasons. "" means that queued items only wait for their turn. If several reasons apply, the first in this list is
// shown.
const (
	WaitingOnPaused    Reason = "paused"     // an operator paused its tenant, lane, model or targets
	WaitingOnBudget    Reason = "budget"     // a hard budget has too little left for the next items
	WaitingOnWorkers   Reason = "workers"    // no process works on jobs
	WaitingOnCapacity  Reason = "capacity"   // every target has its maximum number of calls in flight
	WaitingOnRateLimit Reason = "rate_limit" // every target is at its rate limit, or its upstream asked to wait
	WaitingOnProvider  Reason = "provider"   // the calls of all targets fail
	WaitingOnRetry     Reason = "retry"      // the queued items failed before, and their next attempt is not due
)

// Reasons are all of them.
var Reasons = []Reason{
	WaitingOnPaused, WaitingOnBudget, WaitingOnWorkers, WaitingOnCapacity, WaitingOnRateLimit, WaitingOnProvider, WaitingOnRetry,
}

// Pay records the budgets that pay for the items from an index on.
func (j *Job) Pay(from int, budgets []ID) {
	if !slices.Equal(j.BudgetsOf(from), budgets) {
		j.Paid = append(j.Paid, Stretch{from, budgets})
	}
}

// Stretch is the number of the stretch that an item is in, -1 if no budget ever paid for the job by then.
func (j *Job) Stretch(n int) int {
	at := len(j.Paid) - 1
	for at >= 0 && j.Paid[at].From > n {
		at--
	}
	return at
}

// BudgetsOf are the budgets that an item is paid from.
func (j *Job) BudgetsOf(n int) []ID {
	if at := j.Stretch(n); at >= 0 {
		return j.Paid[at].Budgets
	}
	return nil
}

// ModelNames are the names of its model.
func (j *Job) ModelNames() ModelNames { return ModelNames{Asked: j.Model, Answers: j.Resolved.Model} }

// Origin returns the origin of a ledger entry for an item.
func (j *Job) Origin(n int) Origin {
	return Origin{Key: j.Key, Model: j.Model, Lane: j.Lane, Tags: j.Tags, Budgets: j.BudgetsOf(n)}
}

// Status derives the status of the job from its counts and from whether it has started; a job has no other state. A job
// without a cancelled item is never cancelled: a cancel that stopped no item came too late.
func (j *Job) Status() Status {
	c := j.Counts
	switch {
	case c.Open() > 0 && j.StartedAt.IsZero():
		return StatusQueued
	case c.Open() > 0:
		return StatusRunning
	case c.Cancelled > 0:
		return StatusCancelled
	case c.Succeeded > 0:
		return StatusSucceeded
	default:
		return StatusFailed
	}
}

// IndexOf is the index of an item, if the job has it.
func (j *Job) IndexOf(item ID) (n int, ok bool) {
	at, ok := item.indexIn(j.ID)
	if !ok || at >= uint64(j.Counts.Total) {
		return 0, false
	}
	return int(at), true
}

// Resolved is the decision that admission made once and stored. Retries use it, even if the configuration has changed.
type Resolved struct {
	Config  string   `json:"config"` // hash of the configuration snapshot
	Model   string   `json:"model"`
	Policy  string   `json:"policy"`
	Targets []string `json:"targets"`          // names of the model's targets, in the order of its policy
	Bounded bool     `json:"bounded,omitzero"` // a hard budget pays: no attempt may cost more than its reservation
	// OnOverflow is what happens to inputs that are longer than the context of every target; "" for a refusal.
	OnOverflow OnOverflow `json:"on_overflow,omitzero"`
	// Unpaid are targets that were left out because the budget had too little left for them.
	Unpaid []string `json:"unpaid,omitempty"`
	// Previous is the response that this response continues, "" for none. The input already contains its turns.
	Previous ID `json:"previous,omitzero"`
	// Conversation is the conversation that this response is a turn of, "" for none. The input already contains its items.
	Conversation ID `json:"conversation,omitzero"`
	// PartOf is the first job of the batch that this job is a further job of, "" for none. The store sets it.
	PartOf ID `json:"part_of,omitzero"`
	// Prompts are the references to prompts in its inputs, with the versions that they meant when the job was accepted; nil for none.
	Prompts []PromptPin `json:"prompts,omitempty"`
}

// PromptOf is the prompt that every item of the job uses, nil if there is none or the items differ.
func (r *Resolved) PromptOf() *PromptUse {
	if len(r.Prompts) == 1 && r.Prompts[0].Every {
		return &r.Prompts[0].PromptUse
	}
	return nil
}

// Resolve is the choice of the targets of a retry.
type Resolve string

// The ways to resolve a retry.
const (
	ResolveSame  Resolve = "same"  // the targets of the first job
	ResolveFresh Resolve = "fresh" // the current targets of its model
)

// Resolves lists every way to resolve a retry.
var Resolves = []Resolve{ResolveSame, ResolveFresh}

// Item is one inference of a job.
type Item struct {
	ID       ID
	Job      ID
	Tenant   TenantID
	Index    int
	CustomID string
	Status   Status
	Seq      int64 // number of the event that ended it, 0 while it is open
	Attempts int   // attempts that count against the job's MaxAttempts
	Fence    int64 // how often it was claimed

	Target     string // target of the deciding attempt
	StatusCode int    // HTTP status that the upstream answered with
	Result     []byte // the answer's body
	Error      *ItemError
	Usage      Usage
	Cost       NanoUSD
	FinishedAt time.Time
	Files      []AttachedFile // in its body; only where one item is read
	Truncated  *Truncation    // of its input, nil for nearly all; only where one item is read
	Prompt     *PromptUse     // in its input, nil for none; only where one item is read
}

// ItemError explains to the caller why an item did not succeed.
type ItemError struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// Attempt is one try at one item or request on one target.
type Attempt struct {
	ID      ID
	Subject ID // the item or request it tried
	Number  int
	Fence   int64 // the claim it ran under, 0 for a request
	Target  string
	Reason  string // why this target was chosen
	Config  string // hash of the configuration it ran under
	// Isolated says that it ran in a child process of the worker: its item was in flight in several crashes before.
	Isolated bool `json:",omitempty"`

	ErrorKind    string // "" when it succeeded
	ErrorMessage string
	StatusCode   int
	Usage        Usage
	UsageKnown   bool // false when the upstream did not report it, or the worker died
	Cost         NanoUSD
	PriceVersion string // of the price that Cost was computed with

	StartedAt    time.Time
	FirstTokenAt time.Time
	FinishedAt   time.Time
}

// AttemptLost is the error kind of an attempt whose worker died: its effect upstream is unknown.
const AttemptLost = "worker_lost"

// AttemptDied is the error kind of an attempt whose child process died while its worker lived: its effect upstream is
// unknown, and it counts against the item.
const AttemptDied = "child_died"

// AttachedFile is a file whose content was put into the body of an item or a call, in the place of its id.
type AttachedFile struct {
	Path      string // of the member that named it, such as messages[0].content[1].file.file_id
	File      ID
	MediaType string
	Bytes     int64
	SHA256    string // of the content, in hex
}

// Request is one synchronous call: metered and recorded, not durable.
type Request struct {
	ID         ID
	Tenant     TenantID
	Key        string
	Endpoint   Endpoint
	Model      string
	Stream     bool
	Status     Status // succeeded, failed or cancelled
	StatusCode int    // HTTP status that the caller saw
	ErrorCode  Code
	Error      string
	Target     string
	Usage      Usage
	Cost       NanoUSD
	Forfeit    NanoUSD // upper bound of the cost that the upstream did not report
	Funding    Funding
	Attempts   []Attempt
	Files      []AttachedFile // nil for nearly all calls
	Truncated  *Truncation    // of its input, nil for nearly all calls
	Prompt     *PromptCall    // in its input, nil for none
	Labels

	StartedAt    time.Time
	FirstTokenAt time.Time
	FinishedAt   time.Time
}

// Labels are what a caller attributes a synchronous call to.
type Labels struct {
	Tags    map[string]string // nil for none
	Subject string            // the end user that the call is about, "" for none
}

// None reports whether a call has no labels, as most have none.
func (l *Labels) None() bool { return len(l.Tags) == 0 && l.Subject == "" }

// EntryKind is the kind of a ledger entry.
type EntryKind string

// The kinds of ledger entries.
const (
	EntryReserve EntryKind = "reserve" // an upper bound reserved at admission
	EntrySettle  EntryKind = "settle"  // the actual cost of an outcome; frees its reservation
	EntryRelease EntryKind = "release" // an outcome without an attempt; frees its reservation
	EntryForfeit EntryKind = "forfeit" // an attempt whose usage will never be known: counted, not invoiced
)

// LedgerEntry is a line of the append-only record of money.
type LedgerEntry struct {
	Key          string // the booked work; a key can be booked once
	Tenant       TenantID
	Kind         EntryKind
	Subject      ID    // job, item or request
	Outcomes     int64 // how many outcomes it settles
	Job          ID    // the job of an item, "" for a request
	Target       string
	Reserved     NanoUSD // reserved (reserve) or freed (settle, release)
	Cost         NanoUSD
	Usage        Usage
	PriceVersion string
	CreatedAt    time.Time
	Origin       Origin // written, for reports and budgets; readers of single entries do without
}

// Origin is the job or call that spent money, and the budgets that it counts against.
type Origin struct {
	Key     string
	Model   string
	Lane    Lane
	Tags    map[string]string
	Budgets []ID
}
