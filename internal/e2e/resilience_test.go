package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// sickness is one way in which the first of a model's two targets fails.
type sickness struct {
	name string
	// ail makes the target sick, until ctx ends.
	ail func(ctx context.Context, sim *sickSim)
}

var sicknesses = []sickness{
	{"dead", func(_ context.Context, s *sickSim) { s.Kill() }},
	{"hanging", func(_ context.Context, s *sickSim) { s.faults(`{"hang":1}`) }},
	{"refusing", func(_ context.Context, s *sickSim) { s.faults(`{"rate_limit":1}`) }},
	{"truncating", func(_ context.Context, s *sickSim) { s.faults(`{"disconnect":1}`) }},
	{"flapping", flap},
}

// flap is sick and well in turn.
func flap(ctx context.Context, s *sickSim) {
	turn := time.NewTicker(400 * time.Millisecond)
	defer turn.Stop()
	for sick := true; ; sick = !sick {
		if sick {
			s.faults(`{"server_error":1}`)
		} else {
			s.faults(`{"server_error":0}`)
		}
		select {
		case <-ctx.Done():
			return
		case <-turn.C:
		}
	}
}

const (
	// callRate is how many calls a second each sick target's model gets: well within what the healthy one carries.
	callRate = 20
	// sickTimeout is how long a call may take on a target. A caller waits for the sick one at the most, then for the
	// healthy one, which answers in a few milliseconds, and for this machine, which does other things too.
	sickTimeout   = time.Second
	longestWait   = sickTimeout + 1500*time.Millisecond
	mostLate      = 0.02
	mostExtraLoad = 0.10
	mostFailures  = 0.001
)

// One of a model's two targets is sick, the other carries the load: callers notice nothing but some waiting, and the sick
// one is left alone.
func TestOneSickTargetIsNotNoticed(t *testing.T) {
	t.Parallel()
	lasts := 5 * time.Second
	if soak := os.Getenv("PENSTOCK_SOAK_RESILIENCE"); soak != "" {
		var err error
		if lasts, err = time.ParseDuration(soak); err != nil {
			t.Fatal(err)
		}
	} else if testing.Short() {
		t.Skip("calls sick targets for five seconds")
	}
	r := newSickbay(t)
	for i := range sicknesses {
		s := sicknesses[i]
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), lasts)
			defer cancel()
			var ailing sync.WaitGroup
			ailing.Go(func() { s.ail(ctx, r.sims[s.name]) })
			tally := r.load(ctx, t, s.name)
			ailing.Wait()
			tally.judge(t, r.attempts(t, s.name))
		})
	}
}

// sickbay is a server with a model for each sickness: a target of its own that falls ill, and one that is well, for all.
type sickbay struct {
	*Server
	admin string
	sims  map[string]*sickSim
}

type sickSim struct {
	*Process
	url string
}

func startSickSim(t *testing.T) *sickSim {
	t.Helper()
	address := FreeAddress(t)
	s := &sickSim{url: "http://" + address}
	s.Process = Start(t, nil, "sim", "--listen", address, "--output-tokens", "8", "--first-token-latency", "5ms")
	Await(t, "the simulated upstream", func() error {
		resp, err := http.Get(s.url + "/v1/models")
		if err == nil {
			resp.Body.Close()
		}
		return err
	})
	return s
}

// faults says how probable each fault is from now on.
func (s *sickSim) faults(probabilities string) {
	req, err := http.NewRequest(http.MethodPatch, s.url+"/sim/config", strings.NewReader(`{"faults":`+probabilities+`}`))
	if err != nil {
		s.t.Error(err)
		return
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Error(err)
		return
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		s.t.Errorf("setting faults: %s", resp.Status)
	}
}

