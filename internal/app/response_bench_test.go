package app

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"penstock"
)

// BenchmarkResponse is a response that is stored, beside one that is not: the time to the first token, the time from the last token to the
// end of the answer, and the processor time of the whole call. The database is a file, and commits are flushed to it.
func BenchmarkResponse(b *testing.B) {
	question := strings.Repeat("What does a weir do? ", 2<<10/21)
	for _, stream := range []bool{true, false} {
		for _, store := range []bool{false, true} {
			for _, callers := range []int{1, 32} {
				b.Run(fmt.Sprintf("stream=%v/store=%v/callers=%d", stream, store, callers), func(b *testing.B) {
					benchmarkResponse(b, fmt.Appendf(nil, `{"model":"fast","stream":%v,"store":%v,"input":%q,"max_output_tokens":200}`, stream, store, question), callers)
				})
			}
		}
	}
}

func benchmarkResponse(b *testing.B, body []byte, callers int) {
	handler := openForBench(b, cannedUpstream(b, penstock.EndpointResponses, body), nil)
	var mu sync.Mutex
	var first, end []time.Duration
	began := processorTime(b)
	b.SetParallelism(max(1, callers/runtime.GOMAXPROCS(0)))
	call := func() {
		w := &timedAnswer{discard: discard{header: http.Header{}}, began: time.Now()}
		request := httptest.NewRequestWithContext(b.Context(), http.MethodPost, string(penstock.EndpointResponses), io.NopCloser(bytes.NewReader(body)))
		request.Header.Set("Authorization", "Bearer "+benchKey)
		request.ContentLength = int64(len(body))
		handler.ServeHTTP(w, request)
		if w.status != http.StatusOK {
			b.Errorf("answered with %d", w.status)
		}
		mu.Lock()
		defer mu.Unlock()
		first, end = append(first, w.first), append(end, time.Since(w.began)-w.flushed)
	}
	if callers == 1 {
		for b.Loop() {
			call()
		}
	} else {
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				call()
			}
		})
	}
	b.ReportMetric(float64(processorTime(b)-began)/float64(len(first)), "cpu-ns/op")
	for name, all := range map[string][]time.Duration{"first-us": first, "end-us": end} {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2])/1e3, name+"-p50")
		b.ReportMetric(float64(all[len(all)*99/100])/1e3, name+"-p99")
	}
}

// timedAnswer notes when an answer begins, and when the last part before its end is sent.
type timedAnswer struct {
	discard
	began          time.Time
	first, flushed time.Duration
}

func (t *timedAnswer) Write(p []byte) (int, error) {
	if t.first == 0 {
		t.first = time.Since(t.began)
	}
	return len(p), nil
}

func (t *timedAnswer) Flush() { t.flushed = time.Since(t.began) }
