package providertest

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"penstock/internal/provider"
)

// short is a timeout that is meant to expire.
const short = 40 * time.Millisecond

func timeoutCases(Dialect) []testCase {
	return []testCase{
		{"connect", caseConnectTimeout},
		{"first token", caseFirstToken},
		{"idle", caseIdle},
		{"total", caseTotal},
		{"none expires in a good answer", caseInTime},
	}
}

// mustTimeOut checks the error of a phase that took too long: its message names the phase and how
// long it may take.
func mustTimeOut(t *testing.T, err error, kind provider.Kind, phase string) {
	t.Helper()
	e := mustFail(t, err, kind)
	if !strings.Contains(e.Message, phase) || !strings.Contains(e.Message, short.String()) {
		t.Errorf("message %q does not name the phase %q and its limit of %s", e.Message, phase, short)
	}
}

// A server that accepts and then says nothing never gets through a TLS handshake.
func caseConnectTimeout(t *testing.T, h Harness) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	p := h.New(t, Config{URL: "https://" + listener.Addr().String(), APIKey: testKey})
	call := h.Dialect.call(h.Dialect.Plain)
	call.Timeouts = provider.Timeouts{Connect: short, FirstToken: time.Hour, Idle: time.Hour}
	// Nothing was sent and nothing charged, so it is a failure to connect and not a timeout.
	mustTimeOut(t, callToEnd(t.Context(), p, call).end, provider.KindConnect, "connect")
}

func caseFirstToken(t *testing.T, h Harness) {
	scripts := map[string][]Step{
		"no answer":           {Hang()},
		"headers alone":       {h.Dialect.streamHead(), Hang()},
		"half an event":       {h.Dialect.streamHead(), Send(h.Dialect.onWire(h.Dialect.Stream.Answer[0].Wire)[:8]), Hang()},
		"half a plain answer": {plainHead(), Send(h.Dialect.Plain.Answer[0].Wire[:8]), Hang()},
	}
	if h.Dialect.Framing == nil {
		scripts["comments alone"] = []Step{h.Dialect.streamHead(), Repeat(": waiting\n\n", short/8)}
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := h.open(t, script...)
			call := h.Dialect.call(h.Dialect.Stream)
			call.Timeouts = provider.Timeouts{Connect: time.Hour, FirstToken: short, Idle: time.Hour}
			g := callToEnd(t.Context(), p, call)
			mustTimeOut(t, g.end, provider.KindTimeout, "first token")
			if len(g.chunks) > 0 {
				t.Errorf("the caller was given %q first", g.wire())
			}
		})
	}
}

func caseIdle(t *testing.T, h Harness) {
	p, up := h.open(t, append(h.Dialect.play(h.Dialect.Stream.Answer[:2]), Hang())...)
	call := h.Dialect.call(h.Dialect.Stream)
	call.Timeouts = provider.Timeouts{Connect: time.Hour, FirstToken: time.Hour, Idle: short}
	g := callToEnd(t.Context(), p, call)
	mustTimeOut(t, g.end, provider.KindTimeout, "idle")
	if len(g.chunks) == 0 {
		t.Error("the first chunk is lost")
	}
	up.mustSeeClientGo(t)
}

func caseTotal(t *testing.T, h Harness) {
	// A call before it has opened a connection, so that there is time for more than a handshake.
	answer := h.Dialect.play(h.Dialect.Stream.Answer)
	hangs := []Step{From(2, Hang()), From(2, Cut())}
	for name, script := range map[string][]Step{
		"before an answer": slices.Insert(slices.Clone(answer), 0, hangs...),
		"in the answer":    slices.Insert(slices.Clone(answer), 2, hangs...),
		"the caller's":     slices.Insert(slices.Clone(answer), 2, hangs...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, up := h.open(t, script...)
			mustCall(t, p, h.Dialect.call(h.Dialect.Stream))
			call, ctx := h.Dialect.call(h.Dialect.Stream), t.Context()
			if name == "the caller's" {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 2*short)
				defer cancel()
			} else {
				call.Deadline = time.Now().Add(2 * short)
			}
			e := mustFail(t, callToEnd(ctx, p, call).end, provider.KindTimeout)
			if !strings.Contains(e.Message, "total") || !errors.Is(e, context.DeadlineExceeded) {
				t.Errorf("%v does not say that the total expired", e)
			}
			up.mustSeeClientGo(t)
		})
	}
}

func caseInTime(t *testing.T, h Harness) {
	p, _ := h.open(t, h.Dialect.play(h.Dialect.Stream.Answer)...)
	call := h.Dialect.call(h.Dialect.Stream)
	call.Timeouts = provider.Timeouts{Connect: waitLimit, FirstToken: waitLimit, Idle: waitLimit}
	checkChunks(t, mustCall(t, p, call), expected(h.Dialect.Stream.Answer))
}
