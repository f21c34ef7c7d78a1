package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"penstock/internal/signal"
	"penstock/internal/store/postgres"
	"penstock/internal/store/postgres/pgtest"
)

// listener is one process on the wire.
type listener struct {
	t         *testing.T
	wire      *postgres.Wire
	connected chan struct{}
	heard     chan signal.Message
	ended     chan error
}

func newListener(t *testing.T, url string) *listener {
	t.Helper()
	engine, err := postgres.Open(t.Context(), postgres.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	s := &listener{t: t, wire: engine.Wire(), connected: make(chan struct{}, 1), heard: make(chan signal.Message, 100), ended: make(chan error, 1)}
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		s.ended <- s.wire.Listen(ctx, signal.Receiver{
			Connected: func() { s.connected <- struct{}{} }, Receive: func(m signal.Message) { s.heard <- m },
		})
		close(s.ended)
	}()
	t.Cleanup(func() {
		stop()
		for range s.ended { // until it is closed
		}
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	await(t, "the connection", s.connected)
	return s
}

func await[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(30 * time.Second):
		t.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

func (s *listener) send(messages ...signal.Message) {
	s.t.Helper()
	if err := s.wire.Send(s.t.Context(), messages); err != nil {
		s.t.Fatal(err)
	}
}

func TestWireCarriesMessagesToOthers(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	a, b, c := newListener(t, url), newListener(t, url), newListener(t, url)
	var many []string
	for i := range signal.MaxKeys {
		many = append(many, fmt.Sprintf("%026d", i))
	}
	a.send(signal.Message{Topic: signal.Work}, signal.Message{Topic: signal.Jobs, Keys: many})
	for _, s := range []*listener{b, c} {
		if m := await(t, "a message", s.heard); m.Topic != signal.Work || len(m.Keys) != 0 {
			t.Errorf("heard %+v, want work", m)
		}
		if m := await(t, "a message", s.heard); m.Topic != signal.Jobs || !slices.Equal(m.Keys, many) {
			t.Errorf("heard %s with %d keys, want job with all %d", m.Topic, len(m.Keys), len(many))
		}
	}
	b.send(signal.Message{Topic: signal.Cancels})
	if m := await(t, "a message", a.heard); m.Topic != signal.Cancels {
		t.Errorf("heard %+v, want the cancel and nothing of its own", m)
	}
}

// More than the server takes in one message must not be an error: the others look at everything instead.
func TestWireSendsALookForWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	a, b := newListener(t, url), newListener(t, url)
	a.send(signal.Message{Topic: signal.Jobs, Keys: slices.Repeat([]string{"01JQ0000000000000000000000"}, 1000)})
	if m := await(t, "a message", b.heard); m.Topic != signal.Jobs || len(m.Keys) != 0 {
		t.Errorf("heard %s with %d keys, want a look", m.Topic, len(m.Keys))
	}
}

func TestWireNoticesThatItsConnectionIsGone(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := newListener(t, url)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()`); err != nil {
		t.Fatal(err)
	}
	if err := await(t, "the end of listening", s.ended); err == nil {
		t.Error("listening ended without an error")
	}
}
