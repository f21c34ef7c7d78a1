// Package demo makes a data directory that looks like a month of work of several companies, and a light load that goes on: tenants, keys,
// calls, jobs in every state, batches, dead letters, webhooks, files and usage. People look at Penstock with it, and the pictures of the
// documentation show it.
//
// It owns the story: companies, texts, faults and shapes of load. It writes no SQL and keeps no state of its own in the database. The past
// is written through the services and the store of Penstock on a [Clock] that walks through 30 days, so that every invariant holds for it,
// those of the ledger included. The present is made through the public API, as any other caller would do.
//
// The story depends on the seed alone; times are relative to the present. Ids and secrets are random, as always. A [Clock] and a [Traffic]
// are safe for concurrent use; [Fill] is the only writer of its store.
package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"penstock"
)

const (
	// DefaultData is the data directory of the demo, apart from that of ordinary development.
	DefaultData = "./penstock-demo"
	// Days is how far the past of the demo goes back.
	Days = 30
	// seed decides the whole story.
	seed = 20_26
	// stateFile says that a data directory is one of the demo, and keeps the secrets of its keys for the demo's own load.
	stateFile = "demo.json"
	// partial is what the name of a data directory ends with while the demo fills it.
	partial = ".partial"
)

// Clock is the clock of the past. It walks forward only.
type Clock struct{ now atomic.Int64 } // nanoseconds since 1970

// NewClock returns a clock that stands at a time.
func NewClock(at time.Time) *Clock {
	c := &Clock{}
	c.now.Store(at.UnixNano())
	return c
}

// Now is the time on the clock.
func (c *Clock) Now() time.Time { return time.Unix(0, c.now.Load()).UTC() }

// WalkTo moves the clock to a time, unless it is past it already.
func (c *Clock) WalkTo(at time.Time) {
	if now := at.UnixNano(); now > c.now.Load() {
		c.now.Store(now)
	}
}

// Walk moves the clock forward.
func (c *Clock) Walk(d time.Duration) { c.WalkTo(c.Now().Add(d)) }

// State is what a demo keeps beside its database.
type State struct {
	FilledAt time.Time `json:"filled_at"`
	Receiver string    `json:"receiver"` // host:port
	Keys     []Key     `json:"keys"`
}

// Key is a key of a tenant with its secret.
type Key struct {
	Tenant penstock.TenantID `json:"tenant"`
	Name   string            `json:"name"`
	Secret string            `json:"secret"`
}

// Secret is the secret of a key, "" for an unknown one.
func (s *State) Secret(tenant penstock.TenantID, name string) string {
	for _, k := range s.Keys {
		if k.Tenant == tenant && k.Name == name {
			return k.Secret
		}
	}
	return ""
}

// Open returns the state of a data directory that the demo filled before, and nil for one that is empty or not there. It refuses a
// directory with other data.
func Open(data string) (*State, error) {
	text, err := os.ReadFile(filepath.Join(data, stateFile))
	if err == nil {
		var s State
		if err := json.Unmarshal(text, &s); err != nil {
			return nil, fmt.Errorf("reading %s of the demo; delete the directory to fill it anew: %w", filepath.Join(data, stateFile), err)
		}
		return &s, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("opening the data directory of the demo: %w", err)
	}
	entries, err := os.ReadDir(data)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("opening the data directory of the demo: %w", err)
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("the directory %s has data that is not of the demo; set PENSTOCK_DATA to an empty or new directory, or unset it for %s", data, DefaultData)
	}
	return nil, nil
}

// Create fills a new data directory: fill gets a directory beside it, which becomes the data directory when all of it is written. So a
// directory of the demo is whole, whenever the program was stopped.
func Create(data string, fill func(dir string) (*State, error)) (*State, error) {
	dir := filepath.Clean(data) + partial
	if err := os.RemoveAll(dir); err != nil { // of a demo that was stopped
		return nil, fmt.Errorf("removing what an unfinished demo left: %w", err)
	}
	state, err := fill(dir)
	if err == nil {
		err = state.write(dir)
	}
	if err == nil {
		err = replaceEmpty(dir, filepath.Clean(data))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("filling the demo: %w", err), os.RemoveAll(dir))
	}
	return state, nil
}

// replaceEmpty renames a directory. An empty directory of the new name gives way.
func replaceEmpty(from, to string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(from, to)
}

func (s *State) write(dir string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, stateFile), append(text, '\n'), 0o600)
}

// Greeting is what a person is told when the demo is ready.
type Greeting struct {
	API, Admin, Data string
	Link             string // the line about the one-time sign-in
	State            *State
	Filled           *Summary // what was made by this start, nil for nothing
	Took             time.Duration
}

// Greet prints the greeting.
func Greet(out io.Writer, g Greeting) {
	first, second := companies[0], companies[3]
	if s := g.Filled; s != nil {
		fmt.Fprintf(out, "Made a month of work in %.1f s: %d tenants, %d calls, %d jobs with %d items (%d batches), %d dead letters, %d webhook deliveries.\n\n",
			g.Took.Seconds(), len(companies), s.Calls, s.Jobs, s.Items, s.Batches, s.DeadLetters, s.Deliveries)
	}
	fmt.Fprintf(out, `The demo is ready. All models are simulated, and all names are invented.

  API        %[1]s
  Admin API  %[2]s
  Data       %[3]s (delete the directory to begin anew)
  Guide      docs/how-to/explore-the-demo.md

%[8]s
Look at it as one of its tenants:

  curl -s %[1]s/v1/jobs -H "Authorization: Bearer %[4]s"    # %[5]s
  curl -s %[1]s/v1/usage -H "Authorization: Bearer %[6]s"    # %[7]s

Commands need no key: PENSTOCK_DATA=%[3]s penstock jobs list

`, g.API, g.Admin, g.Data, g.State.Secret(first.id, first.keys[0]), first.id, g.State.Secret(second.id, second.keys[0]), second.id, g.Link)
}

// FirstKey is the secret that commands use without a key of their own.
func (s *State) FirstKey() string { return s.Secret(companies[0].id, companies[0].keys[0]) }

// Summary counts what Fill wrote.
type Summary struct{ Calls, Jobs, Items, Batches, DeadLetters, Deliveries int }
