package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"penstock/internal/signal"
)

const (
	// channel carries the messages between processes on one database.
	channel = "penstock"
	// maxPayload is the longest text that NOTIFY takes.
	maxPayload = 7999
	// pingEvery is how long the listening connection may be silent before it is asked whether it lives: a
	// network that drops packets would otherwise be mistaken for quiet neighbours.
	pingEvery = 15 * time.Second
	// pingTimeout is how long it may take to answer.
	pingTimeout = 5 * time.Second
)

// Wire carries signals by LISTEN and NOTIFY. It holds one connection while it listens and borrows one of
// the pool's for each send.
//
// A send is a transaction of its own: the server lets transactions that notify commit only one after the
// other, which accepts must never wait for. Its commit is not flushed: a message only says that something was
// committed before, and a server that crashes loses its listeners too.
type Wire struct {
	pool   *pgxpool.Pool
	origin string // tells our own messages from those of others
}

var _ signal.Wire = (*Wire)(nil)

// Wire returns the engine's wire to other processes on the same database.
func (e *Engine) Wire() *Wire { return &Wire{pool: e.pool, origin: rand.Text()[:12]} }

const sendSQL = `SELECT pg_notify($1, m) FROM unnest($2::text[]) AS m, (SELECT set_config('synchronous_commit', 'off', true)) AS relaxed`

// Send implements signal.Wire.
func (w *Wire) Send(ctx context.Context, messages []signal.Message) error {
	payloads := make([]string, len(messages))
	for i, m := range messages {
		payloads[i] = encode(w.origin, m)
	}
	if _, err := w.pool.Exec(ctx, sendSQL, channel, payloads); err != nil {
		return fmt.Errorf("notifying: %w", err)
	}
	return nil
}

// Listen implements signal.Wire.
func (w *Wire) Listen(ctx context.Context, r signal.Receiver) error {
	conn, err := pgx.ConnectConfig(ctx, w.pool.Config().ConnConfig)
	if err != nil {
		return fmt.Errorf("connecting to listen: %w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx) // nothing is lost with it
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return fmt.Errorf("beginning to listen: %w", err)
	}
	r.Connected()
	for {
		payload, err := next(ctx, conn)
		if err != nil {
			return fmt.Errorf("listening: %w", err)
		}
		if m, ok := decode(w.origin, payload); ok {
			r.Receive(m)
		}
	}
}

// next waits for a notification, however long it takes, and makes sure that it could come.
func next(ctx context.Context, conn *pgx.Conn) (string, error) {
	for {
		quiet, cancel := context.WithTimeout(ctx, pingEvery)
		n, err := conn.WaitForNotification(quiet)
		cancel()
		if err == nil {
			return n.Payload, nil
		}
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return "", err
		}
		ping, cancel := context.WithTimeout(ctx, pingTimeout)
		err = conn.Ping(ping)
		cancel()
		if err != nil {
			return "", err
		}
	}
}

// encode writes a message as words: its sender, its topic, its keys. Keys that do not fit make way for
// "look at everything".
func encode(origin string, m signal.Message) string {
	words := append([]string{origin, m.Topic}, m.Keys...)
	if text := strings.Join(words, " "); len(text) <= maxPayload {
		return text
	}
	return origin + " " + m.Topic
}

// decode reads a message. Our own, and what is none, are not for us.
func decode(origin, payload string) (signal.Message, bool) {
	words := strings.Fields(payload)
	if len(words) < 2 || words[0] == origin {
		return signal.Message{}, false
	}
	return signal.Message{Topic: words[1], Keys: words[2:]}, true
}
