package app

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/filter"
	"penstock/internal/sim"
)

// BenchmarkCall is one synchronous call from the handler down to the upstream's socket and into the database, with a
// key, limits, metering and metrics, without filters and with the trivial one. Its allocations are those of Penstock and its HTTP
// client: the HTTP server is left out, and the upstream answers without allocating.
func BenchmarkCall(b *testing.B) {
	for name, body := range map[string]string{
		"Plain":  `{"model":"fast","messages":[{"role":"user","content":%q}],"max_tokens":200}`,
		"Stream": `{"model":"fast","messages":[{"role":"user","content":%q}],"max_tokens":200,"stream":true}`,
	} {
		for _, size := range []int{1 << 10, 100 << 10} {
			b.Run(fmt.Sprintf("%s/%dKiB", name, size>>10), func(b *testing.B) {
				benchmarkCall(b, fmt.Appendf(nil, body, strings.Repeat("What does a weir do? ", size/21)), nil)
			})
			b.Run(fmt.Sprintf("%s/%dKiB/filtered", name, size>>10), func(b *testing.B) {
				chain, counter := filter.Counting()
				benchmarkCall(b, fmt.Appendf(nil, body, strings.Repeat("What does a weir do? ", size/21)), chain)
				if counts := counter.Counts(); counts.Inputs == 0 || counts.Chunks == 0 {
					b.Errorf("the filter counted %+v", counts)
				}
			})
		}
	}
}

// BenchmarkCallOfTwoVendors is a call to a model with targets of two vendors, by the policy of the model and on_incapable. Unless the
// model allows another vendor, Penstock has to know whether the first vendor can serve the call.
func BenchmarkCallOfTwoVendors(b *testing.B) {
	for _, policy := range []penstock.Policy{penstock.PolicyOrdered, penstock.PolicyWeighted} {
		for _, on := range []penstock.OnIncapable{penstock.IncapableSkip, penstock.IncapableSameVendor} {
			for _, size := range []int{1 << 10, 100 << 10} {
				b.Run(fmt.Sprintf("%s/%s/%dKiB", policy, on, size>>10), func(b *testing.B) {
					body := fmt.Appendf(nil, `{"model":"fast","messages":[{"role":"user","content":%q}],"max_tokens":200}`, strings.Repeat("What does a weir do? ", size/21))
					benchmarkCall(b, body, nil, func(f *config.File) {
						f.Providers["other"] = config.ProviderConfig{Kind: config.KindAnthropic, BaseURL: "http://127.0.0.1:1"}
						f.Targets["spare"] = config.TargetConfig{Provider: "other", UpstreamModel: "upstream-2", Price: f.Targets["main"].Price}
						model := config.ModelConfig{Targets: []string{"main", "spare"}, Policy: policy, OnIncapable: on}
						if policy == penstock.PolicyWeighted {
							model.Weights = map[string]int{"main": 1000, "spare": 1}
						}
						f.Models["fast"] = model
					})
				})
			}
		}
	}
}

func benchmarkCall(b *testing.B, body []byte, filters *filter.Chain, edit ...func(*config.File)) {
	handler := openForBench(b, cannedUpstream(b, penstock.EndpointChat, body), filters, edit...)
	request := httptest.NewRequest(http.MethodPost, string(penstock.EndpointChat), nil)
	request.Header.Set("Authorization", "Bearer "+benchKey)
	request.ContentLength = int64(len(body))
	read := bytes.NewReader(body)
	request.Body = io.NopCloser(read)
	w := &discard{header: http.Header{}}
	b.ReportAllocs()
	began := processorTime(b)
	for b.Loop() {
		read.Reset(body)
		clear(w.header)
		handler.ServeHTTP(w, request.Clone(b.Context()))
		if w.status != http.StatusOK {
			b.Fatalf("answered with %d", w.status)
		}
	}
	b.ReportMetric(float64(processorTime(b)-began)/float64(b.N), "cpu-ns/op")
}

