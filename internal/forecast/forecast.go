// Package forecast predicts the waits, the throughput and the refusals of a described load: it runs the policies of the
// server on a simulated clock.
//
// It owns the scenario, the simulated time and the measurements. It runs the server's own code: the shares of package
// fair, the stride of lanes and the backoff of package queue, the table of error kinds of package provider, and the
// trackers and pools of package capacity. It simulates the database, whose claim it repeats over rows in memory, the
// queue of calls in package route, and the upstreams. It does not simulate the time that a database or a network takes.
//
// A run is deterministic: the same scenario and seed give the same result. It uses one goroutine, and only [Load],
// [Parse] and [Run] are safe for concurrent use.
package forecast

import (
	"context"
	"fmt"
	"time"
)

// MaxLive is how many items may wait or run at a time. It bounds memory: about 150 bytes for each.
const MaxLive = 8_000_000

// Progress is how far a run is.
type Progress struct {
	At    time.Duration // in the scenario
	Of    time.Duration
	Items int64 // that ended
}

// Over says that nothing more comes.
func (p Progress) Over() bool { return p.At == p.Of }

// Run plays a scenario, which must come from Load or Parse. It tells progress every so many events, and
// once more when it is over; progress may be nil.
func Run(ctx context.Context, scenario *Scenario, progress func(Progress)) (*Result, error) {
	return run(ctx, scenario, MaxLive, progress)
}

// MaxLiveInServer is MaxLive for a run inside a server, whose memory is for other work.
const MaxLiveInServer = 200_000

// RunInServer plays a scenario as Run does, with less memory.
func RunInServer(ctx context.Context, scenario *Scenario) (*Result, error) {
	return run(ctx, scenario, MaxLiveInServer, nil)
}

func run(ctx context.Context, scenario *Scenario, most int, progress func(Progress)) (*Result, error) {
	if progress == nil {
		progress = func(Progress) {}
	}
	s := newSim(scenario)
	s.mostLive = most
	err := s.run(ctx, progress)
	progress(Progress{s.Duration, s.Duration, s.endedItems})
	if err != nil {
		return nil, err
	}
	return s.result(), nil
}

// eventsPerLook is how many events are played between two looks at the world outside.
const eventsPerLook = 1 << 14

func (s *sim) run(ctx context.Context, progress func(Progress)) error {
	for n := 1; ; n++ {
		e, ok := s.events.pop()
		if !ok || e.at > s.Duration || s.done() {
			s.ended = min(max(s.now, s.WarmUp), s.Duration)
			if ok && e.at > s.Duration {
				s.ended = s.Duration
			}
			return nil
		}
		s.now = e.at
		s.play(e)
		if s.live > s.mostLive {
			return fmt.Errorf("after %v more than %d items wait: the load is far above what can be served; "+
				"lower it, or shorten the duration", s.now.Round(time.Second), s.mostLive)
		}
		if s.inspect != nil {
			s.inspect()
		}
		if n%eventsPerLook == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			progress(Progress{s.now, s.Duration, s.endedItems})
		}
	}
}
