package main

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"penstock/internal/sim"
)

// settings are the names of all settings of the simulated server, as flags.
func settings(t reflect.Type, prefix string) []string {
	var names []string
	for i := range t.NumField() {
		name := strings.ReplaceAll(t.Field(i).Tag.Get("json"), "_", "-")
		if name == "-" { // for Go callers alone
			continue
		}
		if t.Field(i).Type.Kind() == reflect.Struct {
			names = append(names, settings(t.Field(i).Type, strings.TrimSuffix(name, "s")+"-")...)
			continue
		}
		names = append(names, prefix+name)
	}
	return names
}

func TestSimHasAFlagForEverySetting(t *testing.T) {
	t.Parallel()
	flags := newHarness(t).shell(nil, nil).simCommand().Flags()
	names := settings(reflect.TypeFor[sim.Config](), "")
	for _, name := range names {
		if flags.Lookup(name) == nil {
			t.Errorf("there is no --%s", name)
		}
	}
	if len(simFlags) != len(names) {
		t.Errorf("%d flags for %d settings", len(simFlags), len(names))
	}
}

func TestSimServesItsSettings(t *testing.T) {
	t.Parallel()
	for _, file := range []struct{ name, text string }{
		{"sim.yaml", "seed: 7\nfirst_token_latency: 250ms\nmodels: [a, b]\nfaults: {server_error: 0.5, stall: 0.1}\n"},
		{"sim.json", `{"seed":7,"first_token_latency":"250ms","models":["a","b"],"faults":{"server_error":0.5,"stall":0.1}}`},
	} {
		t.Run(file.name, func(t *testing.T) {
			t.Parallel()
			d := newHarness(t)
			r := d.starts("sim", "--listen", "127.0.0.1:0", "--config", write(t, file.name, file.text), "--fault-server-error", "0",
				"--models", "c,d", "--output-tokens", "5", "--jitter", "0.25", "-o", "json")
			var at struct {
				BaseURL string `json:"base_url"`
			}
			if err := json.Unmarshal([]byte(r.line()), &at); err != nil {
				t.Fatal(err)
			}
			got := readJSON[sim.Config](t, strings.TrimSuffix(at.BaseURL, "/v1")+"/sim/config")
			want := sim.Config{
				Seed: 7, FirstTokenLatency: 250 * time.Millisecond, Models: []string{"c", "d"}, OutputTokens: 5, Jitter: 0.25,
				Faults: sim.Faults{Stall: 0.1}, Stall: sim.DefaultStall,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
			if code, stderr := r.result(); code != exitOK || stderr != "" {
				t.Errorf("stopped with %d: %s", code, stderr)
			}
		})
	}
}

func readJSON[T any](t *testing.T, url string) (v T) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// Requests that hang on purpose must not hold up the end.
func TestSimStopsWhileRequestsHang(t *testing.T) {
	t.Parallel()
	d := newHarness(t)
	r := d.starts("sim", "--listen", "127.0.0.1:0", "--fault-hang", "1")
	base := r.line()
	hung := make(chan error, 1)
	go func() {
		resp, err := http.Post(base+"/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"Hi"}]}`))
		if err == nil {
			resp.Body.Close()
		}
		hung <- err
	}()
	poll(t, func() bool {
		return readJSON[struct {
			InFlight int `json:"in_flight"`
		}](t, strings.TrimSuffix(base, "/v1")+"/sim/stats").InFlight == 1
	})
	began := time.Now()
	if code, stderr := r.result(); code != exitOK || stderr != "" {
		t.Errorf("stopped with %d: %s", code, stderr)
	}
	if took := time.Since(began); took >= simGrace {
		t.Errorf("stopping took %v", took)
	}
	if err := <-hung; err == nil {
		t.Error("the request that hangs was answered")
	}
}

// poll waits until something holds.
func poll(t *testing.T, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it did not happen in 20 s")
		}
	}
}

func TestSimRefusesWrongSettings(t *testing.T) {
	t.Parallel()
	d := newHarness(t)
	check(t, d.run("sim", "--jitter", "2", "--slots", "-1"), typed{code: exitError,
		stderr: "penstock: configure sim: jitter: 2 is not between 0 and 1; slots: -1 is negative; use 0 for none\n"})
	for name, text := range map[string]string{"unknown": "colour: red\n", "type": "slots: many\n", "syntax": "slots: [\n"} {
		path := write(t, name+".yaml", text)
		if got := d.run("sim", "--config", path); got.code != exitError || !strings.HasPrefix(got.stderr, "penstock: reading the settings in "+path+": ") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := d.run("sim", "--listen", "127.0.0.1:-1"); got.code != exitError || !strings.HasPrefix(got.stderr, "penstock: listening (set --listen to another address): ") {
		t.Errorf("%+v", got)
	}
}
