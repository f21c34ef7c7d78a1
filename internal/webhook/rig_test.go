package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/blob/dir"
	"penstock/internal/payload"
	"penstock/internal/signal"
	"penstock/internal/store"
	"penstock/internal/store/schema"
	"penstock/internal/store/sqlite"
	"penstock/internal/store/sqlstore"
	"penstock/internal/telemetry"
	"penstock/internal/webhook"
	"penstock/internal/webhook/webhooksql"
)

const attemptTimeout = 15 * time.Second

// call is one call that a receiver got.
type call struct {
	at        time.Duration // since the rig began
	url       string
	id        string
	signature string
	valid     bool
	body      string
}

// receivers answer by host, in the bubble's own time: no network is touched.
type receivers struct {
	mu      sync.Mutex
	began   time.Time
	answers map[string]func(*http.Request) (int, http.Header)
	secrets map[string]string // by host
	calls   []call
}

// RoundTrip implements http.RoundTripper.
func (r *receivers) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	host, h := request.URL.Host, request.Header
	r.mu.Lock()
	c := call{at: time.Since(r.began), url: request.URL.String(), id: h.Get("webhook-id"), signature: h.Get("webhook-signature"), body: string(body)}
	c.valid = verify(r.secrets[host], h, body)
	r.calls = append(r.calls, c)
	answer := r.answers[host]
	r.mu.Unlock()
	status, header := answer(request)
	if status == hangs {
		<-request.Context().Done()
		return nil, request.Context().Err()
	}
	if status == refuses {
		return nil, errors.New("dial tcp: connection refused")
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader("thanks")), Request: request}, nil
}

const (
	hangs   = -1
	refuses = -2
)

// verify is how a receiver checks a message, written from the specification alone.
func verify(secret string, h http.Header, body []byte) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) < 24 {
		return false
	}
	sent, err := strconv.ParseInt(h.Get("webhook-timestamp"), 10, 64)
	if age := time.Since(time.Unix(sent, 0)).Abs(); err != nil || age > 5*time.Minute {
		return false
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%d.%s", h.Get("webhook-id"), sent, body)
	for each := range strings.FieldsSeq(h.Get("webhook-signature")) {
		version, text, _ := strings.Cut(each, ",")
		got, err := base64.StdEncoding.DecodeString(text)
		if version == "v1" && err == nil && hmac.Equal(got, mac.Sum(nil)) {
			return true
		}
	}
	return false
}

// to returns the calls that a host got.
func (r *receivers) to(host string) (calls []call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.calls {
		if strings.Contains(c.url, "//"+host+"/") {
			calls = append(calls, c)
		}
	}
	return calls
}

// rig is a service and a runner over a real store, in a bubble of virtual time.
type rig struct {
	*webhook.Service
	t      *testing.T
	store  store.Store
	outbox *webhooksql.Store
	runner *webhook.Runner
	net    *receivers
	caller penstock.Principal
	lease  store.Lease
	ids    penstock.IDs
}

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, test func(*testing.T, *rig)) {
	t.Parallel()
	home := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := newRig(ctx, t, home)
		var running sync.WaitGroup
		running.Go(func() {
			if err := r.runner.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		test(t, r)
		cancel()
		running.Wait()
	})
}

