package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"penstock/internal/app"
	"penstock/internal/config"
	"penstock/internal/sim"
	"penstock/internal/store/postgres/pgtest"
)

// The environment variables that crash tests read.
const (
	envSeed  = "PENSTOCK_E2E_SEED"   // repeats the plan of an earlier run
	envKills = "PENSTOCK_SOAK_KILLS" // how many kills each engine must survive, instead of the default
)

const (
	leaseTimeout  = time.Second
	shutdownGrace = 2 * time.Second
	slots         = 16
	tenant        = "acme"
	databaseEnv   = "E2E_DATABASE" // what the configuration takes the database's URL from
)

// engine is where a rig keeps its data.
type engine string

const (
	onSQLite   engine = "sqlite"
	onPostgres engine = "postgres"
)

// rig is a server that dies and comes back on the same data, and an upstream that outlives it.
type rig struct {
	t        *testing.T
	on       engine
	seed     uint64
	random   *rand.Rand
	upstream *sim.Server
	listener *httptest.Server // of the upstream
	data     string
	config   string // path of the configuration file
	env      []string
	endpoint *Server // calls whichever process listens at the moment
	admin    *Server
	lives    []*life
	brittle  bool // the server may answer that something of its own is broken
	lease    time.Duration
	more     string // settings that a test adds to the configuration
}

// life is one process, from its start to its end.
type life struct {
	*Server
	plan    death
	begun   time.Time
	ready   time.Time
	ended   time.Time
	crashed string // the crash point that ended it, "" if something else did
}

func newRig(t *testing.T, on engine) *rig {
	t.Helper()
	if testing.Short() {
		t.Skip("kills real processes for a while")
	}
	r := &rig{t: t, on: on, seed: seedOf(t), data: t.TempDir(), lease: leaseTimeout}
	r.random = rand.New(rand.NewPCG(r.seed, 0))
	r.env = []string{"E2E_KEY=" + Key, "PENSTOCK_ADMIN_KEY=" + AdminKey}
	if on == onPostgres {
		// The configuration wants a host in its place; the socket that the URL names as a parameter wins.
		r.env = append(r.env, databaseEnv+"="+strings.Replace(pgtest.URL(t), "@/", "@localhost/", 1))
	}
	var err error
	if r.upstream, err = sim.New(sim.Config{Seed: r.seed}); err != nil {
		t.Fatal(err)
	}
	r.listener = httptest.NewServer(r.upstream)
	t.Cleanup(func() {
		r.upstream.Close()
		r.listener.Close()
	})
	r.configure()
	return r
}

// configure gives the rig addresses and a configuration file.
func (r *rig) configure() {
	r.t.Helper()
	r.endpoint, r.admin = &Server{URL: "http://" + FreeAddress(r.t)}, &Server{URL: "http://" + FreeAddress(r.t)}
	r.config = filepath.Join(r.t.TempDir(), "penstock.yaml")
	if err := os.WriteFile(r.config, []byte(r.yaml()), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// twin returns a rig for another process on the same data, which only PostgreSQL allows.
func (r *rig) twin() *rig {
	r.t.Helper()
	other := *r
	other.lives = nil
	other.configure()
	return &other
}

func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64N(1_000_000)
	if text := os.Getenv(envSeed); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s must be a whole number: %v", envSeed, err)
		}
	}
	t.Logf("the plan of this run is that of %s=%d", envSeed, seed)
	return seed
}

// yaml is a configuration in which an inference that fails on one target has another to go to.
func (r *rig) yaml() string {
	database := ""
	if r.on == onPostgres {
		database = `database: "${` + databaseEnv + `}"`
	}
	return fmt.Sprintf(`
listen: %s
admin_listen: %s
data: %s
%s
shutdown_grace: %v
work: {slots: %d, lease_timeout: %v, poll_interval: 50ms}
providers:
  upstream: {kind: openai, base_url: %s/v1}
targets:
  large: {provider: upstream, upstream_model: sim-large, max_output_tokens: 60000, price: {input: "1.00", output: "2.00"}}
  small: {provider: upstream, upstream_model: sim-small, max_output_tokens: 60000, price: {input: "0.10", output: "0.20"}}
models:
  fast: {targets: [large, small]}
tenants:
  %s: {keys: [{name: e2e, secret: "${E2E_KEY}"}]}
%s`, strings.TrimPrefix(r.endpoint.URL, "http://"), strings.TrimPrefix(r.admin.URL, "http://"), r.data,
		database, shutdownGrace, slots, r.lease, r.listener.URL, tenant, r.more)
}

// upstreamModels says what the targets of the configuration are called upstream.
var upstreamModels = map[string]string{"large": "sim-large", "small": "sim-small"}

// death is how a life shall end.
type death struct {
	point string        // at this crash point, "" for none
	pass  int           // the how-manieth time that it is passed
	after time.Duration // by SIGKILL this long after the server was ready, unless the point came first
	stop  bool          // asked to stop first; with no point it is let end by itself
}

