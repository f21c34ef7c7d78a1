package providertest

import (
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/provider"
	"penstock/internal/sim"
)

// SimHarness ties an adapter to the simulated model server.
type SimHarness struct {
	// New makes the adapter under test, as in [Harness].
	New      func(t testing.TB, upstream Config) provider.Provider
	Endpoint penstock.Endpoint
	// Plain and Stream make a body that asks the given prompt. Stream is nil for an endpoint without
	// streams.
	Plain, Stream func(prompt string) string
	// HasText: answers carry generated text.
	HasText bool
	// NoLimits: the protocol does not report limits.
	NoLimits bool
	// NoModel: answers do not name their model.
	NoModel bool
}

// simKinds is what each of the simulator's failures must be taken for.
var simKinds = map[sim.Fault]provider.Kind{
	sim.FaultServerError:   provider.KindServer,
	sim.FaultOverloaded:    provider.KindOverloaded,
	sim.FaultRateLimit:     provider.KindRateLimited,
	sim.FaultQuota:         provider.KindSpendCap,
	sim.FaultFinal:         provider.KindFinal,
	sim.FaultBadRequest:    provider.KindRejected,
	sim.FaultContextLength: provider.KindContextTooLong,
	sim.FaultContentFilter: provider.KindContentBlocked,
	sim.FaultTooLarge:      provider.KindTooLarge,
	sim.FaultBodyTooLarge:  provider.KindTooLarge,
	sim.FaultForbidden:     provider.KindForbidden,
	sim.FaultAuth:          provider.KindAuth,
	sim.FaultNotFound:      provider.KindModelNotFound,
	sim.FaultErrorIn200:    provider.KindOverloaded,
	sim.FaultHang:          provider.KindTimeout,
}

// RunSim has the adapter call the simulator over real HTTP, which knows nothing of the adapter: where
// the two agree, both speak the protocol.
func RunSim(t *testing.T, h SimHarness) {
	t.Helper()
	bodies := map[string]func(string) string{"plain": h.Plain, "stream": h.Stream}
	for mode, body := range bodies {
		if body == nil {
			continue
		}
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			call := func(prompt string) provider.Call {
				c := h.call(body(prompt))
				c.Stream = mode == "stream"
				return c
			}
			t.Run("answer", func(t *testing.T) {
				t.Parallel()
				h.answer(t, call("Say something."))
			})
			for fault, kind := range simKinds {
				t.Run(string(fault), func(t *testing.T) {
					t.Parallel()
					h.fault(t, call(fmt.Sprintf("[sim:fault=%s]", fault)), kind)
				})
			}
		})
	}
	if h.Stream != nil {
		t.Run("broken streams", func(t *testing.T) {
			t.Parallel()
			h.brokenStreams(t)
		})
	}
}

const simTokens = 12

// open starts a simulator and an adapter that calls it.
func (h SimHarness) open(t *testing.T) provider.Provider {
	t.Helper()
	server, err := sim.New(sim.Config{
		APIKey: testKey, OutputTokens: simTokens, RequestsPerMinute: 600, Stall: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewServer(server)
	t.Cleanup(func() {
		server.Close()
		upstream.Close()
	})
	return h.New(t, Config{URL: upstream.URL, APIKey: testKey})
}

func (h SimHarness) call(body string) provider.Call {
	return provider.Call{
		Endpoint: h.Endpoint, Body: []byte(body), UpstreamModel: "sim-large",
		Timeouts: provider.Timeouts{Connect: waitLimit, FirstToken: waitLimit, Idle: waitLimit},
	}
}

func (h SimHarness) answer(t *testing.T, call provider.Call) {
	g := mustCall(t, h.open(t), call)
	if !g.meta.UsageKnown || g.meta.Usage.InputTokens == 0 || g.meta.UpstreamID == "" {
		t.Errorf("meta %+v", g.meta)
	}
	if words := len(strings.Fields(g.text())); h.HasText && (words != simTokens || g.meta.Usage.OutputTokens != simTokens) {
		t.Errorf("%d words and %d output tokens, want %d: %q", words, g.meta.Usage.OutputTokens, simTokens, g.text())
	}
	if r := g.meta.Limits.Requests; !h.NoLimits && (r.Limit != 600 || !r.HasRemaining) {
		t.Errorf("limits %+v", g.meta.Limits)
	}
	if !strings.Contains(g.wire(), "sim-large") && h.HasText && !h.NoModel {
		t.Errorf("the model was not replaced: %s", g.wire())
	}
}

func (h SimHarness) fault(t *testing.T, call provider.Call, kind provider.Kind) {
	if kind == provider.KindTimeout {
		call.Timeouts.FirstToken = short
	}
	e := mustFailInCall(t, callToEnd(t.Context(), h.open(t), call), kind)
	if kind == provider.KindRateLimited && e.RetryAfter != time.Second {
		t.Errorf("retry after %s", e.RetryAfter)
	}
}

// brokenStreams are good until some chunks were seen; a malformed chunk may be the first.
func (h SimHarness) brokenStreams(t *testing.T) {
	for fault, kind := range map[sim.Fault]provider.Kind{
		sim.FaultDisconnect:     provider.KindTruncated,
		sim.FaultMalformed:      provider.KindMalformed,
		sim.FaultErrorMidStream: provider.KindOverloaded,
		sim.FaultStall:          provider.KindTimeout,
	} {
		call := h.call(h.Stream(fmt.Sprintf("[sim:fault=%s]", fault)))
		call.Stream = true
		if kind == provider.KindTimeout {
			call.Timeouts.Idle = short
		}
		g := callToEnd(t.Context(), h.open(t), call)
		if (len(g.chunks) == 0 && fault != sim.FaultMalformed) || errors.Is(g.end, io.EOF) {
			t.Errorf("%s: %d chunks, then %v", fault, len(g.chunks), g.end)
		}
		mustFail(t, g.end, kind)
	}
}
