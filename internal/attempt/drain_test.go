package attempt

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/provider"
)

// tap is an upstream whose answer tells what it used at its end, as those of chat completions do.
type tap struct {
	before time.Duration // until the first chunk
	chunks int           // -1: without end
	bytes  int           // of each
	pause  time.Duration // between two
	calls  int
}

func (p *tap) Provider(string) (provider.Provider, bool) { return p, true }

func (p *tap) Speaks(penstock.Endpoint) bool { return true }

func (p *tap) Call(ctx context.Context, _ provider.Call) (provider.Answer, error) {
	p.calls++
	if err := rest(ctx, p.before); err != nil {
		return nil, err
	}
	return &stream{tap: p, ctx: ctx, left: p.chunks}, nil
}

func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ended(ctx)
	case <-time.After(d):
		return nil
	}
}

type stream struct {
	*tap
	ctx  context.Context
	left int
	read int
	meta provider.Meta
}

func (s *stream) Next() (provider.Chunk, error) {
	if s.left == 0 {
		s.meta = knownUsage
		return provider.Chunk{}, io.EOF
	}
	if s.read > 0 {
		if err := rest(s.ctx, s.pause); err != nil {
			return provider.Chunk{}, err
		}
	}
	s.left--
	s.read++
	return provider.Chunk{Wire: make([]byte, s.bytes), Text: "four"}, nil
}

func (s *stream) Meta() provider.Meta {
	meta := s.meta
	meta.StatusCode = 200
	return meta
}

func (s *stream) Close() error { return nil }

// reader takes chunks until it leaves: its context ends, and later a write to it fails.
type reader struct {
	leave context.CancelFunc
	after int // chunks that it takes
	taken int
}

func (r *reader) Begin(string, provider.Meta) error { return nil }

func (r *reader) Chunk(provider.Chunk) error {
	if r.taken >= r.after {
		return errors.New("broken pipe")
	}
	if r.taken++; r.taken == r.after {
		r.leave()
	}
	return nil
}

// A stream whose caller left is read to its end, so that what it used is known; or closed, where its target says
// so, it is no call that somebody waits for, or that takes too long.
func TestDrain(t *testing.T) {
	t.Parallel()
	const drainTimeout = 10 * time.Second
	cancelled := provider.KindCancelled
	for name, tt := range map[string]struct {
		tap   tap
		leave int           // after so many chunks
		soon  time.Duration // or after a time
		edit  func(*config.TargetConfig)
		item  bool // it is of a job

		kind  provider.Kind
		known bool
		took  time.Duration
	}{
		"read to its end":           {tap: tap{chunks: 5, pause: time.Second}, leave: 2, kind: cancelled, known: true, took: 4 * time.Second},
		"left with the last chunk":  {tap: tap{chunks: 5, pause: time.Second}, leave: 5, known: true, took: 4 * time.Second},
		"never left":                {tap: tap{chunks: 5, pause: time.Second}, leave: 9, known: true, took: 4 * time.Second},
		"takes too long":            {tap: tap{chunks: 50, pause: time.Second}, leave: 2, kind: cancelled, took: time.Second + drainTimeout},
		"says nothing more":         {tap: tap{chunks: 5, pause: time.Hour}, leave: 1, kind: cancelled, took: drainTimeout},
		"says too much":             {tap: tap{chunks: -1, bytes: 1 << 20, pause: time.Millisecond}, leave: 1, kind: cancelled, took: 17 * time.Millisecond},
		"left before it began":      {tap: tap{chunks: 5, before: time.Minute}, soon: time.Second, kind: cancelled, took: time.Second},
		"the target says to cancel": {tap: tap{chunks: 5, pause: time.Second}, leave: 2, edit: func(c *config.TargetConfig) { c.OnDisconnect = config.DisconnectCancel }, kind: cancelled, took: time.Second},
		"an item that was stopped":  {tap: tap{chunks: 5, pause: time.Second}, leave: 2, item: true, kind: cancelled, took: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil, editTarget("a", func(c *config.TargetConfig) {
					c.OnDisconnect, c.Timeouts.Drain = config.DisconnectDrain, drainTimeout
					if tt.edit != nil {
						tt.edit(c)
					}
				}))
				if tt.tap.bytes == 0 {
					tt.tap.bytes = 4
				}
				r.Providers = &tt.tap
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				if tt.soon > 0 {
					time.AfterFunc(tt.soon, leave)
				}
				task := task("a", "b")
				task.Stream, task.Tenant = true, "acme"
				if tt.item {
					task.Tenant = ""
				}
				began := time.Now()
				out := r.Run(ctx, task, &reader{leave: leave, after: tt.leave})
				if kind := kindOf(t, out); kind != tt.kind || tt.tap.calls != 1 {
					t.Errorf("it ended as %q after %d calls (%v), want %q", kind, tt.tap.calls, out.Err, tt.kind)
				}
				if took := time.Since(began); took != tt.took {
					t.Errorf("it took %v, want %v", took, tt.took)
				}
				last := out.Attempts[0]
				if last.UsageKnown != tt.known || (out.Forfeit == 0) != tt.known || tt.known && last.Usage != knownUsage.Usage {
					t.Errorf("used %+v (known: %v), forfeit %v", last.Usage, last.UsageKnown, out.Forfeit)
				}
				synctest.Wait()
			})
		})
	}
}