func (d death) String() string {
	switch {
	case d.point != "":
		return fmt.Sprintf("%s:%d", d.point, d.pass)
	case d.stop:
		return "SIGTERM"
	default:
		return fmt.Sprintf("SIGKILL after %v", d.after)
	}
}

// start begins a life and returns when the server is ready, or has already died as planned.
func (r *rig) start(d death) *life {
	r.t.Helper()
	env := r.env
	if d.point != "" {
		env = append(env[:len(env):len(env)], "PENSTOCK_CRASH="+d.String())
	}
	l := &life{plan: d, begun: time.Now()}
	l.Server = &Server{Process: Start(r.t, env, "serve", "--config", r.config), URL: r.endpoint.URL}
	r.lives = append(r.lives, l)
	Await(r.t, "the server to be ready", func() error {
		select {
		case <-l.Ended():
			return nil
		default:
		}
		resp, err := http.Get(l.URL + "/readyz")
		if err != nil {
			return fmt.Errorf("%w; it printed:\n%s", err, tail(l.Output()))
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("it answers %s; it printed:\n%s", resp.Status, tail(l.Output()))
		}
		return nil
	})
	l.ready = time.Now()
	return l
}

// live runs one life to its planned death.
func (r *rig) live(d death) *life {
	r.t.Helper()
	l := r.start(d)
	limit := time.NewTimer(d.after)
	defer limit.Stop()
	if d.stop && !l.pass(stopAfter) {
		_ = l.cmd.Process.Signal(syscall.SIGTERM) // it may have died just now
	}
	select {
	case <-l.Ended():
		r.bury(l)
	case <-limit.C:
		if d.stop && d.point == "" {
			r.t.Fatalf("the server did not stop within %v; it printed:\n%s", d.after, tail(l.Output()))
		}
		l.Kill()
		l.ended = time.Now()
	}
	return l
}

// stopAfter is how long a server works before it is asked to stop.
const stopAfter = 300 * time.Millisecond

// pass lets time go by and reports whether the life ended meanwhile.
func (l *life) pass(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-l.Ended():
		return true
	case <-timer.C:
		return false
	}
}

var crashLine = regexp.MustCompile(`crash point (\S+) reached`)

// bury finds out why a process ended that nobody killed from outside.
func (r *rig) bury(l *life) {
	r.t.Helper()
	l.ended = time.Now()
	if match := crashLine.FindStringSubmatch(l.Output()); match != nil {
		l.crashed = match[1]
		return
	}
	if code := l.cmd.ProcessState.ExitCode(); !l.plan.stop || code != 0 {
		r.t.Fatalf("a server that should end by %v ended with code %d; it printed:\n%s", l.plan, code, tail(l.Output()))
	}
}

// release lets go the calls that the upstream holds under a name.
func (r *rig) release(hold string) {
	r.t.Helper()
	if err := r.upstream.Release(hold); err != nil {
		r.t.Fatal(err)
	}
}

// awaitRunning waits until so many items of a job run, and the upstream is called for each.
func (r *rig) awaitRunning(id string, n int) {
	r.t.Helper()
	Await(r.t, "items to run", func() error {
		job, err := fetch(r.t.Context(), r.endpoint, "/v1/jobs/"+id, decoded[jobAnswer])
		if called := r.upstream.Stats().InFlight; err == nil && (job.Counts.Running != n || called < int64(n)) {
			err = fmt.Errorf("%+v, and %d calls", job.Counts, called)
			if len(r.lives) > 0 {
				err = fmt.Errorf("%w; the server printed:\n%s", err, tail(r.lives[len(r.lives)-1].Output()))
			}
		}
		return err
	})
}

// kills counts the lives that ended by SIGKILL, from inside or outside.
func (r *rig) kills() int {
	n := 0
	for _, l := range r.lives {
		if !l.ended.IsZero() && l.cmd.ProcessState.ExitCode() < 0 {
			n++
		}
	}
	return n
}

// leasesLost counts how often a living server was so slow that it lost its lease, and its items with it.
func (r *rig) leasesLost() int {
	n := 0
	for _, l := range r.lives {
		n += strings.Count(l.Output(), "lost the process lease")
	}
	return n
}

// openStore opens the data of a server that does not run.
func (r *rig) openStore() *app.Store {
	r.t.Helper()
	snapshot, err := config.Load(r.config, r.lookup)
	if err != nil {
		r.t.Fatal(err)
	}
	store, err := app.OpenStore(r.t.Context(), snapshot.Process)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = store.Close() }) // nothing was written
	return store
}

func (r *rig) lookup(name string) (string, bool) {
	value, found := "", false
	for _, v := range r.env {
		if text, ok := strings.CutPrefix(v, name+"="); ok {
			value, found = text, true // the last one counts, as it does for a process
		}
	}
	return value, found
}

// tail is the end of a log, which is where the trouble is.
func tail(log string) string {
	const most = 6000
	if len(log) <= most {
		return log
	}
	return "…" + log[len(log)-most:]
}
