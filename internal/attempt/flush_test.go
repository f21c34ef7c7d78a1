package attempt

import (
	"errors"
	"strings"
	"testing"
	"time"

	"penstock/internal/config"
	"penstock/internal/provider"
)

// keeping is a sink that keeps chunks back until it is flushed.
type keeping struct {
	sink
	seen     []string
	flushErr error
}

func (k *keeping) Begin(target string, meta provider.Meta) error {
	k.seen = append(k.seen, "begin")
	return k.sink.Begin(target, meta)
}

func (k *keeping) Chunk(c provider.Chunk) error {
	k.seen = append(k.seen, string(c.Wire))
	return k.sink.Chunk(c)
}

func (k *keeping) Flush() error {
	k.seen = append(k.seen, "flush")
	return k.flushErr
}

// A sink that keeps chunks back is flushed before the next chunk is waited for. If it cannot send them, its error ends the answer,
// unless the target has the rest of a stream read for its usage.
func TestSinksAreFlushedBeforeAWait(t *testing.T) {
	t.Parallel()
	broken, blocked := errors.New("broken pipe"), &provider.Error{Kind: provider.KindMemory, Message: "There is no memory."}
	drains := editTarget("a", func(c *config.TargetConfig) {
		c.OnDisconnect, c.Timeouts.Drain = config.DisconnectDrain, time.Minute
	})
	for name, tt := range map[string]struct {
		plain    bool
		flushErr error
		edit     []func(*config.File)
		want     string
		kind     provider.Kind
	}{
		"a stream":                       {want: "begin one flush two flush"},
		"a plain answer":                 {plain: true, want: "begin one two"},
		"the caller left":                {flushErr: broken, want: "begin one flush", kind: provider.KindCancelled},
		"the sink says why":              {flushErr: blocked, want: "begin one flush", kind: provider.KindMemory},
		"the caller left, and it drains": {flushErr: broken, edit: []func(*config.File){drains}, want: "begin one flush", kind: provider.KindCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, upstream{"ua": {chunks: []string{"one", "two"}, waits: true, meta: knownUsage}}, tt.edit...)
			task := task("a")
			task.Stream, task.Tenant = !tt.plain, "acme"
			k := &keeping{flushErr: tt.flushErr}
			out := r.Run(t.Context(), task, k)
			if seen := strings.Join(k.seen, " "); seen != tt.want {
				t.Errorf("the sink saw %q, want %q", seen, tt.want)
			}
			if kind := kindOf(t, out); kind != tt.kind {
				t.Errorf("it ended as %q (%v), want %q", kind, out.Err, tt.kind)
			}
		})
	}
}
