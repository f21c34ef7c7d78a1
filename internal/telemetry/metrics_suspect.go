package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type suspectMetrics struct {
	waiting, running                 prometheus.Gauge
	started, died, unstarted, poison prometheus.Counter
}

func newSuspectMetrics(factory promauto.Factory) suspectMetrics {
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return factory.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	return suspectMetrics{
		waiting:   gauge("penstock_suspects_waiting", "Suspects that wait for a child process, over all processes."),
		running:   gauge("penstock_suspects_running", "Suspects that this process runs in child processes."),
		started:   counter("penstock_child_processes_started_total", "Child processes that this process started."),
		died:      counter("penstock_child_processes_died_total", "Child processes that died with an item while this process lived."),
		unstarted: counter("penstock_child_processes_unstarted_total", "Child processes that could not be started."),
		poison:    counter("penstock_items_poisoned_total", "Items that failed as poison: they killed their child process twice."),
	}
}

// SuspectsWaiting says how many suspects wait.
func (m *Metrics) SuspectsWaiting(n int64) { m.suspect.waiting.Set(float64(n)) }

// SuspectsRunning says how many suspects run in this process.
func (m *Metrics) SuspectsRunning(n int) { m.suspect.running.Set(float64(n)) }

// ChildStarted counts a child process that takes tasks.
func (m *Metrics) ChildStarted() { m.suspect.started.Inc() }

// ChildDied counts a child process that died with a task.
func (m *Metrics) ChildDied() { m.suspect.died.Inc() }

// ChildUnstarted counts a child process that could not be started.
func (m *Metrics) ChildUnstarted() { m.suspect.unstarted.Inc() }

// Poisoned counts an item that failed as poison.
func (m *Metrics) Poisoned() { m.suspect.poison.Inc() }
