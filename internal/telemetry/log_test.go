package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"penstock"
)

const testParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// record logs once and returns what was written, without time and level.
func record(t *testing.T, write func(*slog.Logger)) map[string]any {
	t.Helper()
	var buf bytes.Buffer
	write(NewLogger(&buf, LogConfig{}))
	got := map[string]any{}
	if err := json.Unmarshal(buf.Bytes(), &got); err != nil {
		t.Fatalf("%v in %q", err, buf.String())
	}
	delete(got, "time")
	delete(got, "level")
	return got
}

func TestLoggerAddsIDs(t *testing.T) {
	t.Parallel()
	all := WithIDs(t.Context(), IDs{testRequest, testJob, testItem, testAttempt, "search"})
	all = WithTraceParent(all, testParent)
	ids := map[string]any{
		"request_id": "req_" + testRequest, "job_id": "job_" + testJob, "item_id": "item_" + testItem,
		"attempt_id": "att_" + testAttempt, "tenant": "search",
		"trace_id": "0af7651916cd43dd8448eb211c80319c", "span_id": "b7ad6b7169203331",
	}
	with := func(extra map[string]any) map[string]any {
		for k, v := range ids {
			if _, ok := extra[k]; !ok {
				extra[k] = v
			}
		}
		return extra
	}
	tests := []struct {
		name  string
		write func(*slog.Logger)
		want  map[string]any
	}{
		{"none", func(l *slog.Logger) { l.InfoContext(t.Context(), "m", "a", 1) },
			map[string]any{"msg": "m", "a": 1.0}},
		{"some", func(l *slog.Logger) { l.InfoContext(WithIDs(t.Context(), IDs{Job: testJob}), "m") },
			map[string]any{"msg": "m", "job_id": "job_" + testJob}},
		{"all", func(l *slog.Logger) { l.InfoContext(all, "m", "a", 1) },
			with(map[string]any{"msg": "m", "a": 1.0})},
		{"attributes", func(l *slog.Logger) { l.With("a", 1).InfoContext(all, "m", "b", 2) },
			with(map[string]any{"msg": "m", "a": 1.0, "b": 2.0})},
		{"groups", func(l *slog.Logger) {
			l.With("a", 1).WithGroup("g").With("b", 2).WithGroup("h").InfoContext(all, "m", "c", 3)
		}, with(map[string]any{"msg": "m", "a": 1.0,
			"g": map[string]any{"b": 2.0, "h": map[string]any{"c": 3.0}}})},
		{"empty group name", func(l *slog.Logger) { l.WithGroup("").InfoContext(all, "m", "a", 1) },
			with(map[string]any{"msg": "m", "a": 1.0})},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, record(t, test.write)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLoggerBranchesDoNotMix(t *testing.T) {
	t.Parallel()
	ctx := WithIDs(t.Context(), IDs{Job: testJob})
	got := record(t, func(l *slog.Logger) {
		trunk := l.WithGroup("g").With("a", 1).With("b", 2)
		left := trunk.With("left", true)
		_ = trunk.With("right", true)
		left.InfoContext(ctx, "m")
	})
	want := map[string]any{"msg": "m", "job_id": "job_" + testJob,
		"g": map[string]any{"a": 1.0, "b": 2.0, "left": true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A handler that fans out passes one record on several times, so handling it must not change it.
func TestLoggerLeavesTheRecordAlone(t *testing.T) {
	t.Parallel()
	ctx := WithIDs(t.Context(), IDs{Job: testJob})
	r := slog.NewRecord(time.Time{}, slog.LevelInfo, "m", 0)
	want := map[string]any{"msg": "m", "job_id": "job_" + testJob}
	for _, key := range strings.Split("abcdefgh", "") { // one by one, past what a record holds inline
		r.AddAttrs(slog.String(key, key))
		want[key] = key
	}
	for range 2 {
		got := record(t, func(l *slog.Logger) {
			if err := l.Handler().Handle(ctx, r); err != nil {
				t.Error(err)
			}
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestLoggerConfig(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		cfg  LogConfig
		want string // "" when nothing is written
	}{
		{"zero value is JSON", LogConfig{}, `"msg":"m"`},
		{"json", LogConfig{Format: LogJSON}, `"msg":"m"`},
		{"text", LogConfig{Format: LogText}, `msg=m`},
		{"below the level", LogConfig{Level: slog.LevelWarn}, ""},
		{"at the level", LogConfig{Level: slog.LevelDebug}, `"msg":"m"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var buf bytes.Buffer
			NewLogger(&buf, test.cfg).Info("m")
			if !strings.Contains(buf.String(), test.want) || (test.want == "") != (buf.Len() == 0) {
				t.Errorf("wrote %q, want %q in it", buf.String(), test.want)
			}
		})
	}
}

func TestLoggerWithholdsPayloads(t *testing.T) {
	t.Parallel()
	const secret = "the prompt"
	type private struct{ Text string }
	tests := []struct {
		name  string
		value any
		want  any
	}{
		{"bytes", []byte(secret), "[10 bytes withheld]"},
		{"array of bytes", [3]byte{1, 2, 3}, "[3 bytes withheld]"},
		{"raw JSON", json.RawMessage(`{"a":"the prompt"}`), "[18 bytes withheld]"},
		{"raw JSON that has a String method", jsontext.Value(`"the prompt"`), "[12 bytes withheld]"},
		{"item", penstock.Item{Result: []byte(secret)}, "[penstock.Item withheld]"},
		{"pointer to an item", &penstock.Item{Result: []byte(secret)}, "[*penstock.Item withheld]"},
		{"list of structures", []private{{secret}}, "[[]telemetry.private withheld]"},
		{"map", map[string]string{"a": secret}, "[map[string]string withheld]"},

		{"nil", nil, nil},
		{"string", "text", "text"},
		{"named string", penstock.CodePoison, "poison"},
		{"named number", penstock.Rate(7), 7.0},
		{"list of strings", []string{"a", "b"}, []any{"a", "b"}},
		{"duration", time.Second, 1e9},
		{"error", errors.New("oops"), "oops"},
		{"our error", penstock.Errorf(penstock.CodeGone, "It is gone."), "gone: It is gone."},
		{"shown by MarshalText", penstock.NanoUSD(41200), "0.000041200"},
		{"shown by String", netip.MustParseAddr("127.0.0.1"), "127.0.0.1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := record(t, func(l *slog.Logger) { l.Info("m", "v", test.value) })
			if diff := cmp.Diff(map[string]any{"msg": "m", "v": test.want}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLoggerAllocatesNothingWithoutIDs(t *testing.T) {
	skipUnderRace(t)
	logger := NewLogger(io.Discard, LogConfig{})
	ctx := context.Background()
	for name, log := range map[string]func(){
		"written":    func() { logger.InfoContext(ctx, "m") },
		"not":        func() { logger.DebugContext(ctx, "m") },
		"adding ids": func() { WithIDs(ctx, IDs{}) },
	} {
		if n := testing.AllocsPerRun(100, log); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkLogger(b *testing.B) {
	logger := NewLogger(io.Discard, LogConfig{})
	all := WithTraceParent(WithIDs(context.Background(),
		IDs{testRequest, testJob, testItem, testAttempt, "search"}), testParent)
	for name, ctx := range map[string]context.Context{"none": context.Background(), "all": all} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				logger.InfoContext(ctx, "item finished", "status", "succeeded")
			}
		})
	}
}
