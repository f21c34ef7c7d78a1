package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a server under measurement.
type process struct {
	name    string
	address string // host and port that calls go to
	admin   string // those of administration, "" for none
	cmd     *exec.Cmd
}

// start runs a command whose first line of output holds the URLs that it serves.
func start(name string, cmd *exec.Cmd) (*process, error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{name: name, cmd: cmd}
	in := bufio.NewReader(out)
	line, err := in.ReadString('\n')
	go func() { _, _ = io.Copy(io.Discard, in) }() // ends with the process
	addresses := urlHosts.FindAllStringSubmatch(line, 2)
	if len(addresses) == 0 {
		p.stop()
		return nil, fmt.Errorf("%s said %q instead of where it listens: %w", name, line, err)
	}
	p.address = addresses[0][1]
	if len(addresses) > 1 {
		p.admin = addresses[1][1]
	}
	return p, nil
}

// urlHosts finds the hosts and ports of URLs.
var urlHosts = regexp.MustCompile(`https?://([^/\s,]+)`)

func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait()
}

// clockTick is the unit of processor time in /proc, the same on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// cpu is the processor time that the process has used, in user and in system mode.
func (p *process) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name before it may hold anything
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("%s: its stat has only %d fields", p.name, len(fields))
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * clockTick, errors.Join(err, err2)
}

// peakMemory is the most memory that the process had resident, in MiB.
func (p *process) peakMemory() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(text), "VmHWM:")
	fields := strings.Fields(rest)
	if !found || len(fields) == 0 {
		return 0, fmt.Errorf("%s: its status has no VmHWM", p.name)
	}
	kib, err := strconv.ParseFloat(fields[0], 64)
	return kib / 1024, err
}

// self is this program in another role.
func self(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "/proc/self/exe", args...)
}

// generate runs a load in a process of its own.
func generate(ctx context.Context, l load) (report, error) {
	text, err := json.Marshal(l)
	if err != nil {
		return report{}, err
	}
	cmd := self(ctx, "load", string(text))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return report{}, fmt.Errorf("generating load: %w", err)
	}
	var r report
	if err := json.Unmarshal(out, &r); err != nil {
		return report{}, fmt.Errorf("reading the generator's report: %w", err)
	}
	return r, r.err()
}

// build compiles Penstock, unless there is a binary to be measured.
func build(o options, dir string) (string, error) {
	if o.binary != "" {
		return filepath.Abs(o.binary)
	}
	binary := filepath.Join(dir, "penstock")
	if out, err := exec.Command("go", "build", "-C", "..", "-trimpath", "-o", binary, "./cmd/penstock").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building penstock: %w\n%s", err, out)
	}
	return binary, nil
}

const (
	key      = "psk_bench_7gq2xk9dmw4ztfv8hsb3rnj6cp"
	adminKey = "psk_admin_7gq2xk9dmw4ztfv8hsb3rnj6cp"
)

// settings configure Penstock as in production: a key, limits of every kind on the tenant that it belongs to, a price,
// records in the database. The limits are high: what is measured is what it costs to keep them.
const settings = `listen: 127.0.0.1:0
admin_listen: 127.0.0.1:0
admin: {key: "${BENCH_ADMIN}"}
data: %s
log: {level: warn}
providers:
  upstream: {kind: openai, base_url: "%s", api_key: "${BENCH_UPSTREAM}"}
targets:
  upstream:
    provider: upstream
    upstream_model: sim-fast
    limits: {concurrency: 20000}
    price: {input: "0.15", cached_input: "0.075", output: "0.60"}
models:
  fast: {policy: ordered, targets: [upstream]}
tenants:
  bench:
    limits: {requests_per_minute: 1000000000, input_tokens_per_minute: 1000000000, output_tokens_per_minute: 1000000000, concurrency: 50000}
    keys: [{name: app, secret: "${BENCH_KEY}", scopes: [inference, "jobs:read"]}]
`

// penstock is the side that is judged.
type penstock struct{ *process }

// startPenstock runs the real binary in front of an upstream.
func startPenstock(ctx context.Context, binary, dir, upstream string, env ...string) (*process, error) {
	dir, err := os.MkdirTemp(dir, "penstock-")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "penstock.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, settings, filepath.Join(dir, "data"), upstream), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, binary, "serve", "--config", file)
	cmd.Env = append(os.Environ(), append(env, "BENCH_KEY="+key, "BENCH_ADMIN="+adminKey, "BENCH_UPSTREAM=none")...)
	p, err := start("penstock", cmd)
	if err != nil {
		return nil, err
	}
	side := penstock{p}
	if err := side.prove(ctx); err != nil {
		side.stop()
		return nil, err
	}
	return p, nil
}

// prove makes one call and checks that all that is to be measured is on: without it a mistake in the settings
// would look like a good result.
func (p penstock) prove(ctx context.Context) error {
	header, _, err := p.get(ctx, http.MethodPost, "/v1/chat/completions", string(load{Body: 1 << 10}.body()))
	if err != nil {
		return err
	}
	if header.Get("x-ratelimit-limit-requests") == "" || header.Get("x-ratelimit-limit-tokens") == "" {
		return errors.New("the tenant has no limits")
	}
	var record struct {
		Usage struct {
			CostUSD string `json:"cost_usd"`
		}
	}
	_, body, err := p.get(ctx, http.MethodGet, "/v1/requests/"+header.Get("x-request-id"), "")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, &record); err != nil {
		return err
	}
	if cost, err := strconv.ParseFloat(record.Usage.CostUSD, 64); err != nil || cost <= 0 {
		return fmt.Errorf("the call was not metered: %s", body)
	}
	return nil
}

func (p penstock) get(ctx context.Context, method, path, body string) (http.Header, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+p.address+path, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	return resp.Header, text, err
}
