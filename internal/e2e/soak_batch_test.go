package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// envLines is how many lines the large batch has, instead of the few that a test run has time for. What depends
	// on the machine being quiet and the batch being large is judged only then.
	envLines = "PENSTOCK_SOAK_LINES"

	mostResident    = 250 << 20
	mostGrowth      = 1.15 // of resident memory, from the first tenth to the last
	leastShare      = 0.5  // of the synchronous gateway's calls a second
	mostStatusRatio = 2.0
	leastResults    = 50.0 // MB/s
	syncCallers     = 64   // as many as items run at a time
)

// TestLargeBatch runs a job over a large file on SQLite and looks at what it costs while it runs: memory, pace beside
// the synchronous gateway's, the status of large and small jobs, and the pace of its results.
func TestLargeBatch(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	if testing.Short() {
		t.Skip("runs thousands of items")
	}
	lines, strict := 5_000, false
	if text := os.Getenv(envLines); text != "" {
		var err error
		if lines, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s must be a whole number: %v", envLines, err)
		}
		strict = true
	} else {
		t.Parallel()
	}
	b := newLargeBatch(t, lines)
	perSecond := b.synchronous(map[bool]time.Duration{true: 10 * time.Second, false: time.Second}[strict])
	b.run()
	b.judgeRun(strict, perSecond)
	b.judgeResults(strict)
}

// largeBatch is a job over a file, and what was seen of it.
type largeBatch struct {
	*Server
	t     *testing.T
	lines int
	small string // a job of one item, which has ended
	large string

	took     time.Duration
	resident []int64 // while it ran, one for each percent that was done
	statuses map[string][]time.Duration
}

func newLargeBatch(t *testing.T, lines int) *largeBatch {
	t.Helper()
	sim := startSim(t, "--fast")
	address, path := FreeAddress(t), filepath.Join(t.TempDir(), "penstock.yaml")
	err := os.WriteFile(path, fmt.Appendf(nil, `
listen: %s
admin_listen: %s
data: %s
providers: {upstream: {kind: openai, base_url: %s/v1}}
targets: {one: {provider: upstream, upstream_model: sim-1, max_output_tokens: 100, price: {input: "1.00", output: "2.00"}}}
models: {fast: {targets: [one]}}
tenants: {acme: {keys: [{name: e2e, secret: "${E2E_KEY}"}]}}
`, address, FreeAddress(t), t.TempDir(), sim), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Process: Start(t, []string{"E2E_KEY=" + Key}, "serve", "--config", path), URL: "http://" + address}
	s.AwaitReady()
	b := &largeBatch{Server: s, t: t, lines: lines, statuses: map[string][]time.Duration{}}
	b.small = b.submit(`{"model":"fast","input":"Hi"}`)
	return b
}

// synchronous measures how many calls a second the gateway answers to callers who ask again at once.
func (b *largeBatch) synchronous(length time.Duration) (perSecond float64) {
	b.t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: syncCallers}}
	var served atomic.Int64
	var callers sync.WaitGroup
	began := time.Now()
	for range syncCallers {
		callers.Go(func() {
			for time.Since(began) < length {
				req, err := http.NewRequest(http.MethodPost, b.URL+"/v1/chat/completions", strings.NewReader(`{"model":"fast","messages":[{"role":"user","content":"1"}]}`))
				if err != nil {
					b.t.Error(err)
					return
				}
				req.Header.Set("Authorization", "Bearer "+Key)
				resp, err := client.Do(req)
				if err != nil {
					b.t.Error(err)
					return
				}
				_, err = io.Copy(io.Discard, resp.Body)
				if resp.Body.Close(); err == nil && resp.StatusCode == http.StatusOK {
					served.Add(1)
				}
			}
		})
	}
	callers.Wait()
	return float64(served.Load()) / time.Since(began).Seconds()
}

// submit makes a job and returns its id.
func (b *largeBatch) submit(body string) string {
	b.t.Helper()
	a := b.Do(post("/v1/jobs", body))
	if a.Status != http.StatusAccepted {
		b.t.Fatalf("submit: %d %s", a.Status, a.Body)
	}
	return strings.TrimPrefix(a.Header.Get("Location"), "/v1/jobs/")
}

// run takes the batch from its upload to its end.
func (b *largeBatch) run() {
	b.t.Helper()
	content, lines := io.Pipe()
	go func() {
		var page bytes.Buffer
		for i := range b.lines {
			fmt.Fprintf(&page, `{"custom_id":"row-%d","body":{"model":"fast","messages":[{"role":"user","content":"%d"}]}}`+"\n", i, i)
			if page.Len() > 64<<10 || i == b.lines-1 {
				if _, err := page.WriteTo(lines); err != nil {
					return // the upload was refused, which is told where its answer is read
				}
			}
		}
		_ = lines.Close()
	}()
	a, err := b.upload(content)
	var file struct{ ID string }
	if err != nil || a.Status != http.StatusOK || json.Unmarshal([]byte(a.Body), &file) != nil {
		b.t.Fatalf("upload: %d %s %v", a.Status, a.Body, err)
	}
	began := time.Now()
	b.large = b.submit(`{"input_file":"` + file.ID + `"}`)
	AwaitLong(b.t, "the batch to end", time.Hour, func() error {
		b.ask("small", b.small)
		job := b.ask("large", b.large)
		if percent := 100 * job.Counts.Succeeded / b.lines; percent >= len(b.resident) {
			now, _ := b.memory()
			b.resident = append(b.resident, now)
		}
		if job.Status != "succeeded" {
			return fmt.Errorf("it is %+v", job)
		}
		b.took = time.Since(began)
		return nil
	})
}