func newRig(ctx context.Context, t *testing.T, home string) *rig {
	t.Helper()
	s, hooks := openStore(ctx, t, home)
	net := &receivers{began: time.Now(), answers: map[string]func(*http.Request) (int, http.Header){}, secrets: map[string]string{}}
	client := &http.Client{Transport: net, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	runner, err := webhook.New(webhook.Deps{
		Outbox: hooks, Wake: signal.NewTopic[signal.None](nil, "deliveries"), Client: client, Timeout: attemptTimeout, Poll: 10 * time.Minute, Metrics: telemetry.NewMetrics("test", ""), Log: slog.New(slog.DiscardHandler), Clock: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	lease, err := s.AcquireLease(ctx, "worker", 24*365*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{
		t: t, store: s, outbox: hooks, runner: runner, net: net, lease: lease,
		Service: webhook.NewService(webhook.ServiceDeps{Store: hooks, Wake: runner.Wake.Notify, Clock: time.Now}),
		caller:  penstock.Principal{Tenant: penstock.Tenant{ID: "search"}, Key: "app"},
	}
}

func openStore(ctx context.Context, t *testing.T, home string) (store.Store, *webhooksql.Store) {
	t.Helper()
	engine, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(home, "penstock.db"), Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := payload.LoadOrCreate(filepath.Join(home, "keyset.json"))
	if err != nil {
		t.Fatal(err)
	}
	codec, err := payload.New(keys)
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := dir.New(filepath.Join(home, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	db, err := schema.Open(ctx, engine)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlstore.New(ctx, db, codec, blobs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, webhooksql.New(db, codec)
}

// endpoint adds an endpoint that is told of the end of jobs and answers as told.
func (r *rig) endpoint(host string, answer func(*http.Request) (int, http.Header)) penstock.Webhook {
	r.t.Helper()
	url := "https://" + host + "/hook"
	w, secret, err := r.Create(r.t.Context(), r.caller, webhook.Order{URL: &url, Events: []penstock.EventType{penstock.EventJobFinished}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.net.mu.Lock()
	defer r.net.mu.Unlock()
	r.net.answers[host], r.net.secrets[host] = answer, secret
	return w
}

// always answers with one status.
func always(status int) func(*http.Request) (int, http.Header) {
	return func(*http.Request) (int, http.Header) { return status, nil }
}

// job runs a job to its end, and says so as a worker would.
func (r *rig) job() penstock.ID {
	r.t.Helper()
	ctx := r.t.Context()
	sub := store.Submission{
		Job:        penstock.Job{ID: r.ids.New(time.Now()), Model: "fast", Lane: penstock.LaneStandard, Endpoint: penstock.EndpointChat, MaxAttempts: 1},
		DeadlineIn: time.Hour, Items: []store.NewItem{{Body: []byte(`{}`)}},
	}
	if _, err := r.store.SubmitJob(ctx, r.caller.Tenant.ID, sub); err != nil {
		r.t.Fatal(err)
	}
	claims, err := r.store.ClaimItems(ctx, r.lease, store.Want{Lanes: penstock.Lanes, Limit: 1})
	if err != nil || len(claims) != 1 {
		r.t.Fatalf("claimed %d items: %v", len(claims), err)
	}
	c := claims[0]
	_, err = r.store.FinishItems(ctx, []store.Finish{{
		Item: c.Item, Job: c.Job, Tenant: c.Tenant, Fence: c.Fence, Transition: penstock.TransitionSucceed, StatusCode: 200, Result: []byte(`{}`),
	}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.runner.Wake.Notify()
	return sub.Job.ID
}

// pass lets virtual time pass.
func (r *rig) pass(d time.Duration) { time.Sleep(d) }

// delivery is the one delivery of an endpoint.
func (r *rig) delivery(w penstock.Webhook) penstock.Delivery {
	r.t.Helper()
	all, _, err := r.Deliveries(r.t.Context(), r.caller.Tenant.ID, webhook.DeliveryPage{Webhook: w.ID, Limit: 100})
	if err != nil || len(all) != 1 {
		r.t.Fatalf("%d deliveries: %v", len(all), err)
	}
	return all[0]
}

func (r *rig) webhook(w penstock.Webhook) penstock.Webhook {
	r.t.Helper()
	now, err := r.Endpoint(r.t.Context(), r.caller.Tenant.ID, w.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	return now
}

// near demands that something happened when it was due, within the jitter.
func near(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	slack := time.Duration(webhook.Jitter*float64(want)) + 2*webhook.PollInterval
	if got < want-slack || got > want+slack {
		t.Errorf("%s after %v, want about %v", what, got, want)
	}
}
