package webhook

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"penstock"
	"penstock/internal/signal"
	"penstock/internal/telemetry"
)

const (
	// Slots is the most attempts that a process has in flight.
	Slots = 64
	// PerTenant is the most of them for one tenant.
	PerTenant = 24
	// PerReceiver is the most of them to one receiver.
	PerReceiver = 8
	// PollInterval is the time between two polls of the outbox when nothing wakes the runner sooner.
	PollInterval = time.Second

	// pollGap is the shortest time between two polls: deliveries that are written meanwhile share the next one.
	pollGap = 20 * time.Millisecond
	// storeTimeout bounds a call of the store, so that a call that hangs does not stop the runner for good.
	storeTimeout = 15 * time.Second
	// drainTimeout is how long attempts may continue after the runner was stopped.
	drainTimeout = 5 * time.Second
)

// Deps are what a Runner works with.
type Deps struct {
	Outbox  Outbox
	Wake    *signal.Topic[signal.None] // notified when a delivery was written
	Client  *http.Client               // follows no redirect
	Timeout time.Duration              // of one attempt
	Poll    time.Duration              // the longest time between two polls; PollInterval, but for tests
	Metrics *telemetry.Metrics
	Tracer  *telemetry.Tracer // nil for no spans
	Log     *slog.Logger
	Clock   func() time.Time
}

// Runner sends the deliveries of the outbox. Any number of processes may run one on the same outbox.
type Runner struct {
	Deps
	wake  <-chan struct{}
	ended chan *DeliveryClaim
}

// New returns a runner.
func New(d Deps) (*Runner, error) {
	if d.Outbox == nil || d.Wake == nil || d.Client == nil || d.Timeout <= 0 || d.Poll <= 0 || d.Metrics == nil || d.Log == nil || d.Clock == nil {
		return nil, errors.New("a webhook runner needs an outbox, a topic, a client, a timeout, an interval, metrics, a log and a clock")
	}
	if d.Tracer == nil {
		d.Tracer = new(telemetry.Tracer)
	}
	return &Runner{Deps: d, wake: d.Wake.SubscribeAll().C, ended: make(chan *DeliveryClaim, Slots)}, nil
}

// load counts the attempts in flight, and holds where the next poll begins.
type load struct {
	DeliveryLoad
	sum   int
	after string
}

func (l *load) add(c *DeliveryClaim, n int) {
	l.sum += n
	if l.Receivers[c.Receiver] += n; l.Receivers[c.Receiver] == 0 {
		delete(l.Receivers, c.Receiver)
	}
	if l.Tenants[c.Tenant] += n; l.Tenants[c.Tenant] == 0 {
		delete(l.Tenants, c.Tenant)
	}
}

// Run delivers until ctx ends; attempts that are in flight then may continue for drainTimeout. Errors are logged: the next
// poll finds the same deliveries.
func (r *Runner) Run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var attempts sync.WaitGroup
	busy := &load{DeliveryLoad: DeliveryLoad{Receivers: map[string]int{}, Tenants: map[penstock.TenantID]int{}}}
	timer := time.NewTimer(0)
	defer timer.Stop()
	polled := time.Time{}
	for {
		select {
		case <-ctx.Done():
			late := time.AfterFunc(drainTimeout, stop)
			defer late.Stop()
			attempts.Wait()
			return nil
		case <-r.wake:
			timer.Reset(max(0, pollGap-r.Clock().Sub(polled)))
		case c := <-r.ended:
			busy.add(c, -1)
			timer.Reset(max(0, pollGap-r.Clock().Sub(polled)))
		case <-timer.C:
			polled = r.Clock()
			claims, next := r.poll(ctx, busy)
			for i := range claims {
				c := &claims[i]
				busy.add(c, 1)
				attempts.Go(func() {
					r.deliver(work, c)
					r.ended <- c // its buffer holds all that can be in flight
				})
			}
			timer.Reset(next)
		}
	}
}

// poll claims due deliveries for the free slots, and returns the time until the next poll.
func (r *Runner) poll(ctx context.Context, busy *load) (claims []DeliveryClaim, next time.Duration) {
	free := Slots - busy.sum
	if free == 0 {
		return nil, r.Poll
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	got, err := r.Outbox.ClaimDeliveries(ctx, DeliveryWant{
		Limit: free, PerReceiver: PerReceiver, PerTenant: PerTenant, Busy: busy.DeliveryLoad,
		Hold: r.Timeout + 2*storeTimeout + drainTimeout, After: busy.after,
	})
	if err != nil {
		if !errors.Is(ctx.Err(), context.Canceled) {
			r.Log.ErrorContext(ctx, "polling for webhook deliveries", "error", err)
		}
		return nil, r.Poll
	}
	busy.after = got.Next
	switch {
	case len(got.Claims) > 0 || got.Next != "":
		next = pollGap
	case got.DueIn > 0:
		next = min(max(got.DueIn, pollGap), r.Poll)
	default:
		next = r.Poll
	}
	return got.Claims, next
}
