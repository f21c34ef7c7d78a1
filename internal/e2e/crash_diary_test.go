package e2e

import (
	"fmt"
	"sync"
	"time"

	"penstock"
)

// inference is what a client wants of a model, and what must become of it.
type inference struct {
	prompt string
	fails  penstock.Code // how it must fail, "" if it must succeed
	slow   bool          // the prompt itself asks for a slow answer
}

// order is a job that a client wants, and all that the client knows of it.
type order struct {
	name       string // its tag, by which the job is found again
	key        string // its Idempotency-Key, "" for none
	inferences []inference
	hasty      bool // its deadline is so near that items may expire
	sent       int
	ids        map[string]bool // of the jobs that it was told to have become
	cancel     cancelState
	told       string // what a synchronous call was answered with, "" for other orders
}

type cancelState int

const (
	notCancelled cancelState = iota
	cancelSent               // perhaps it arrived
	cancelHeard              // the server confirmed it
)

// chat is a synchronous call with a key: a job behind the scenes.
type chat struct {
	inference
	ids  map[string]bool
	told string // what it was answered with, "" unless it succeeded
}

// diary is what all clients together have sent and seen. Whatever contradicts it later is a lie.
type diary struct {
	mu       sync.Mutex
	orders   map[string]*order
	chats    map[string]*chat
	outcomes map[string]string    // item → result as it was first seen
	finals   map[string]string    // finished job → as it was first seen
	calls    map[string]time.Time // plain synchronous call → when it was answered
	problems []string
}

func newDiary() *diary {
	return &diary{orders: map[string]*order{}, chats: map[string]*chat{}, outcomes: map[string]string{},
		finals: map[string]string{}, calls: map[string]time.Time{}}
}

func (d *diary) problem(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.problems = append(d.problems, fmt.Sprintf(format, args...))
}

// note changes the diary.
func (d *diary) note(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

// see holds that a result, once seen, stays what it is.
func (d *diary) see(r resultAnswer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if before, seen := d.outcomes[r.ItemID]; !seen {
		d.outcomes[r.ItemID] = r.text()
	} else if before != r.text() {
		d.problems = append(d.problems, fmt.Sprintf("the outcome of %s changed:\nfirst %.1000s\nthen  %.1000s", r.ItemID, before, r.text()))
	}
}

// seeJob holds that a job's counts always add up and that a finished job stays as it is.
func (d *diary) seeJob(j jobAnswer) {
	c := j.Counts
	if c.Open()+c.Succeeded+c.Failed+c.Cancelled+c.Expired != c.Total {
		d.problem("the counts of %s do not add up: %+v", j.ID, c)
	}
	if j.FinishedAt.IsZero() {
		return
	}
	if j.Result != nil {
		d.see(*j.Result)
		j.Result = nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if before, seen := d.finals[j.ID]; !seen {
		d.finals[j.ID] = encoded(j)
	} else if before != encoded(j) {
		d.problems = append(d.problems, fmt.Sprintf("finished job %s changed:\nfirst %.1000s\nthen  %.1000s", j.ID, before, encoded(j)))
	}
}
