package providertest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"penstock/internal/provider"
)

func waitCases(Dialect) []testCase {
	return []testCase{
		{"is announced when all chunks were returned", caseWaitAnnounced},
		{"an error ends the answer", caseWaitRefused},
		{"does not measure the caller", caseWaitForCaller},
		{"for an event in many parts is one", caseWaitForParts},
	}
}

// The upstream sends a frame only once the call has announced that it waits for the frame, with all frames before it returned.
func caseWaitAnnounced(t *testing.T, h Harness) {
	frames := h.Dialect.Stream.Answer
	announced := make([]chan struct{}, len(frames)+1)
	for i := range announced {
		announced[i] = make(chan struct{})
	}
	script := []Step{h.Dialect.streamHead()}
	for i, f := range frames {
		if i > 0 {
			script = append(script, Await(announced[i]))
		}
		script = append(script, Send(h.Dialect.onWire(f.Wire)))
	}
	p, _ := h.open(t, script...)
	call, returned := h.Dialect.call(h.Dialect.Stream), 0
	call.Timeouts = provider.Timeouts{Idle: waitLimit}
	call.Waiting = func() error {
		select {
		case <-announced[returned]:
		default:
			close(announced[returned])
		}
		return nil
	}
	answer, err := p.Call(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	for range frames {
		chunk, err := answer.Next()
		if err != nil {
			t.Fatalf("after %d of %d chunks: %v", returned, len(frames), err)
		}
		if !chunk.More && !chunk.Last {
			t.Errorf("chunk %d does not say that the wait behind it is announced", returned)
		}
		returned++
	}
}

func caseWaitRefused(t *testing.T, h Harness) {
	p, up := h.open(t, append(h.Dialect.play(h.Dialect.Stream.Answer[:2]), Hang())...)
	call := h.Dialect.call(h.Dialect.Stream)
	gone := errors.New("the caller is gone")
	call.Waiting = func() error { return gone }
	if g := callToEnd(t.Context(), p, call); !errors.Is(g.end, gone) {
		t.Errorf("ends with %v", g.end)
	}
	up.mustSeeClientGo(t)
}

// A caller that takes long to receive the chunks before a wait is not the upstream's fault.
func caseWaitForCaller(t *testing.T, h Harness) {
	p, _ := h.open(t, h.Dialect.play(h.Dialect.Stream.Answer)...)
	call := h.Dialect.call(h.Dialect.Stream)
	call.Timeouts = provider.Timeouts{Idle: 4 * short}
	call.Waiting = func() error {
		<-time.After(5 * short)
		return nil
	}
	mustCall(t, p, call)
}

// An upstream that sends a byte now and then, and no event, is idle.
func caseWaitForParts(t *testing.T, h Harness) {
	script := h.Dialect.play(h.Dialect.Stream.Answer[:2])
	if h.Dialect.Framing != nil { // a byte by itself begins no event: send the head of a large one
		script = append(script, Send(h.Dialect.onWire(h.Dialect.LargeFrame(strings.Repeat("x", 1<<10)).Wire)[:100]))
	}
	p, _ := h.open(t, append(script, Repeat(":", short/8))...)
	call := h.Dialect.call(h.Dialect.Stream)
	call.Timeouts = provider.Timeouts{Idle: short}
	mustTimeOut(t, callToEnd(t.Context(), p, call).end, provider.KindTimeout, "idle")
}