// processorTime is the processor time of this process. On a busy machine it is a better measure than wall time.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

const benchKey = "psk_bench_7gq2xk9dmw4ztfv8hsb3rnj6cp"

// openForBench is the API of an app that is configured as in production. Only the recorder, the writer of responses and the limits
// of callers run behind it: without the limits' loop the calls that run as jobs are not counted, and every call is refused.
func openForBench(b *testing.B, upstream string, filters *filter.Chain, edit ...func(*config.File)) http.Handler {
	b.Helper()
	const many = 1_000_000_000
	file := config.File{
		Process:   config.Process{Data: b.TempDir(), Log: config.Log{Level: "warn"}},
		Providers: map[string]config.ProviderConfig{"up": {Kind: config.KindOpenAI, BaseURL: upstream}},
		Targets: map[string]config.TargetConfig{"main": {Provider: "up", UpstreamModel: "upstream-1",
			Price: config.Price{Input: "0.15", CachedInput: "0.075", Output: "0.60"}}},
		Models: map[string]config.ModelConfig{"fast": {Targets: []string{"main"}}},
		Tenants: map[string]config.TenantConfig{"search": {
			Limits: config.TenantLimits{RateLimits: config.RateLimits{RequestsPerMinute: many, InputTokensPerMinute: many, OutputTokensPerMinute: many, Concurrency: 1000}},
			Keys:   []config.KeyConfig{{Name: "app", Secret: config.NewSecret(benchKey), Scopes: penstock.Scopes}},
		}},
	}
	for _, e := range edit {
		e(&file)
	}
	snapshot, err := config.NewSnapshot(file)
	if err != nil {
		b.Fatal(err)
	}
	a := &app{Options: Options{Config: snapshot, Role: RoleAll, Log: io.Discard, Filters: filters}, live: config.NewLive(snapshot)}
	if err := a.open(b.Context()); err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(b.Context()))
	recorded, limited, kept := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() { recorded <- a.recorder.Run(ctx) }()
	go func() { limited <- a.scopes.Run(ctx) }()
	go func() { kept <- a.turns.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		if err := errors.Join(<-recorded, <-limited, <-kept, a.close()); err != nil {
			b.Error(err)
		}
	})
	return a.api.Handler()
}

// discard is a response writer that discards everything.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) Flush()                      {}

// It supports deadlines, as a connection does: without them, the server would allocate an error for every event.
func (d *discard) SetReadDeadline(time.Time) error  { return nil }
func (d *discard) SetWriteDeadline(time.Time) error { return nil }

// cannedUpstream answers every call with one recorded answer of the simulated upstream.
func cannedUpstream(b *testing.B, endpoint penstock.Endpoint, body []byte) (url string) {
	b.Helper()
	model, err := sim.New(sim.Config{Fast: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(model.Close)
	ask := httptest.NewRequest(http.MethodPost, string(endpoint), bytes.NewReader(bytes.ReplaceAll(body, []byte(`"stream":true`), []byte(`"stream":true,"stream_options":{"include_usage":true}`))))
	said := httptest.NewRecorder()
	model.ServeHTTP(said, ask)
	answer := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
		said.Header().Get("Content-Type"), said.Body.Len(), said.Body)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go answerCalls(conn, answer)
		}
	}()
	return "http://" + listener.Addr().String()
}

// answerCalls answers the calls on a connection until it is closed.
func answerCalls(conn net.Conn, answer []byte) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		length := 0
		for {
			line, err := in.ReadSlice('\n')
			if err != nil {
				return
			}
			if len(bytes.TrimSpace(line)) == 0 {
				break
			}
			if rest, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
				for _, digit := range bytes.TrimSpace(rest) {
					length = 10*length + int(digit-'0')
				}
			}
		}
		if _, err := in.Discard(length); err != nil {
			return
		}
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}