// ask reads the status of a job and notes how long that took.
func (b *largeBatch) ask(which, id string) batchJob {
	b.t.Helper()
	began := time.Now()
	a := b.Do(get("/v1/jobs/" + id))
	b.statuses[which] = append(b.statuses[which], time.Since(began))
	return decodeJob(b.t, a)
}

// memory is what of the server is resident now, and the most that ever was.
func (b *largeBatch) memory() (now, most int64) {
	b.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.cmd.Process.Pid))
	if err != nil {
		b.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		into := map[string]*int64{"VmRSS": &now, "VmHWM": &most}[name]
		if into == nil {
			continue
		}
		if _, err := fmt.Sscanf(value, "%d kB", into); err != nil {
			b.t.Fatal(err)
		}
		*into <<= 10
	}
	return now, most
}

func p99(of []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)*99/100]
}

func median(of []int64) int64 { return slices.Sorted(slices.Values(of))[len(of)/2] }

// judgeRun holds what was seen while the batch ran against what is promised. Memory is judged always: it does not
// depend on what else the machine does.
func (b *largeBatch) judgeRun(strict bool, perSecond float64) {
	b.t.Helper()
	job := decodeJob(b.t, b.Do(get("/v1/jobs/"+b.large)))
	if c := job.Counts; c.Succeeded != b.lines || c.Total != b.lines {
		b.t.Errorf("counts are %+v", c)
	}
	pace := float64(b.lines) / b.took.Seconds()
	small, large := p99(b.statuses["small"]), p99(b.statuses["large"])
	tenth := max(1, len(b.resident)/10)
	early, late := median(b.resident[min(tenth, len(b.resident)-1):min(2*tenth+1, len(b.resident))]), median(b.resident[len(b.resident)-tenth:])
	_, most := b.memory()
	b.t.Logf("%d lines in %v: %.0f items/s beside %.0f synchronous calls/s (%.0f %%)", b.lines, b.took.Round(time.Millisecond), pace, perSecond, 100*pace/perSecond)
	b.t.Logf("resident: %d MiB early, %d MiB late, %d MiB at the most; p99 of %d statuses: %v, of a job with one item %v",
		early>>20, late>>20, most>>20, len(b.statuses["large"]), large, small)
	if most > mostResident {
		b.t.Errorf("%d MiB were resident, at most %d MiB may be", most>>20, mostResident>>20)
	}
	if !strict {
		return
	}
	if float64(late) > mostGrowth*float64(early) {
		b.t.Errorf("resident memory grew from %d MiB to %d MiB", early>>20, late>>20)
	}
	if pace < leastShare*perSecond {
		b.t.Errorf("%.0f items/s are less than half of %.0f calls/s", pace, perSecond)
	}
	if float64(large) > mostStatusRatio*float64(small) {
		b.t.Errorf("the status of the batch takes %v, that of one item %v", large, small)
	}
}

// judgeResults reads all results in both orders, and the file that they were written to.
func (b *largeBatch) judgeResults(strict bool) {
	b.t.Helper()
	sizes := map[string]int64{}
	for _, order := range []string{"completion", "input"} {
		began := time.Now()
		size, rows := b.read("/v1/jobs/" + b.large + "/results?order=" + order)
		mbs := float64(size) / 1e6 / time.Since(began).Seconds()
		b.t.Logf("results in %s order: %.0f MB/s, %d bytes each", order, mbs, size/int64(rows))
		if rows != b.lines {
			b.t.Errorf("there are %d results in %s order, want %d", rows, order, b.lines)
		}
		if strict && mbs < leastResults {
			b.t.Errorf("results in %s order came at %.0f MB/s, want %.0f", order, mbs, leastResults)
		}
		sizes[order] = size
	}
	var link struct{ URL string }
	AwaitLong(b.t, "the results to be written", 10*time.Minute, func() error {
		a := b.Do(Call{Method: http.MethodPost, Path: "/v1/jobs/" + b.large + "/results/url"})
		if a.Status != http.StatusOK {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return json.Unmarshal([]byte(a.Body), &link)
	})
	if size, rows := b.read(strings.TrimPrefix(link.URL, b.URL)); size != sizes["input"] || rows != b.lines {
		b.t.Errorf("the file has %d bytes in %d rows, the results have %d", size, rows, sizes["input"])
	}
	if _, most := b.memory(); most > mostResident {
		b.t.Errorf("after reading, %d MiB were resident at the most", most>>20)
	}
}

// read reads lines as they are, without compression.
func (b *largeBatch) read(path string) (size int64, rows int) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.URL+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+Key)
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		b.t.Fatalf("%s answers %s", path, resp.Status)
	}
	part := make([]byte, 256<<10)
	for {
		n, err := resp.Body.Read(part)
		size, rows = size+int64(n), rows+bytes.Count(part[:n], []byte("\n"))
		if err == io.EOF {
			return size, rows
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
}
