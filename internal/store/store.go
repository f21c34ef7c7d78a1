// Package store is the contract of the queue's and the money's store: jobs, items, leases, events, the ledger and the
// records of synchronous calls.
//
// It is written as roles of few methods, each a named transition or question, never "update row".
// Three rules hold for all of them, and package storetest checks them on every engine:
//
//   - A method that acts for a caller takes the tenant first and answers not_found for anything that
//     belongs to another tenant. A method that acts for a process takes its [Lease], or is a bounded
//     step of maintenance that any process may do.
//   - When a method that writes returns nil, the write is on stable storage. When it returns an
//     error, nothing of it was written.
//   - Times are the database's own, so that processes with different clocks agree.
//
// Payloads go in and come out as plain bytes; the implementation passes every one of them through
// the payload codec. Implementations are safe for concurrent use.
package store

import (
	"context"
	"time"

	"penstock"
)

// Store is all roles at once: the queue's and the money's. Consumers should ask for the role that they need. It is frozen:
// a new capability has its own SQL package (docs/how-to/add-a-capability.md).
type Store interface {
	Jobs
	Batches
	Inputs
	Retries
	Audit
	Leases
	Queue
	Requests
	Ledger
	Retention
	Settings
	Pools
	Controls
	Tenants
	Keys
	Load
	Budgets
	Files
	Storage
	Streams
}