func newSickbay(t *testing.T) *sickbay {
	t.Helper()
	well := startSickSim(t)
	r := &sickbay{admin: FreeAddress(t), sims: map[string]*sickSim{}}
	address := FreeAddress(t)
	var providers, targets, models strings.Builder
	timeouts := fmt.Sprintf("timeouts: {connect: 500ms, first_token: 500ms, idle: 500ms, total: %s}", sickTimeout)
	fmt.Fprintf(&providers, "  well: {kind: openai, base_url: %s/v1}\n", well.url)
	fmt.Fprintf(&targets, "  well: {provider: well, upstream_model: sim-small}\n")
	for _, s := range sicknesses {
		r.sims[s.name] = startSickSim(t)
		fmt.Fprintf(&providers, "  %s: {kind: openai, base_url: %s/v1}\n", s.name, r.sims[s.name].url)
		fmt.Fprintf(&targets, "  %s: {provider: %s, upstream_model: sim-small, %s}\n", s.name, s.name, timeouts)
		fmt.Fprintf(&models, "  %s: {targets: [%s, well]}\n", s.name, s.name)
	}
	path := filepath.Join(t.TempDir(), "penstock.yaml")
	err := os.WriteFile(path, fmt.Appendf(nil, "listen: %s\nadmin_listen: %s\ndata: %s\nproviders:\n%stargets:\n%smodels:\n%s"+
		"tenants: {acme: {keys: [{name: e2e, secret: \"${E2E_KEY}\"}]}}\n",
		address, r.admin, t.TempDir(), &providers, &targets, &models), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	r.Server = &Server{Process: Start(t, []string{"E2E_KEY=" + Key}, "serve", "--config", path), URL: "http://" + address}
	r.AwaitReady()
	return r
}

// verdicts counts how calls ended.
type verdicts struct {
	mu               sync.Mutex
	calls, good, cut int
	failed           []string
	longest          time.Duration
	late             int // longer than longestWait
}

// load calls a model at a steady pace, whatever becomes of the calls, until ctx ends: every other one is streamed.
func (r *sickbay) load(ctx context.Context, t *testing.T, model string) *verdicts {
	v := &verdicts{}
	var calls sync.WaitGroup
	defer calls.Wait()
	pace := time.NewTicker(time.Second / callRate)
	defer pace.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return v
		case <-pace.C:
			calls.Go(func() { r.one(t, v, model, n) })
		}
	}
}

func (r *sickbay) one(t *testing.T, v *verdicts, model string, n int) {
	stream := n%2 == 0
	began := time.Now()
	a, err := r.Try(t.Context(), Call{Method: "POST", Path: "/v1/chat/completions",
		Body: fmt.Sprintf(`{"model":%q,"stream":%t,"messages":[{"role":"user","content":"question %d"}]}`, model, stream, n)})
	took := time.Since(began)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls++
	v.longest = max(v.longest, took)
	if took > longestWait {
		v.late++
	}
	switch {
	case err == nil && a.Status == http.StatusOK && (!stream || strings.HasSuffix(a.Body, "data: [DONE]\n\n")) && !strings.Contains(a.Body, `"error"`):
		v.good++
	case err == nil && a.Status == http.StatusOK && stream && endsInTypedError(a.Body):
		v.cut++
	default:
		v.failed = append(v.failed, fmt.Sprintf("after %v: %d %.200s %v", took, a.Status, a.Body, err))
	}
}

// endsInTypedError says that a stream which broke off says so at its end.
func endsInTypedError(body string) bool {
	events := strings.Split(strings.TrimSpace(body), "\n\n")
	var last struct{ Error struct{ Code string } }
	data := []byte(strings.TrimPrefix(events[len(events)-1], "data: "))
	return json.Unmarshal(data, &last) == nil && last.Error.Code == "upstream_error"
}

var attemptsLine = regexp.MustCompile(`(?m)^penstock_attempts_total\{(.*)\} (\d+)$`)

// attempts is how many calls were made on a target.
func (r *sickbay) attempts(t *testing.T, target string) int {
	t.Helper()
	resp, err := http.Get("http://" + r.admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var page bytes.Buffer
	if _, err := page.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, m := range attemptsLine.FindAllStringSubmatch(page.String(), -1) {
		if strings.Contains(m[1], fmt.Sprintf("target=%q", target)) {
			n, err := strconv.Atoi(m[2])
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}

// judge holds what happened against what is promised. Streams that were cut count apart: what their callers had seen could
// not be taken back.
func (v *verdicts) judge(t *testing.T, onSick int) {
	t.Helper()
	t.Logf("%d calls: %d good, %d streams cut with an error, %d failed; the longest took %v; %d calls of the sick target",
		v.calls, v.good, v.cut, len(v.failed), v.longest.Round(time.Millisecond), onSick)
	if whole := v.calls - v.cut; float64(len(v.failed)) > mostFailures*float64(whole) || v.good == 0 {
		t.Errorf("%d of %d failed, such as %q", len(v.failed), whole, v.failed[:min(3, len(v.failed))])
	}
	if float64(v.late) > mostLate*float64(v.calls) || v.longest > 2*longestWait {
		t.Errorf("%d calls took longer than %v, one of them %v", v.late, longestWait, v.longest)
	}
	if most := (1 + mostExtraLoad) * float64(v.calls); float64(onSick) > most {
		t.Errorf("the sick target was called %d times for %d calls", onSick, v.calls)
	}
}
