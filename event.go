package penstock

import "time"

// Stream is how the answers of a job are published while they arrive.
type Stream string

// The ways to publish answers.
const (
	StreamNone Stream = ""     // when they are whole
	StreamText Stream = "text" // their text
	StreamWire Stream = "wire" // the events of the endpoint's dialect, without the last: that is the item itself
)

// EventType names what happened to a job.
type EventType string

// The events of a job's log. A terminal item is its own event, and the events job.queued, job.started and job.finished are
// derived from the job's row; the others have rows of their own. The comments are the reference page of events.
const (
	EventJobQueued     EventType = "job.queued"     // the job was accepted. Its data is the job: status, outcome, model, tags, counts and usage
	EventJobStarted    EventType = "job.started"    // the first item of the job was claimed. Its data is the job
	EventJobProgress   EventType = "job.progress"   // counts of a running job of more than 1,000 items, at most once a second, instead of the events of its items. Its data is the job
	EventJobFinished   EventType = "job.finished"   // every item has ended. Its data is the job
	EventItemDelta     EventType = "item.delta"     // the next piece of an answer, of a job with stream: true. Its data is {"text": …}; attempt names the claim that produced it
	EventItemReset     EventType = "item.reset"     // the item runs again: readers discard the deltas that they have of it. Its data is null
	EventItemSucceeded EventType = "item.succeeded" // the item succeeded. Its data is the item without its response
	EventItemFailed    EventType = "item.failed"    // the item failed and is a dead letter. Its data is the item with its error
	EventItemCancelled EventType = "item.cancelled" // the item was cancelled before it ended
	EventItemExpired   EventType = "item.expired"   // the deadline passed before the item ended
)

// ItemEvent is the type of the event by which an item ended.
func ItemEvent(s Status) EventType { return EventType("item." + string(s)) }

// MaxItemEvents is the largest number of items whose ends are in their job's log. Larger jobs
// have job.progress instead; their results show the ends.
const MaxItemEvents = 1000

// Event is an entry in a job's log. Sequence numbers start at 1. They have no gaps in the log of a job of at most
// MaxItemEvents items; in that of a larger one the numbers of the items that ended are missing.
type Event struct {
	Job       ID
	Seq       int64
	Type      EventType
	Item      *Item  // what ended
	Delta     *Delta // the text of a running item, or a reset
	State     *Job   // the state of the job, for the events of the job itself
	CreatedAt time.Time
}

// Delta is a part of an answer that is still arriving.
type Delta struct {
	Item    ID
	Attempt int    // the claim of the item; the text of each claim starts from nothing
	Data    []byte // as the job's Stream says; nil for item.reset
}

// Events are the events of the job itself that follow from its row, in order: those of its items lie between them.
func (j Job) Events() []Event {
	types := []EventType{EventJobQueued}
	if j.StartedSeq > 0 {
		types = append(types, EventJobStarted)
	}
	if !j.FinishedAt.IsZero() {
		types = append(types, EventJobFinished)
	}
	events := make([]Event, len(types))
	for i, typ := range types {
		events[i] = j.Event(typ)
	}
	return events
}

// Event is the event by which the job was queued, started or finished, with the state of the job at that time.
func (j Job) Event(typ EventType) Event {
	e := Event{Job: j.ID, Type: typ, State: &j}
	switch typ {
	case EventJobQueued:
		e.Seq, e.CreatedAt = 1, j.CreatedAt
		j.before(0)
		j.StartedAt = time.Time{}
	case EventJobStarted:
		e.Seq, e.CreatedAt = j.StartedSeq, j.StartedAt
		j.before(j.StartedItems)
	case EventJobFinished:
		e.Seq, e.CreatedAt = j.Seq, j.FinishedAt
	}
	return e
}

// before returns the job in the state in which no item had ended and so many items ran.
func (j *Job) before(running int) {
	j.Counts = Counts{Total: j.Counts.Total, Queued: j.Counts.Total - running, Running: running}
	j.Usage, j.Cost, j.FinishedAt, j.CancelRequestedAt = Usage{}, 0, time.Time{}, time.Time{}
}
