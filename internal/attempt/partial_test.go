package attempt

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"penstock/internal/dialect"
	"penstock/internal/provider"
	"penstock/internal/telemetry"
)

// However a stream ends, what it used by then is on the attempt and in the metrics of its model, target and
// tenant.
func TestEveryEndIsMetered(t *testing.T) {
	t.Parallel()
	cut := &provider.Error{Kind: provider.KindTruncated, StatusCode: 200, Message: "cut"}
	for name, tt := range map[string]struct {
		reply   reply
		sink    sink
		output  string
		outcome string
	}{
		"complete":        {reply{chunks: []string{"Hello", " you"}, meta: knownUsage}, sink{}, "20", "ok"},
		"never reported":  {reply{chunks: []string{"Hello", " you"}, meta: unknownUsage}, sink{}, "3", "ok"},
		"truncated":       {reply{chunks: []string{"Hello", " you"}, meta: unknownUsage, broken: cut}, sink{}, "3", "failed"},
		"the caller left": {reply{chunks: []string{"Hello", " you"}, meta: unknownUsage}, sink{refuseFrom: 2, chunkErr: cut}, "3", "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tt.reply.seen = func(provider.Call) { time.Sleep(time.Second) }
				r := newRig(t, upstream{"ua": tt.reply})
				asked := task("a")
				asked.Stream = true
				slow := &pacedSink{tt.sink}
				out := r.Run(telemetry.WithIDs(t.Context(), telemetry.IDs{Tenant: "acme"}), asked, slow)
				if a := out.Attempts[0]; a.FirstTokenAt.Sub(a.StartedAt) != time.Second || a.Cost == 0 || a.Usage.InputTokens == 0 {
					t.Errorf("the attempt is %+v", a)
				}
				text := scraped(r.Metrics)
				for _, want := range []string{
					`penstock_tokens_total{class="output",model="fast",target="a"} ` + tt.output,
					`penstock_tenant_tokens_total{class="output",tenant="acme"} ` + tt.output,
					`penstock_tenant_attempts_total{outcome="` + tt.outcome + `",tenant="acme"} 1`,
					`penstock_attempt_first_token_seconds_sum{target="a"} 1`,
					`penstock_attempt_output_tokens_per_second_count{target="a"} 1`,
				} {
					if !strings.Contains(text, want+"\n") {
						t.Errorf("there is no %s in\n%s", want, text)
					}
				}
			})
		})
	}
}

// pacedSink takes a second for each chunk, so that a stream has a pace.
type pacedSink struct{ sink }

func (s *pacedSink) Chunk(c provider.Chunk) error {
	time.Sleep(time.Second)
	return s.sink.Chunk(c)
}

func scraped(m *telemetry.Metrics) string {
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

// A stream waits for its events without what asked for it, and is metered all the same.
func TestTheBodyOfAStreamIsLetGoOf(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{true, false} {
		r := newRig(t, upstream{"ua": {chunks: []string{"Hello", " you"}, meta: unknownUsage}})
		asked, into := task("a"), &sink{}
		asked.Stream = stream
		want := dialect.LikelyInput(asked.Body, dialect.Ranking{})
		run := r.Begin(t.Context(), &asked, into)
		if got := into.text.String(); got != "Hello" {
			t.Errorf("the caller has seen %q before the rest", got)
		}
		if kept := run.task.Body != nil; kept == stream {
			t.Errorf("stream %t: the body is kept: %t", stream, kept)
		}
		if asked.Body == nil {
			t.Error("the task of the caller was changed")
		}
		out := run.Finish(t.Context())
		if got := out.Usage.InputTokens; got != want || out.Err != nil || into.text.String() != "Hello you" {
			t.Errorf("stream %t: %d input tokens, want %d; %v; %q", stream, got, want, out.Err, into.text.String())
		}
	}
}
