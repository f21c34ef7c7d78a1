package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"penstock"
	"penstock/internal/provider"
	"penstock/internal/rest"
)

func TestBufferSizes(t *testing.T) {
	t.Parallel()
	for size, want := range map[int64]int64{
		0: leastBuffer, 1: leastBuffer, leastBuffer: leastBuffer, leastBuffer + 1: 2 * leastBuffer, 100 << 10: 128 << 10,
		mostBuffer: mostBuffer, mostBuffer + 1: mostBuffer + 1,
	} {
		b := newBuffer(size)
		if got := int64(len(b.bytes)); got != want || bufferSize(size) != want {
			t.Errorf("a buffer for %d bytes has %d, and %d are counted; want %d", size, got, bufferSize(size), want)
		}
		b.free()
	}
	if got := bufferClass(mostBuffer); got != bufferClasses-1 {
		t.Errorf("the largest buffers are of class %d, of %d", got, bufferClasses)
	}
	if first := newBuffer(10).first(3); cap(first) != 3 {
		t.Errorf("a body of 3 bytes has capacity for %d", cap(first))
	}
}

// checked is an answer that looks at its request as long as it may: until the answer is closed or, if it says that the request was
// sent, until it is there.
type checked struct {
	frames
	check func()
}

func (c *checked) Next() (provider.Chunk, error) {
	if !c.meta.Sent {
		c.check()
	}
	return c.frames.Next()
}

func (c *checked) Close() error {
	if !c.meta.Sent {
		c.check()
	}
	return nil
}

// Bodies share buffers one after the other, and never at the same time: no call sees bytes of another, whether it ends well, is a
// stream, fails on its first target, or loses its caller. The race detector sees a buffer that was given away too early.
func TestBodiesAreNotMixed(t *testing.T) {
	t.Parallel()
	r := newRig(t, penstock.EndpointChat)
	var mixed, answered atomic.Int64
	r.upstream.reply = func(ctx context.Context, call provider.Call) (provider.Answer, error) {
		text := string(call.Body)
		check := func() {
			if string(call.Body) != text || strings.Contains(text, "x") && strings.Contains(text, "z") {
				mixed.Add(1)
			}
		}
		check()
		if len(text)%5 == 0 {
			return nil, &provider.Error{Kind: provider.KindServer, Message: "down"}
		}
		meta := provider.Meta{StatusCode: http.StatusOK, ContentType: rest.TypeJSON, UsageKnown: true}
		wires := []string{`{}`}
		if call.Stream {
			meta.ContentType, meta.Sent, wires = rest.TypeSSE, len(text)%2 == 0, []string{"data: {}\n\n", "data: {}\n\n", "data: [DONE]\n\n"}
		}
		return &checked{frames{ctx: ctx, wires: wires, hangs: strings.Contains(text, "hang"), meta: meta}, check}, nil
	}
	var all sync.WaitGroup
	for who := range 8 {
		all.Go(func() {
			for n := range 40 {
				size := []int{10, 1000, 3000, 40_000, 100_000, 140_000, 300_000}[(who+n)%7] + n
				filler := []string{"x", "z"}[who%2]
				stream, user := n%3 == 0, "stay"
				if stream && n%2 == 0 {
					user = "hang" // until the caller leaves
				}
				text := fmt.Sprintf(`{"model":"fast","stream":%v,"user":%q,"messages":[],"_":"%s"}`, stream, user, strings.Repeat(filler, size))
				ctx, cancel := context.WithCancel(t.Context())
				req := r.request(http.MethodPost, "/v1/chat/completions", text).WithContext(ctx)
				resp, err := http.DefaultClient.Do(req)
				if err == nil {
					if user == "stay" {
						_, _ = io.Copy(io.Discard, resp.Body)
						answered.Add(1)
					}
					resp.Body.Close()
				}
				cancel()
			}
		})
	}
	all.Wait()
	if mixed.Load() > 0 || answered.Load() == 0 {
		t.Errorf("%d bodies were mixed, of %d calls that were answered", mixed.Load(), answered.Load())
	}
}
