package cache

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"penstock/internal/provider"
)

// stepped is a call that says a part whenever it is told to.
type stepped struct {
	made  atomic.Int32
	parts chan string
	ended chan error // why its context ended
	err   error      // how it ends
}

func newStepped() *stepped { return &stepped{parts: make(chan string), ended: make(chan error, 1)} }

func (s *stepped) call(ctx context.Context, f *Flight) Result {
	s.made.Add(1)
	_ = f.Begin("main", provider.Meta{StatusCode: 200})
	for {
		select {
		case <-ctx.Done():
			s.ended <- ctx.Err()
			return Result{Err: ctx.Err()}
		case part, more := <-s.parts:
			if !more {
				return Result{Err: s.err}
			}
			if err := f.Chunk(provider.Chunk{Wire: []byte(part)}); err != nil {
				return Result{Err: err}
			}
		}
	}
}

// listener reads in a goroutine of its own.
type listener struct {
	reading *Reading
	got     collected
	done    chan error
}

func listen(ctx context.Context, c *Cache, a Ask) *listener {
	l := &listener{reading: c.Ask(ctx, a), done: make(chan error, 1)}
	go func() {
		defer l.reading.Close()
		l.done <- l.reading.Copy(ctx, &l.got)
	}()
	return l
}

// One call is made for all who ask the same at a time, and it outlives the one who began it.
func TestIdenticalCallsAreOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, up := newCache(mib), newStepped()
		ask := Ask{Key: keyOf(t, "a", `{}`), TTL: time.Minute, Call: up.call}
		ctx, leave := context.WithCancel(t.Context())
		first := listen(ctx, c, ask)
		up.parts <- "one "
		second := listen(t.Context(), c, ask)
		synctest.Wait()
		leave()
		if err := <-first.done; provider.AsError(err).Kind != provider.KindCancelled {
			t.Errorf("the one who left got %v", err)
		}
		up.parts <- "two "
		third := listen(t.Context(), c, ask)
		up.parts <- "three"
		close(up.parts)
		for _, l := range []*listener{second, third} {
			if err := <-l.done; err != nil || l.got.text.String() != "one two three" || l.reading.Source != Coalesced {
				t.Errorf("%s got %q, %v", l.reading.Source, l.got.text.String(), err)
			}
		}
		if n := up.made.Load(); n != 1 {
			t.Errorf("%d calls were made", n)
		}
		if source, _, _ := read(t.Context(), c, Ask{Key: ask.Key, TTL: time.Minute, Call: never(t)}); source != Hit {
			t.Errorf("afterwards it is a %s", source)
		}
	})
}

func TestTenantsDoNotJoinEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, up := newCache(mib), newStepped()
		ours := listen(t.Context(), c, Ask{Key: keyOf(t, "a", `{}`), TTL: time.Minute, Call: up.call})
		theirs := listen(t.Context(), c, Ask{Key: keyOf(t, "b", `{}`), TTL: time.Minute, Call: up.call})
		synctest.Wait()
		if n := up.made.Load(); n != 2 || theirs.reading.Source != Miss {
			t.Errorf("%d calls were made, the second was a %s", n, theirs.reading.Source)
		}
		close(up.parts)
		<-ours.done
		<-theirs.done
	})
}

func TestCallThatNobodyWaitsForIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, up := newCache(mib), newStepped()
		ask := Ask{Key: keyOf(t, "a", `{}`), TTL: time.Minute, Call: up.call}
		ctx, leave := context.WithCancel(t.Context())
		first, second := listen(ctx, c, ask), listen(ctx, c, ask)
		synctest.Wait()
		leave()
		<-first.done
		<-second.done
		if err := <-up.ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
		if source, text, err := read(t.Context(), c, Ask{Key: ask.Key, TTL: time.Minute, Call: says("fine")}); source != Miss || text != "fine" || err != nil {
			t.Errorf("a later caller got %s %q, %v", source, text, err)
		}
	})
}

// All who waited are told of a failure, behind what came before it, and none of them calls again.
func TestFailureIsEverybodys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, up := newCache(mib), newStepped()
		up.err = &provider.Error{Kind: provider.KindTruncated, Message: "it broke off"}
		ask := Ask{Key: keyOf(t, "a", `{}`), TTL: time.Minute, Call: up.call}
		all := []*listener{listen(t.Context(), c, ask), listen(t.Context(), c, ask), listen(t.Context(), c, ask)}
		up.parts <- "half"
		close(up.parts)
		for _, l := range all {
			if err := <-l.done; !errors.Is(err, up.err) || l.got.text.String() != "half" {
				t.Errorf("%s got %q, %v", l.reading.Source, l.got.text.String(), err)
			}
		}
		if n := up.made.Load(); n != 1 {
			t.Errorf("%d calls were made", n)
		}
	})
}

// A refreshed answer replaces an older one, also one that is still coming in.
func TestRefreshDoesNotJoin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, old := newCache(mib), newStepped()
		key := keyOf(t, "a", `{}`)
		first := listen(t.Context(), c, Ask{Key: key, TTL: time.Minute, Call: old.call})
		synctest.Wait()
		if source, text, _ := read(t.Context(), c, Ask{Key: key, TTL: time.Minute, Refresh: true, Call: says("new")}); source != Miss || text != "new" {
			t.Errorf("%s %q", source, text)
		}
		old.parts <- "old"
		close(old.parts)
		<-first.done
		if source, text, _ := read(t.Context(), c, Ask{Key: key, TTL: time.Minute, Call: never(t)}); source != Hit || text != "new" {
			t.Errorf("%s %q", source, text)
		}
	})
}

// slow is a sink that takes a part whenever it is told to.
type slow struct {
	collected
	step chan struct{}
}

func (s *slow) Chunk(part provider.Chunk) error {
	<-s.step
	return s.collected.Chunk(part)
}

// What is too large to be kept passes through all the same, and takes no more memory than its slowest reader is behind.
func TestLargeAnswersPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, up := newCache(mib), newStepped()
		ask := Ask{Key: keyOf(t, "a", `{}`), TTL: time.Minute, Call: up.call}
		reading, sink := c.Ask(t.Context(), ask), &slow{step: make(chan struct{})}
		done := make(chan error, 1)
		go func() { done <- reading.Copy(t.Context(), sink) }()
		part := strings.Repeat("x", 100*kib)
		const parts = 20
		sent := make(chan struct{})
		go func() {
			for range parts {
				up.parts <- part
			}
			close(up.parts)
			close(sent)
		}()
		synctest.Wait()
		select {
		case <-sent:
			t.Error("all of it was taken though nobody read")
		default:
		}
		if held := cap(reading.flight.buf); held > unreadBytes+4*len(part) {
			t.Errorf("%d bytes are held for a reader who does not read", held)
		}
		if late := c.Ask(t.Context(), Ask{Key: ask.Key, TTL: time.Minute, Call: says("mine")}); late.Source != Miss {
			t.Errorf("a later caller is %s", late.Source)
		} else {
			late.Close()
		}
		close(sink.step)
		if err := <-done; err != nil || sink.text.Len() != parts*len(part) {
			t.Errorf("got %d bytes, %v", sink.text.Len(), err)
		}
		reading.Close()
	})
}
