// Package webhooktest is the conformance suite of the webhook store. An engine is right when it passes:
//
//	webhooktest.Run(t, func(t *testing.T, clock func() time.Time) (webhooktest.Store, *sqldb.DB) { … })
//
// It tests the contracts of webhook.Endpoints and webhook.Outbox, with deliveries that package outbox published. The
// events of jobs are for the suite of the queue's store. Every test has a fresh store and a clock of its own.
package webhooktest

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/outbox"
	"penstock/internal/store/sqldb"
	"penstock/internal/webhook"
)

// Store is what is tested.
type Store interface {
	webhook.Endpoints
	webhook.Outbox
}

// Opener returns a fresh, empty store and its database, which live as long as the test and take their times from
// clock.
type Opener func(t *testing.T, clock func() time.Time) (Store, *sqldb.DB)

// Run tests that the stores of open keep the contracts.
func Run(t *testing.T, open Opener) {
	for name, test := range map[string]func(*rig){
		"an endpoint changes, is disabled and deleted":                webhookChanges,
		"an endpoint is changed in the version that is known":         webhookVersions,
		"a tenant has few endpoints":                                  webhookBound,
		"both secrets sign while they overlap":                        webhookRotation,
		"a claim is held, lost and fenced":                            deliveryClaims,
		"receivers take turns":                                        deliveryTurns,
		"a failing receiver is paused and probed once":                deliveryBreaker,
		"an endpoint that is gone, or fails for long, is disabled":    deliveryDisables,
		"a delivery without a receiver fails":                         deliveryVoid,
		"a delivery is logged and can be sent again":                  deliveryLog,
		"old deliveries are removed, pending ones stay":               deliveryPurge,
		"a delivery carries the trace of its event":                   deliveryTrace,
		"no method shows or changes the webhooks of another tenant":   isolationProbes,
		"an event is published if and only if its change is":          publishAtomic,
		"events reach the endpoints of their own tenant and job only": publishReceivers,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)} // databases store microseconds
			s, db := open(t, clock.Now)
			test(&rig{t: t, s: s, db: db, clock: clock, ids: new(penstock.IDs)})
		})
	}
}

const (
	acme  penstock.TenantID = "acme"  // the tenant of nearly all tests
	umbra penstock.TenantID = "umbra" // the tenant that must not see acme's webhooks

	everything = 10_000 // a limit that no test reaches
)

// rig is what a test works with.
type rig struct {
	t     *testing.T
	s     Store
	db    *sqldb.DB
	clock *clock
	ids   *penstock.IDs
}

// clock moves only when a test advances it.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (r *rig) newID() penstock.ID { return r.ids.New(r.clock.Now()) }

func (r *rig) must(what string, err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("%s: %v", what, err)
	}
}

func (r *rig) wantCode(what string, err error, want penstock.Code) {
	r.t.Helper()
	if got := penstock.ErrorCode(err); got != want {
		r.t.Errorf("%s: got %q (%v), want code %q", what, got, err, want)
	}
}

func (r *rig) wantSame(what string, got, want any) {
	r.t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		r.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// finish publishes the end of a job of acme's, whose id it returns.
func (r *rig) finish() penstock.ID {
	r.t.Helper()
	job := r.newID()
	r.publish(outbox.Event{Tenant: acme, Type: penstock.EventJobFinished, Job: job, Seq: 3})
	return job
}

func (r *rig) publish(events ...outbox.Event) {
	r.t.Helper()
	r.must("publish", r.db.Write(r.t.Context(), "publish", func(tx sqldb.Tx) error { return outbox.Publish(r.t.Context(), tx, events...) }))
}

// entries are the audit entries of acme's, newest first.
func (r *rig) entries() (all []audit.Entry) {
	r.t.Helper()
	r.must("read audit", r.db.Read(r.t.Context(), func(tx sqldb.Tx) (err error) {
		all, err = sqldb.QueryAll(r.t.Context(), tx, sqldb.SQL(`SELECT actor, action, before, after FROM audit WHERE tenant_id = $1 ORDER BY id DESC`, acme),
			func(row sqldb.Row) (e audit.Entry, err error) {
				var before, after string
				if err := row.Scan(&e.Actor, &e.Action, &before, &after); err != nil {
					return e, err
				}
				if err := json.Unmarshal([]byte(before), &e.Before); err != nil {
					return e, err
				}
				return e, json.Unmarshal([]byte(after), &e.After)
			})
		return err
	}))
	return all
}

// hook adds an endpoint of acme's.
func (r *rig) hook(events ...penstock.EventType) penstock.Webhook {
	r.t.Helper()
	w, err := r.s.Create(r.t.Context(), acme, webhook.NewEndpoint{
		ID: r.newID(), URL: "https://app.example/hook", Events: events, Secret: []byte("first secret"), Actor: "app",
	})
	r.must("create webhook", err)
	return w
}

func want(limit int) webhook.DeliveryWant {
	return webhook.DeliveryWant{Limit: limit, PerReceiver: limit, PerTenant: limit, Hold: time.Minute}
}

func (r *rig) deliveries(w webhook.DeliveryWant) []webhook.DeliveryClaim {
	r.t.Helper()
	got, err := r.s.ClaimDeliveries(r.t.Context(), w)
	r.must("claim deliveries", err)
	return got.Claims
}

// delivering claims everything that is due and demands that it be n deliveries.
func (r *rig) delivering(n int) []webhook.DeliveryClaim {
	r.t.Helper()
	claims := r.deliveries(want(everything))
	if len(claims) != n {
		r.t.Fatalf("%d deliveries are due, want %d", len(claims), n)
	}
	return claims
}

// settled ends a claim, which must still hold.
func (r *rig) settled(c webhook.DeliveryClaim, o webhook.DeliveryOutcome) webhook.DeliveryVerdict {
	r.t.Helper()
	v, err := r.s.FinishDelivery(r.t.Context(), r.reportOn(c, o))
	r.must("finish delivery", err)
	if !v.Recorded {
		r.t.Fatalf("%s of delivery %s was not recorded", o, c.ID)
	}
	return v
}

func (r *rig) reportOn(c webhook.DeliveryClaim, o webhook.DeliveryOutcome) webhook.DeliveryReport {
	report := webhook.DeliveryReport{
		Delivery: c.ID, Fence: c.Fence, Outcome: o, Try: penstock.DeliveryTry{At: r.clock.Now(), Took: time.Second, StatusCode: 200},
		Breaker: webhook.Breaker{DisableAfter: 5 * time.Hour, Rest: func(failures int) time.Duration {
			if failures < 3 {
				return 0
			}
			return 10 * time.Minute
		}},
	}
	if o != webhook.OutcomeDelivered {
		report.Try.StatusCode, report.Try.Error, report.RetryIn, report.Reason = 500, "answered 500", time.Minute, "gave up"
	}
	return report
}

func (r *rig) deliveriesOf(w penstock.ID) []penstock.Delivery {
	r.t.Helper()
	all, _, err := r.s.Deliveries(r.t.Context(), acme, webhook.DeliveryPage{Webhook: w, Limit: everything})
	r.must("list deliveries", err)
	return all
}

func (r *rig) webhook(id penstock.ID) penstock.Webhook {
	r.t.Helper()
	w, err := r.s.Endpoint(r.t.Context(), acme, id)
	r.must("read webhook", err)
	return w
}
