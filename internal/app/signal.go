package app

import (
	"time"

	"penstock"
	"penstock/internal/control"
	"penstock/internal/directory"
	"penstock/internal/identity/service"
	"penstock/internal/prompt"
	"penstock/internal/signal"
	"penstock/internal/store"
)

// topics are what goroutines of this process wait for. All but deliveries are shared with the other processes on the database.
type topics struct {
	work       *signal.Topic[signal.None]
	jobs       *signal.Topic[penstock.ID]
	cancels    *signal.Topic[signal.None]
	control    *signal.Topic[signal.None]
	callers    *signal.Topic[signal.None]
	people     *signal.Topic[signal.None]
	prompts    *signal.Topic[signal.None]
	runs       *signal.Topic[penstock.ID]
	stops      *signal.Topic[signal.None]
	deliveries *signal.Topic[signal.None]
}

func newTopics(bus *signal.Bus) topics {
	return topics{
		work: signal.NewTopic[signal.None](bus, signal.Work), jobs: signal.NewTopic[penstock.ID](bus, signal.Jobs),
		cancels: signal.NewTopic[signal.None](bus, signal.Cancels), control: signal.NewTopic[signal.None](bus, signal.Control),
		callers: signal.NewTopic[signal.None](bus, signal.Callers), people: signal.NewTopic[signal.None](bus, signal.People),
		prompts:    signal.NewTopic[signal.None](bus, signal.Prompts),
		runs:       signal.NewTopic[penstock.ID](bus, signal.Runs),
		stops:      signal.NewTopic[signal.None](bus, signal.RunStops),
		deliveries: signal.NewTopic[signal.None](nil, "deliveries"),
	}
}

// Publish wakes the readers of jobs that changed, and the webhook runner of this process: the change may have written
// deliveries.
func (t topics) Publish(jobs ...penstock.ID) {
	t.jobs.Publish(jobs...)
	if len(jobs) > 0 {
		t.deliveries.Notify()
	}
}

// connectProcesses makes the topics, and the views that follow them.
func (a *app) connectProcesses() {
	a.bus = signal.NewBus(signal.Deps{Wire: a.store.wire, Metrics: a.metrics, Log: a.log})
	a.topics = newTopics(a.bus)
	a.directory = directory.New(directory.Deps{Config: a.live, Source: a.store, Changes: a.topics.callers, Log: a.log, Clock: time.Now})
	a.throttle = directory.NewThrottle(time.Now)
	a.services = service.New(service.Deps{Config: a.live, Directory: a.directory, Throttle: a.throttle, Log: a.log, Clock: time.Now})
	a.resolver = prompt.NewResolver(prompt.ResolverDeps{Store: a.store.prompts, Changes: a.topics.prompts, Log: a.log})
	a.controls = control.New(control.Deps{Store: a.store, Changes: a.topics.control, Changed: a.pausesChanged, Log: a.log})
}

// cancelled notifies the readers of a cancelled job and the workers that run its items.
func (a *app) cancelled(job penstock.ID) {
	a.topics.Publish(job)
	a.topics.cancels.Notify()
}

// pausesChanged is called when the set of pauses changed: resumed items may start.
func (a *app) pausesChanged() {
	for _, kind := range store.ControlKinds {
		a.metrics.Held(string(kind), len(a.controls.Names(kind)))
	}
	a.topics.work.NotifyLocal()
}
