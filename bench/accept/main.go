// Accept measures what it costs to be safe: the time from sending a job of 1 KiB to the 202 that says
// it is on stable storage, beside the time of a bare write and fsync on the same disk. Samples of both
// are taken in turns, so that a busy moment hits both alike.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const key = "psk_bench_7gq2xk9dmw4ztfv8hsb3rnj6cp"

func main() {
	samples := flag.Int("samples", 500, "samples of each kind")
	dir := flag.String("dir", "", "directory on the disk to measure (default: a temporary one)")
	silence := flag.Duration("silence", time.Millisecond, "latency of the simulated model: how long the machine rests between two samples")
	flag.Parse()
	if err := run(*samples, *dir, *silence); err != nil {
		fmt.Fprintln(os.Stderr, "bench accept:", err)
		os.Exit(1)
	}
}

func run(samples int, dir string, silence time.Duration) error {
	dir, err := os.MkdirTemp(dir, "penstock-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := start(dir)
	if err != nil {
		return err
	}
	defer s.stop()
	raw, err := os.Create(filepath.Join(dir, "raw"))
	if err != nil {
		return err
	}
	defer raw.Close()

	body := requestBody(silence)
	var fsyncs, accepts []time.Duration
	for i := range samples + samples/10 {
		f, err := timed(func() error { return rawCommit(raw, body) })
		if err != nil {
			return err
		}
		var job string
		a, err := timed(func() (err error) { job, err = s.submit(body); return err })
		if err != nil {
			return err
		}
		if err := s.wait(job); err != nil { // the next sample finds the server idle
			return err
		}
		if i >= samples/10 { // the first tenth warms up
			fsyncs, accepts = append(fsyncs, f), append(accepts, a)
		}
	}
	report(fsyncs, accepts)
	return nil
}

func timed(fn func() error) (time.Duration, error) {
	began := time.Now()
	err := fn()
	return time.Since(began), err
}

// rawCommit is the least that durability costs on this disk.
func rawCommit(f *os.File, body []byte) error {
	if _, err := f.Write(body); err != nil {
		return err
	}
	return f.Sync()
}

func requestBody(silence time.Duration) []byte {
	body, _ := json.Marshal(map[string]string{"model": "sim", "input": fmt.Sprintf("%s[sim:tokens=1 latency=%v]", strings.Repeat("weir ", 195), silence)})
	return body
}

func report(fsyncs, accepts []time.Duration) {
	f, a := summary(fsyncs), summary(accepts)
	fmt.Printf("%-28s %10s %10s %10s\n", "", "p50", "p90", "p99")
	fmt.Printf("%-28s %10v %10v %10v\n", "raw write + fsync, 1 KiB", f[0], f[1], f[2])
	fmt.Printf("%-28s %10v %10v %10v\n", "POST /v1/jobs → 202, 1 KiB", a[0], a[1], a[2])
	fmt.Printf("accept p50 is raw p50 + %v (at most 1ms is promised), ratio %.2f\n", a[0]-f[0], float64(a[0])/float64(f[0]))
}

func summary(d []time.Duration) [3]time.Duration {
	slices.Sort(d)
	at := func(q float64) time.Duration { return d[int(q*float64(len(d)-1))].Round(time.Microsecond) }
	return [3]time.Duration{at(0.5), at(0.9), at(0.99)}
}

// server is a Penstock under measurement: the real binary, the embedded default.
//
// It is asked over one connection, without a client library: goroutines that hand answers to each other would be
// measured as well.
type server struct {
	cmd     *exec.Cmd
	url     string
	conn    net.Conn
	answers *bufio.Reader
}

func start(dir string) (*server, error) {
	binary := filepath.Join(dir, "penstock")
	if out, err := exec.Command("go", "build", "-C", "..", "-o", binary, "./cmd/penstock").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building penstock: %w\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	_ = l.Close()
	s := &server{cmd: exec.Command(binary, "dev"), url: "http://" + address}
	s.cmd.Env = append(os.Environ(), "PENSTOCK_LISTEN="+address, "PENSTOCK_DATA="+filepath.Join(dir, "data"), "PENSTOCK_DEV_KEY="+key)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for range 200 {
		if resp, err := http.Get(s.url + "/readyz"); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return s, s.connect(address)
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.stop()
	return nil, fmt.Errorf("penstock did not become ready")
}

func (s *server) connect(address string) (err error) {
	if s.conn, err = net.Dial("tcp", address); err == nil {
		s.answers = bufio.NewReader(s.conn)
	}
	return err
}

func (s *server) stop() {
	if s.conn != nil {
		_ = s.conn.Close()
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
}

func (s *server) submit(body []byte) (string, error) {
	answer, err := s.call("POST", "/v1/jobs", "", body)
	if err != nil {
		return "", err
	}
	var job struct{ ID string }
	return job.ID, json.Unmarshal(answer, &job)
}

func (s *server) wait(job string) error {
	_, err := s.call("GET", "/v1/jobs/"+job, "wait=30", nil)
	return err
}

func (s *server) call(method, path, prefer string, body []byte) ([]byte, error) {
	req, err := http.NewRequest(method, s.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if prefer != "" {
		req.Header.Set("Prefer", prefer)
	}
	if err := req.Write(s.conn); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(s.answers, req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, answer)
	}
	return answer, err
}
