package forecast

import (
	"math"
	"slices"

	"penstock/internal/config"
)

// MaxFactor bounds the factor of a load.
const MaxFactor = 1000.0

// Change is a question about a scenario: the same with another load, other capacity, or a target down.
type Change struct {
	Load      float64  // the factor of all arrivals; 0 for as it is
	Slots     int      // of each process; 0 for as it is
	Processes int      // 0 for as it is
	Down      []string // targets that are down all the time
}

// Apply changes a scenario that Parse returned. The error is a [config.Problems] with the paths of the changes.
func (s *Scenario) Apply(c Change) error {
	var problems config.Problems
	fail := func(path, message string) {
		problems = append(problems, config.Problem{Path: path, Message: message})
	}
	if c.Load < 0 || c.Load > MaxFactor || math.IsNaN(c.Load) {
		fail("what_if.load", "must be from 0 to 1000")
	}
	if c.Slots < 0 || c.Slots > MaxSlots {
		fail("what_if.slots", "must be from 0 to 100000")
	}
	if c.Processes < 0 || c.Processes > MaxProcesses {
		fail("what_if.processes", "must be from 0 to 1000")
	}
	for _, name := range c.Down {
		if _, ok := s.Targets[name]; !ok {
			fail("what_if.down", name+" is not a target of the scenario")
		}
	}
	if len(problems) > 0 {
		return problems
	}
	s.apply(c)
	return nil
}

func (s *Scenario) apply(c Change) {
	if c.Slots > 0 {
		s.Processes.Slots = c.Slots
	}
	if c.Processes > 0 {
		s.Processes.Count = c.Processes
	}
	slices.Sort(c.Down)
	for _, name := range slices.Compact(c.Down) {
		s.Faults = append(s.Faults, Fault{Target: name, Kind: "connect", To: s.Duration})
	}
	if c.Load == 0 {
		return
	}
	for i := range s.Tenants {
		a := &s.Tenants[i].Arrivals
		a.Rate *= c.Load
		a.Backlog, a.Burst = int(float64(a.Backlog)*c.Load), int(float64(a.Burst)*c.Load)
	}
}
