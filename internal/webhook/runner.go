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
	// Slots is how many attempts a process has under way at the most.
	Slots = 64
	// PerTenant is how many of them are for one tenant.
	PerTenant = 24
	// PerReceiver is how many of them are to one receiver.
	PerReceiver = 8
	// PollInterval is how often the outbox is looked at when nothing wakes the runner sooner.
	PollInterval = time.Second

	// lookGap lies between two looks at the least: whatever is written meanwhile shares the next one.
	lookGap = 20 * time.Millisecond
	// storeTimeout bounds a call of the store, so that one that hangs does not end delivering for good.
	storeTimeout = 15 * time.Second
	// drainTimeout is how long attempts may go on after a stop was asked for.
	drainTimeout = 5 * time.Second
)

// Deps are what a Runner works with.
type Deps struct {
	Outbox  Outbox
	Wake    *signal.Topic[signal.None] // notified when a delivery was written
	Client  *http.Client               // follows no redirect
	Timeout time.Duration              // of one attempt
	Poll    time.Duration              // between two looks at the most; PollInterval, but for tests
	Metrics *telemetry.Metrics
	Tracer  *telemetry.Tracer // nil for no spans
	Log     *slog.Logger
	Clock   func() time.Time
}

// Runner delivers what the outbox holds. Any number of processes may run one on the same outbox.
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

// load is what is under way, and where the look goes on.
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

// Run delivers until ctx ends; attempts that are under way then may go on for a while. Errors are logged and tried
// again: the next look finds the same work.
func (r *Runner) Run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var attempts sync.WaitGroup
	busy := &load{DeliveryLoad: DeliveryLoad{Receivers: map[string]int{}, Tenants: map[penstock.TenantID]int{}}}
	timer := time.NewTimer(0)
	defer timer.Stop()
	looked := time.Time{}
	for {
		select {
		case <-ctx.Done():
			late := time.AfterFunc(drainTimeout, stop)
			defer late.Stop()
			attempts.Wait()
			return nil
		case <-r.wake:
			timer.Reset(max(0, lookGap-r.Clock().Sub(looked)))
		case c := <-r.ended:
			busy.add(c, -1)
			timer.Reset(max(0, lookGap-r.Clock().Sub(looked)))
		case <-timer.C:
			looked = r.Clock()
			claims, next := r.look(ctx, busy)
			for i := range claims {
				c := &claims[i]
				busy.add(c, 1)
				attempts.Go(func() {
					r.deliver(work, c)
					r.ended <- c // it has room for all that can be under way
				})
			}
			timer.Reset(next)
		}
	}
}

// look claims what is due and there is room for, and says how long the next look has time.
func (r *Runner) look(ctx context.Context, busy *load) (claims []DeliveryClaim, next time.Duration) {
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
			r.Log.ErrorContext(ctx, "looking for webhooks to deliver", "error", err)
		}
		return nil, r.Poll
	}
	busy.after = got.Next
	switch {
	case len(got.Claims) > 0 || got.Next != "":
		next = lookGap
	case got.DueIn > 0:
		next = min(max(got.DueIn, lookGap), r.Poll)
	default:
		next = r.Poll
	}
	return got.Claims, next
}
