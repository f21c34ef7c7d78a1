package live

import (
	"slices"
	"time"

	"penstock"
	"penstock/internal/backlog"
)

// Topic is a subject that a stream can follow.
type Topic string

// The topics.
const (
	TopicJobs        Topic = "jobs"
	TopicBatches     Topic = "batches" // jobs with several items
	TopicDeadLetters Topic = "dead_letters"
	TopicLoad        Topic = "load"
	TopicTargets     Topic = "targets"
	TopicDeliveries  Topic = "deliveries"
	TopicAudit       Topic = "audit"
	TopicRequests    Topic = "requests"
	TopicPrompts     Topic = "prompts"
)

// Topics lists every topic.
var Topics = []Topic{TopicJobs, TopicBatches, TopicDeadLetters, TopicLoad, TopicTargets, TopicDeliveries, TopicAudit, TopicRequests, TopicPrompts}

// TenantTopics lists the topics of a tenant's stream. Targets serve all tenants: their load would show one tenant the work
// of others.
var TenantTopics = slices.DeleteFunc(slices.Clone(Topics), func(t Topic) bool { return t == TopicTargets })

// Type is the type of an event.
type Type string

// The types of events.
const (
	TypeHello       Type = "hello"
	TypeReset       Type = "reset"
	TypeJob         Type = "job.changed"
	TypeProgress    Type = "job.progress"
	TypeLoad        Type = "load"
	TypeTarget      Type = "target.changed"
	TypeDeadLetters Type = "dead_letters.changed"
	TypeDelivery    Type = "delivery.changed"
	TypeAudit       Type = "audit.appended"
	TypeRequest     Type = "request.recorded"
	TypeControl     Type = "control.changed"
	TypePrompt      Type = "prompt.changed"
)

// Types lists every type.
var Types = []Type{TypeHello, TypeReset, TypeJob, TypeProgress, TypeLoad, TypeTarget, TypeDeadLetters, TypeDelivery, TypeAudit, TypeRequest, TypeControl, TypePrompt}

// Event is the data of an event, in one of several forms. Its type is also in the field event of the frame.
type Event struct{}

// Forms implements rest.Forms.
func (Event) Forms() []any {
	return []any{Hello{}, Reset{}, JobState{}, LoadChange{}, TargetChange{}, DeadLetterCount{}, Hint{}}
}

// Hello is the first event of a stream.
type Hello struct {
	Type   Type      `json:"type"`
	Topics []Topic   `json:"topics" about:"The topics that the stream follows."`
	AsOf   time.Time `json:"as_of"`
}

// Reset tells a page that it may have missed events.
type Reset struct {
	Type   Type    `json:"type"`
	Topics []Topic `json:"topics" about:"The topics whose data to fetch again."`
}

// JobState is the state of a job that changed: job.changed if its status changed, otherwise job.progress.
type JobState struct {
	Type   Type              `json:"type"`
	ID     string            `json:"id"`
	Tenant penstock.TenantID `json:"tenant"`
	Status penstock.Status   `json:"status"`
	Counts penstock.Counts   `json:"counts"`
	Seq    int64             `json:"seq" about:"The number of the job's newest event. An event with a lower number is older."`
	Batch  bool              `json:"batch" about:"The job has several items, or is a batch."`
}

// LoadChange is the queue: of the tenant, or of all tenants.
type LoadChange struct {
	Type  Type          `json:"type"`
	At    time.Time     `json:"at"`
	Total backlog.Row   `json:"total"`
	Lanes []backlog.Row `json:"lanes" about:"Most urgent first."`
}

// TargetChange is a target whose state or load changed.
type TargetChange struct {
	Type Type `json:"type"`
	backlog.TargetLoad
}

// DeadLetterCount is the number of open dead letters.
type DeadLetterCount struct {
	Type    Type              `json:"type"`
	Tenant  penstock.TenantID `json:"tenant" about:"Empty for all tenants."`
	Count   int               `json:"count"`
	AtLeast bool              `json:"at_least" about:"There are more: counting stops at 10000."`
}

// Hint is a change of a list: fetch it again.
type Hint struct {
	Type   Type              `json:"type"`
	Tenant penstock.TenantID `json:"tenant" about:"Empty for changes that concern no tenant."`
	Count  int               `json:"count" about:"How many entries are new or changed; 0 if that is unknown."`
}

// Log is a table whose rows are only added, or change soon after they were added.
type Log string

// The logs.
const (
	LogAudit      Log = "audit"
	LogRequests   Log = "requests"
	LogDeliveries Log = "deliveries"
	// LogPrompts are the entries of the audit about prompts: every change of a prompt that other people see is there, in its
	// transaction. Drafts are not.
	LogPrompts Log = "prompts"
)

// Mark is a row of a log.
type Mark struct {
	ID     penstock.ID
	Tenant penstock.TenantID
	State  string // changes when the row does
}
