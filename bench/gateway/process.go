package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"penstock/bench/process"
)

// generate runs a load in a process of its own.
func generate(ctx context.Context, l load) (report, error) {
	text, err := json.Marshal(l)
	if err != nil {
		return report{}, err
	}
	cmd := process.Self(ctx, "load", string(text))
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
type penstock struct{ *process.Process }

// startPenstock runs the real binary in front of an upstream.
func startPenstock(ctx context.Context, binary, dir, upstream string, env ...string) (*process.Process, error) {
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
	p, err := process.Start("penstock", cmd)
	if err != nil {
		return nil, err
	}
	side := penstock{p}
	if err := side.prove(ctx); err != nil {
		side.Stop()
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
	req, err := http.NewRequestWithContext(ctx, method, "http://"+p.Address+path, strings.NewReader(body))
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
