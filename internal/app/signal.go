package app

import (
	"time"

	"penstock"
	"penstock/internal/control"
	"penstock/internal/deliver"
	"penstock/internal/directory"
	"penstock/internal/queue"
	"penstock/internal/signal"
	"penstock/internal/store"
)

// connectProcesses makes what wakes this process, and ties it to the other processes on the database:
// whatever is rung or announced here is told to them, and what they tell is rung here and goes no further.
func (a *app) connectProcesses() {
	a.hub, a.bell, a.cancels = new(deliver.Hub), queue.NewBell(), queue.NewBell()
	a.directory = directory.New(directory.Deps{Config: a.live, Source: a.store, Log: a.log, Clock: time.Now})
	a.throttle = directory.NewThrottle(time.Now)
	a.controls = control.New(control.Deps{Store: a.store, Changed: a.pausesChanged, Log: a.log})
	a.signals = signal.New(signal.Deps{Wire: a.store.wire, Metrics: a.metrics, Log: a.log})

	a.bell.Beyond(func() { a.signals.Tell(signal.TopicWork) })
	a.hub.Beyond(func(jobs ...penstock.ID) { a.signals.Tell(signal.TopicJob, jobs...) })

	a.signals.On(signal.TopicJob, func(jobs []penstock.ID) {
		if len(jobs) == 0 {
			a.hub.WakeAll()
			return
		}
		a.hub.Wake(jobs...)
	})
	a.signals.On(signal.TopicControl, func([]penstock.ID) { a.controls.Look() })
	a.signals.On(signal.TopicCallers, func([]penstock.ID) { a.directory.Look() })
	if a.Role.works() {
		a.signals.On(signal.TopicWork, func([]penstock.ID) { a.bell.RingHere() })
		a.signals.On(signal.TopicCancel, func([]penstock.ID) { a.cancels.RingHere() })
	}
}

// cancelled is told of a job that was asked to stop: its readers look, and whoever runs its items does.
func (a *app) cancelled(job penstock.ID) {
	announcer{a.hub, a.webhooks}.Announce(job)
	a.cancels.RingHere()
	a.signals.Tell(signal.TopicCancel)
}

// pausesChanged is told that operators hold back other things than before: what was resumed may start.
func (a *app) pausesChanged() {
	for _, kind := range store.ControlKinds {
		a.metrics.Held(string(kind), len(a.controls.Names(kind)))
	}
	a.bell.RingHere()
}