// Jobs is how callers submit, read and cancel their jobs.
type Jobs interface {
	// SubmitJob writes job, items, reservation, idempotency key and first event in one transaction.
	// If the key was used before with the same payload, nothing is written and the receipt names
	// the earlier job. Codes: idempotency_mismatch (other payload), idempotency_in_flight (another
	// submit holds the key), gone (the key outlived its job), not_found (its file).
	//
	// A job with a starter, in whose lane nothing waits, is accepted with its items under the starter's
	// lease, as if they had been claimed. If the lease is not current, they wait like all others.
	SubmitJob(ctx context.Context, tenant penstock.TenantID, s Submission) (Receipt, error)

	// JobByKey returns the job that an earlier submit with the key made. Codes: not_found,
	// idempotency_mismatch, gone.
	JobByKey(ctx context.Context, tenant penstock.TenantID, key IdempotencyKey) (penstock.Job, error)

	// Job returns one job. Codes: not_found.
	Job(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (penstock.Job, error)

	// ListJobs returns jobs in the order of their ids, at most f.Limit of them. It reads a bounded number of rows and
	// segments, so a page may be short, or empty, although more follow.
	ListJobs(ctx context.Context, tenant penstock.TenantID, f JobFilter) (JobPage, error)

	// CancelJob notes that the job shall stop and cancels a bounded number of its queued items;
	// CancelItems does the rest, and running items learn of it through their worker. Cancelling
	// twice, or too late, changes nothing. Codes: not_found.
	CancelJob(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (penstock.Job, error)

	// Results returns finished items with their results, at most p.Limit of them, and fewer where their results are
	// large: a page is what a reader holds in memory. More says that there may be others behind the last one. In input
	// order, the results of a job that has not ended stop before its first open item, so that nothing is missed by a
	// reader that continues after the last index. Codes: not_found.
	Results(ctx context.Context, tenant penstock.TenantID, job penstock.ID, p ResultPage) (items []penstock.Item, more bool, err error)

	// Item returns one item with its result. Codes: not_found.
	Item(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (penstock.Item, error)

	// Items returns items of any status in input order, without their results, at most p.Limit of them. Codes:
	// not_found.
	Items(ctx context.Context, tenant penstock.TenantID, job penstock.ID, p ItemPage) ([]penstock.Item, error)

	// Attempts returns the attempts of an item or a request, in order; none for an unknown one.
	Attempts(ctx context.Context, tenant penstock.TenantID, subject penstock.ID) ([]penstock.Attempt, error)

	// Events returns entries of a job's log with numbers above after, in order, at most limit.
	// Item events carry the item without its result. Codes: not_found, gone (the log was kept long
	// enough, and after lies before its end).
	Events(ctx context.Context, tenant penstock.TenantID, p EventPage) ([]penstock.Event, error)
}

// Inputs returns the inputs of items.
type Inputs interface {
	// ItemInput returns the body that an item was accepted with, whatever its status. Codes: not_found, gone (its blob
	// was removed).
	ItemInput(ctx context.Context, tenant penstock.TenantID, item penstock.ID) ([]byte, error)
}

// Retries is how callers retry or dismiss items that did not succeed. An item is retried once, as an item of another
// job, which can be retried in its turn.
type Retries interface {
	// DeadLetters returns failed items that were not retried or dismissed, oldest first, with ids above p.After, at most
	// p.Limit. Next is where the next page begins, "" after the last one. It reads at most MaxDeadLetterScan rows, so a page
	// may be short, or empty, although more follow.
	DeadLetters(ctx context.Context, tenant penstock.TenantID, p DeadLetterPage) (found []DeadLetter, next penstock.ID, err error)

	// DeadLetterGroups returns dead letters by fingerprint, in the order of the fingerprints, those above p.After, at most
	// p.Limit. Next is where the next page begins, "" after the last one. A page may be short, as that of DeadLetters.
	DeadLetterGroups(ctx context.Context, tenant penstock.TenantID, p DeadLetterGroupPage) (groups []DeadLetterGroup, next string, err error)

	// DeadLetterJobs returns the jobs of the oldest p.DeadLetters dead letters, oldest first, at most
	// p.Jobs of them.
	DeadLetterJobs(ctx context.Context, tenant penstock.TenantID, p DeadLetterJobPage) ([]DeadLetterJob, error)

	// CountDeadLetters says how many dead letters a filter selects.
	CountDeadLetters(ctx context.Context, tenant penstock.TenantID, f DeadLetterFilter) (int, error)

	// Retryable returns a job with those of its items that can be retried now, and their inputs, the first
	// s.Limit of them and no more than MaxRetryBytes; none when all succeeded, are still open or were
	// retried. Codes: not_found, gone (an input is).
	Retryable(ctx context.Context, tenant penstock.TenantID, s RetrySelection) (Retryable, error)

	// RetryItems writes a job over items of another as SubmitJob does, and in the same transaction
	// marks them as retried and notes in the audit who did it. Each item is compare-and-set: if one
	// was retried meanwhile, or dismissed where that counts, nothing is written. Codes: conflict
	// (select again), not_found (the other job is gone), and those of SubmitJob.
	RetryItems(ctx context.Context, tenant penstock.TenantID, r Retry) (Receipt, error)

	// DismissDeadLetters marks the oldest dead letters of a filter as dealt with, at most d.Limit,
	// notes in the audit who did it, and returns how many there were.
	DismissDeadLetters(ctx context.Context, tenant penstock.TenantID, d Dismissal) (int, error)
}

// Audit reads the record of changes, which package audit writes.
type Audit interface {
	// AuditEntries returns the entries of a tenant, newest first, at most p.Limit.
	AuditEntries(ctx context.Context, tenant penstock.TenantID, p AuditPage) ([]AuditEntry, error)
}

// Leases is the membership of processes. Package lease is its user.
type Leases interface {
	// AcquireLease makes the process the holder of a new epoch for ttl. Items that an earlier epoch
	// of the same process still holds are up for rescue at once.
	AcquireLease(ctx context.Context, process string, ttl time.Duration) (Lease, error)

	// RenewLease extends a lease. Codes: conflict (it expired and was taken over, or is unknown):
	// whatever the process still runs will lose its compare-and-set.
	RenewLease(ctx context.Context, l Lease, r Renewal) error

	// ReleaseLease gives the lease up; items that it still holds are up for rescue at once.
	ReleaseLease(ctx context.Context, l Lease) error
}

// ReadyReader says what a claim would find. It is a question of package work, beside [Store], which is frozen.
type ReadyReader interface {
	// ReadyItems returns how many items of each model ClaimItems would find, so that calls can be reserved for them before
	// the claim: of each lane it looks at the tenants whose turn is next. More says that it did not look at all of them.
	// Limit bounds the items of each model; Reserved, Expected and Corrections are not used.
	ReadyItems(ctx context.Context, w Want) (ready []Ready, more bool, err error)

	// ReadySuspects is ReadyItems for ClaimSuspects.
	ReadySuspects(ctx context.Context, w Want) (ready []Ready, more bool, err error)
}

// Queue is how worker processes claim and finish items.
type Queue interface {
	// HeldItems returns the running items of a lease, and which of them were cancelled. A process that does not know one
	// of them lost the answer to its claim.
	HeldItems(ctx context.Context, l Lease) ([]Held, error)

	// ClaimItems takes queued items that are due, from the lanes in the order given, and marks them
	// running under the lease with a higher fence. Inside a lane the tenant that was given the fewest
	// tokens for its weight is first; inside a tenant, the earliest deadline. Items of jobs that were
	// asked to stop are never claimed. Codes: conflict (the lease is not current).
	ClaimItems(ctx context.Context, l Lease, w Want) ([]*Claimed, error)

	// FinishItems records how claims ended: attempts, result, usage, ledger entry, events, counters
	// and dead letter, in one transaction for the group. Each item is compare-and-set on its fence;
	// the verdicts say which won, in the order given. The cost of a stale claim is recorded as
	// forfeit and never aborts the group.
	FinishItems(ctx context.Context, group []Finish) ([]Verdict, error)

	// ClaimSuspects is ClaimItems for suspects: items that lost SuspectCrashes workers or more, which ClaimItems never
	// takes. Tenants take turns; inside a tenant the more urgent lane is first, then the earliest deadline. Their inputs
	// come sealed. Corrections and Expected are not used. Codes: conflict (the lease is not current).
	ClaimSuspects(ctx context.Context, l Lease, w Want) ([]*Claimed, error)

	// RescueItems gives items of dead leases back to the queue, at most limit. The unknown attempt is recorded as forfeit,
	// and counts for nothing else: however many workers an item lost, it is tried again. One that lost
	// SuspectCrashes of them is a suspect from then on.
	RescueItems(ctx context.Context, limit int) (Step, error)

	// ExpireItems expires queued items past their deadline, at most limit.
	ExpireItems(ctx context.Context, limit int) (Step, error)

	// CancelItems cancels queued items of jobs that were asked to stop, at most limit.
	CancelItems(ctx context.Context, limit int) (Step, error)
}

// Requests are the records of synchronous calls.
type Requests interface {
	// RecordRequests writes finished calls with their attempts and settlements. A call that was
	// recorded before is skipped, so a group can be written again after an error.
	RecordRequests(ctx context.Context, rs []penstock.Request) error

	// Request returns one call with its attempts. Codes: not_found.
	Request(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (penstock.Request, error)
}

// RequestLists lists synchronous calls. It is no part of Store, which is that of the queue and the money.
type RequestLists interface {
	// ListRequests returns calls without their attempts, newest first. It reads at most MaxRequestScan records, so a page may be
	// short, or empty, although more follow.
	ListRequests(ctx context.Context, tenant penstock.TenantID, f RequestFilter) (RequestPage, error)
}

// ItemSearches finds items by their custom ids. It is no part of Store, which is that of the queue and the money.
type ItemSearches interface {
	// SearchItems returns items of a job in input order, without their results. It looks at MaxItemScan items, so a page may be
	// empty although more follow. Lines of a file that the job does not have as items yet are not found. Codes: not_found.
	SearchItems(ctx context.Context, tenant penstock.TenantID, job penstock.ID, s ItemSearch) (ItemsFound, error)
}

// JobSummaries counts jobs. It is no part of Store, which is that of the queue and the money.
type JobSummaries interface {
	// SummarizeJobs counts jobs by status, and over time. It reads a bounded number of rows and segments; where these do not
	// suffice, the summary is an estimate.
	SummarizeJobs(ctx context.Context, tenant penstock.TenantID, q JobSummaryQuery) (JobSummary, error)
}

// Segments maintains the segments by which lists and summaries find jobs.
type Segments interface {
	// BuildSegment builds the next segment of a tenant's jobs, or one that is due to be built again. More says that another
	// may follow.
	BuildSegment(ctx context.Context, tenant penstock.TenantID) (more bool, err error)
}

// Ledger is the record of money.
type Ledger interface {
	// JobEntries returns the ledger entries of a job, oldest first. Codes: not_found.
	JobEntries(ctx context.Context, tenant penstock.TenantID, job penstock.ID) ([]penstock.LedgerEntry, error)

	// VerifyLedger checks that every outcome is settled exactly once and that its sums agree.
	VerifyLedger(ctx context.Context) (LedgerReport, error)

	// Spending adds up what a tenant spent in a period, deleted jobs and calls included: at most q.Limit sums, in order.
	Spending(ctx context.Context, tenant penstock.TenantID, q SpendingQuery) ([]Spending, error)
}

// Retention removes jobs that their owner deletes, and everything that is past its retention. All methods but DeleteJob
// are queries or bounded steps of a sweep that any process may do, and several at once. Ledger entries stay.
type Retention interface {
	// DeleteJob removes a finished job with its items, payloads, attempts and dead letters; its
	// idempotency key stays, and is gone from then on. The job vanishes at once; of a large one
	// PurgeItems removes what is left. The audit keeps who did it. The jobs of a batch go together, or none does. Codes:
	// not_found, conflict (it has not finished, or is one of several of a batch and that is not what is to be deleted).
	DeleteJob(ctx context.Context, tenant penstock.TenantID, d Deletion) error

	// TenantIDs returns every tenant that ever was configured, in order, at most p.Limit of them.
	TenantIDs(ctx context.Context, p TenantPage) ([]penstock.TenantID, error)

	// PurgeJobs deletes a tenant's jobs that finished longer than p.Kept ago, oldest first, as DeleteJob
	// does; those of a batch when that was done so long ago. It counts jobs, a batch as one.
	PurgeJobs(ctx context.Context, tenant penstock.TenantID, p Purge) (Purged, error)

	// PurgeItems goes on removing the items of jobs that were too large to be removed at once, at most
	// limit rows; items that are kept together may go beyond it by MaxTogether. It counts items.
	PurgeItems(ctx context.Context, limit int) (Purged, error)

	// PurgeRequests removes the records of a tenant's calls that began longer than p.Kept ago.
	PurgeRequests(ctx context.Context, tenant penstock.TenantID, p Purge) (Purged, error)

	// PurgeFiles removes a tenant's files that expired, or were created longer than p.Kept ago, with their
	// blobs. Those that a job still reads stay until it has. It also removes batches as old that were refused.
	PurgeFiles(ctx context.Context, tenant penstock.TenantID, p Purge) (Purged, error)

	// PurgeKeys removes idempotency keys that expired, at most limit.
	PurgeKeys(ctx context.Context, limit int) (Purged, error)

	// PurgeBlobs removes blobs that no row names, because a process crashed between storing the blob and writing the row.
	// It reads one page of the blobs that are older than any transaction that could still name them.
	PurgeBlobs(ctx context.Context, p BlobPage) (PurgedBlobs, error)
}

// Settings stores what comes from the configuration file, and checks the store's health.
type Settings interface {
	// SaveSnapshot stores a configuration under its hash, so that old attempts can be explained.
	SaveSnapshot(ctx context.Context, hash string, body []byte) error

	// NoteReload writes to the operators' audit that a configuration replaced another.
	NoteReload(ctx context.Context, r Reload) error

	// SaveTenants writes the tenants of the configuration file.
	SaveTenants(ctx context.Context, tenants []penstock.Tenant) error

	// Check proves that the store can write and read.
	Check(ctx context.Context) error
}

// Pools is the upstream capacity that processes share.
type Pools interface {
	// Withdraw draws on several pools in one short transaction. Units are withdrawn for good: the units of a
	// process that dies are lost, so that all processes together use no more than was allowed. Permits belong to
	// the lease: they are free again when it ends, and a lease that is not current gets none. The sum of
	// all permits exceeds the cap of the latest draw at most by the permits that were held when the cap was lowered.
	Withdraw(ctx context.Context, l Lease, w Withdrawal) (Allotment, error)
}

// Controls are the pauses and drains of operators. They act for operators and not for a tenant; every change is written
// to the audit in the same transaction.
type Controls interface {
	// SetControl pauses or drains a lane, model, target or tenant, or changes the state and reason of a control. Setting the
	// same control again changes nothing. Codes: conflict (MaxControls are in force, or it has another version).
	SetControl(ctx context.Context, c Control, on Condition) (Control, error)

	// LiftControl removes a control. Lifting a control that is not there changes nothing. Codes: conflict (it has
	// another version).
	LiftControl(ctx context.Context, c Control, on Condition) error

	// ListControls returns all controls, by kind and name.
	ListControls(ctx context.Context) ([]Control, error)
}

// Tenants are the tenants that operators manage. Like Keys, the role acts for operators and not for a tenant, and writes
// every change to the tenant's audit in the same transaction. A change locks the next version of the directory until its
// commit, so versions are committed in order.
type Tenants interface {
	// CreateTenant makes a tenant. Codes: conflict (there is one, or MaxTenants), managed_by_file (the file's, and
	// t.Adopt is not set).
	CreateTenant(ctx context.Context, t NewTenant) (TenantRecord, error)

	// ChangeTenant edits a tenant. Codes: not_found, managed_by_file, conflict (it has another version), and those
	// of c.Apply.
	ChangeTenant(ctx context.Context, c TenantChange) (TenantRecord, error)

	// DeleteTenant disables a tenant and revokes its keys. Its work, its ledger and its name stay; accepted work
	// still runs. Codes: not_found, managed_by_file, conflict (it has another version). c.Apply is not used.
	DeleteTenant(ctx context.Context, c TenantChange) (TenantRecord, error)

	// ListTenants returns tenants by id, those of the file too, at most f.Limit.
	ListTenants(ctx context.Context, f TenantFilter) ([]TenantRecord, error)
}

// Keys are the API keys that the admin API manages. Those of the configuration file are not stored.
type Keys interface {
	// CreateKey makes a key. Codes: not_found (the tenant), conflict (the name is taken, or MaxKeysPerTenant).
	CreateKey(ctx context.Context, k NewKey) (APIKey, error)

	// ChangeKey edits the limits and budgets of a key, and of all others in use that have its name. Codes: not_found,
	// conflict (it ended, or has another version), and those of c.Apply.
	ChangeKey(ctx context.Context, c KeyChange) (APIKey, error)

	// RotateKey replaces a key: the new one works at once, the old one for r.Overlap. It returns the new one.
	// Codes: not_found, conflict (it ended or was replaced, or has another version).
	RotateKey(ctx context.Context, r KeyRotation) (APIKey, error)

	// RevokeKey ends a key for good. Revoking again changes nothing. Codes: not_found, conflict (it has another
	// version).
	RevokeKey(ctx context.Context, r KeyRevocation) (APIKey, error)

	// ListKeys returns keys, oldest first, also those that ended, at most f.Limit.
	ListKeys(ctx context.Context, f KeyFilter) ([]APIKey, error)

	// TouchKeys records when keys were used, where that is later than recorded. It is no change of the directory.
	TouchKeys(ctx context.Context, uses []KeyUse) error

	// DirectoryChanges returns the tenants and keys that changed after a mark, at most limit of each, in the order of
	// their versions.
	DirectoryChanges(ctx context.Context, after DirectoryMark, limit int) (DirectoryChanges, error)
}

// MaxControls is the most controls that can be in force.
const MaxControls = 1000

// MaxTogether is the most items of one result group. They are stored and removed together.
const MaxTogether = 256

const (
	// SuspectCrashes is the number of workers that must die with an item before it becomes a suspect.
	SuspectCrashes = 3
	// MaxChildDeaths is the number of child processes that must die with a suspect, while their parents live, before it
	// becomes poison.
	MaxChildDeaths = 2
)

// InlinePayloadBytes is the largest sealed payload kept in its row; larger ones become blobs.
const InlinePayloadBytes = 32 << 10
