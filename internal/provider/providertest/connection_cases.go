package providertest

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"penstock/internal/provider"
)

func connectionCases(Dialect) []testCase {
	return []testCase{
		{"cancelled before an answer", caseCancelBefore},
		{"cancelled in the answer", caseCancelDuring},
		{"closed in the answer", caseCloseDuring},
		{"a context that has ended", caseEndedContext},
		{"used again after plain answers", func(t *testing.T, h Harness) { caseReuse(t, h, h.Dialect.Plain) }},
		{"used again after streams", func(t *testing.T, h Harness) { caseReuse(t, h, h.Dialect.Stream) }},
		{"used again when the end comes late", caseReuseLateEnd},
		{"used again after errors", caseReuseAfterError},
		{"shared by concurrent calls", caseConcurrent},
		{"ended by the upstream while nobody used it", caseStale},
		{"ended by the upstream under a call", caseSentOnce},
	}
}

func caseCancelBefore(t *testing.T, h Harness) {
	p, up := h.open(t, Hang())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		select {
		case <-up.received:
		case <-up.closing:
		}
		cancel()
	}()
	e := mustFail(t, callToEnd(ctx, p, h.Dialect.call(h.Dialect.Plain)).end, provider.KindCancelled)
	if !errors.Is(e, context.Canceled) {
		t.Errorf("%v hides its cause", e)
	}
	up.mustSeeClientGo(t)
}

func caseCancelDuring(t *testing.T, h Harness) {
	tr := h.Dialect.Stream
	p, up := h.open(t, append(h.Dialect.play(tr.Answer[:1]), Hang())...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	answer, err := p.Call(ctx, h.Dialect.call(tr))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	if _, err := answer.Next(); err != nil {
		t.Fatal(err)
	}
	cancel()
	// The upstream must stop generating even if nobody reads on.
	up.mustSeeClientGo(t)
	_, err = answer.Next()
	first := mustFail(t, err, provider.KindCancelled)
	if _, err := answer.Next(); err != first {
		t.Errorf("the error does not stay: %v", err)
	}
}

func caseCloseDuring(t *testing.T, h Harness) {
	tr := h.Dialect.Stream
	p, up := h.open(t, append(h.Dialect.play(tr.Answer[:1]), Hang())...)
	answer, err := p.Call(t.Context(), h.Dialect.call(tr))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := answer.Close(); err != nil {
			t.Error(err)
		}
	}
	up.mustSeeClientGo(t)
	for range 2 {
		if _, err = answer.Next(); err != nil {
			break // the first chunk was read already and may still be given
		}
	}
	if err == nil || err == io.EOF {
		t.Errorf("a closed answer goes on or looks complete: %v", err)
	}
}

func caseEndedContext(t *testing.T, h Harness) {
	p, up := h.open(t, h.Dialect.play(h.Dialect.Stream.Answer)...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	mustFail(t, callToEnd(ctx, p, h.Dialect.call(h.Dialect.Stream)).end, provider.KindCancelled)
	if n := len(up.received); n > 0 {
		t.Error("the call was made all the same")
	}
}

// reuseCalls is how often a connection is used in the cases of reuse. A busy machine may cost one
// now and then, when the end of an answer is late, but never every time.
const reuseCalls = 20

func mustReuse(t *testing.T, up *Upstream, most int64) {
	t.Helper()
	if n := up.conns.Load(); n > most {
		t.Errorf("%d connections, want %d at most", n, most)
	}
}

func caseReuse(t *testing.T, h Harness, tr Transcript) {
	script := []Step{plainHead(), Send(tr.Answer[0].Wire)}
	if len(tr.Answer) > 1 {
		script = h.Dialect.play(tr.Answer)
	}
	p, up := h.open(t, script...)
	for range reuseCalls {
		mustCall(t, p, h.Dialect.call(tr))
	}
	mustReuse(t, up, reuseCalls/4)
}

// The terminator and the end of the body may come apart. An adapter that closes at the first throws away a
// good connection.
func caseReuseLateEnd(t *testing.T, h Harness) {
	tr := h.Dialect.Stream
	finished := make(chan struct{})
	p, up := h.open(t, append(h.Dialect.play(tr.Answer), Await(finished))...)
	for range reuseCalls {
		answer, err := p.Call(t.Context(), h.Dialect.call(tr))
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = answer.Next()
		}
		finished <- struct{}{}
		answer.Close()
	}
	mustReuse(t, up, reuseCalls/4)
}

func caseReuseAfterError(t *testing.T, h Harness) {
	f := h.Dialect.Failures[0]
	p, up := h.open(t, f.script()...)
	for range reuseCalls {
		mustFail(t, callToEnd(t.Context(), p, h.Dialect.call(h.Dialect.Plain)).end, f.Kind)
	}
	mustReuse(t, up, reuseCalls/4)
}

// An upstream may end a connection that nobody uses, at any time. The next call must not be the one to find out.
func caseStale(t *testing.T, h Harness) {
	for _, tr := range []Transcript{h.Dialect.Plain, h.Dialect.Stream} {
		script := []Step{plainHead(), Send(tr.Answer[0].Wire)}
		if len(tr.Answer) > 1 {
			script = h.Dialect.play(tr.Answer)
		}
		p, up := h.open(t, script...)
		const rounds = 3
		for range rounds {
			mustCall(t, p, h.Dialect.call(tr))
			up.leave(t)
		}
		if conns, calls := up.conns.Load(), up.calls.Load(); conns != rounds || calls != rounds {
			t.Errorf("%d connections and %d calls, want %d of each", conns, calls, rounds)
		}
	}
}

// Once a call was sent, the upstream may work on it, and charge: it is not sent again because the connection broke, not even
// on one that was used before.
func caseSentOnce(t *testing.T, h Harness) {
	tr := h.Dialect.Plain
	p, up := h.open(t, From(2, HangUp()), plainHead(), Send(tr.Answer[0].Wire))
	mustCall(t, p, h.Dialect.call(tr))
	up.mustIdle(t)
	mustFailInCall(t, callToEnd(t.Context(), p, h.Dialect.call(tr)), provider.KindNetwork)
	if n := up.calls.Load(); n != 2 {
		t.Errorf("the upstream saw %d calls, want 2", n)
	}
	mustReuse(t, up, 1)
}

func caseConcurrent(t *testing.T, h Harness) {
	const callers = 8
	tr := h.Dialect.Stream
	all := make(chan struct{})
	p, up := h.open(t, append([]Step{Await(all)}, h.Dialect.play(tr.Answer)...)...)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range reuseCalls {
				g := callToEnd(t.Context(), p, h.Dialect.call(tr))
				if g.end != io.EOF || g.wire() != (got{chunks: expected(tr.Answer)}).wire() {
					t.Errorf("answer %q, then %v", g.wire(), g.end)
				}
			}
		})
	}
	// Nobody is answered before all have asked, so that each has a connection and none is dialled while another becomes free.
	for range callers {
		up.request(t)
	}
	close(all)
	wg.Wait()
	mustReuse(t, up, 4*callers)
}
