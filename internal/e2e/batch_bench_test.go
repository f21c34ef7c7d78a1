package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// BenchmarkResults reads all results of a job over HTTP, each of about 1 KiB. It is to be at least 50 MB/s.
func BenchmarkResults(b *testing.B) {
	s := stage(b).Server
	var lines strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&lines, `{"custom_id":"row-%d","body":{"model":"sim","messages":[{"role":"user","content":"bench %d [sim:tokens=110]"}]}}`+"\n", i, i)
	}
	a := s.Do(post("/v1/jobs", `{"input_file":"`+s.uploaded(lines.String())+`"}`))
	id := strings.TrimPrefix(a.Header.Get("Location"), "/v1/jobs/")
	var job batchJob
	Await(b, "the job to end", func() error {
		if job = readAs[batchJob](b, s.Do(get("/v1/jobs/"+id))); job.Status != "succeeded" {
			return fmt.Errorf("it is %+v", job)
		}
		return nil
	})
	for _, order := range []string{"completion", "input"} {
		b.Run(order, func(b *testing.B) {
			for b.Loop() {
				req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, s.URL+"/v1/jobs/"+id+"/results?order="+order, nil)
				if err != nil {
					b.Fatal(err)
				}
				req.Header.Set("Authorization", "Bearer "+Key)
				req.Header.Set("Accept-Encoding", "identity")
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				n, err := io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(n)
				b.ReportMetric(float64(n)/20_000, "B/row")
			}
		})
	}
}
