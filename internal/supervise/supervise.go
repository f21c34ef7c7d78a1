// Package supervise runs tasks in child processes of this process, one task at a time in each child.
//
// It owns the children: it starts them when they are needed, sends tasks and receives answers as frames over pipes,
// ends and replaces children, and keeps the beginning and the end of their stderr. A task and its answer are bytes
// whose meaning the package does not know. [Pool] is the side of the parent, [Serve] that of the child.
//
// The error of a task without an answer gives the reason, because callers act on it:
//
//   - [*Death]: the child died with the task while this process lived and wanted the answer.
//   - [ErrStopped]: this process ended the child on purpose, because the answer was no longer needed.
//   - [ErrNotStarted]: no child could be started. No part of the task ran.
//   - [ErrProtocol]: a running child broke the protocol. This process killed it.
//
// A child never outlives its parent: it exits at the end of its input, and on Linux the kernel sends it a signal as well.
//
// A Pool is safe for concurrent use. It has one goroutine that starts children, one for each child that waits for its
// end, and one that copies its stderr.
package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"
)

// The errors of Do, beside *Death.
var (
	ErrStopped    = errors.New("the child process was stopped on purpose")
	ErrNotStarted = errors.New("the child process could not be started")
	ErrProtocol   = errors.New("the child process broke the protocol")
)

const (
	// DefaultMaxFrameBytes bounds a task, a message and an answer.
	DefaultMaxFrameBytes = 96 << 20
	// MaxStderrBytes bounds the kept stderr of a child: half from its beginning, half from its end.
	MaxStderrBytes = 8 << 10
	// maxTasks is the number of tasks that a child runs before it is replaced, so that memory which tasks leak is bounded.
	maxTasks = 200
	// minPause and maxPause bound the pause before the next start, after children that died or did not start.
	minPause = 50 * time.Millisecond
	maxPause = 2 * time.Second
	// confirmation is the delay between the death of a child and its report. A host or a service manager that kills parent
	// and child together kills the parent within that time, so such a death is never reported.
	confirmation = 100 * time.Millisecond
)

// Config bounds a pool.
type Config struct {
	Command       []string      // path and arguments of the child process
	Env           []string      // its environment, all of it
	Children      int           // child processes at a time
	MaxFrameBytes int           // of a task, a message or an answer; 0 for DefaultMaxFrameBytes
	StartTimeout  time.Duration // of a child, until it is ready; 0 for 10s
	StopGrace     time.Duration // of a cancelled task, until its child is killed; 0 for 2s
	IdleTimeout   time.Duration // of a child without a task, until it is ended; 0 for 30s
	Log           *slog.Logger  // nil for none
	Watch         Watch
}

// Watch receives the events of children. Its functions may be nil, and must not block.
type Watch struct {
	Started     func()
	Died        func(*Death)
	StartFailed func(error)
}

// Task is the work of one child.
type Task struct {
	Body []byte
	// Fresh requires a child that ran no other task before.
	Fresh bool
	// Heard receives the messages that the child sends while it runs the task, one after the other; may be nil. Heard owns the
	// bytes.
	Heard func(message []byte)
}

// Death is the death of a child.
type Death struct {
	Status string // such as "signal: killed" or "exit status 2"
	Tasks  int    // that had run to their end before
	Stderr string // of the child, bounded
}

func (d *Death) Error() string {
	return fmt.Sprintf("the child process died (%s) after %d tasks: %s", d.Status, d.Tasks, d.Stderr)
}

// Pool is a bounded number of child processes.
type Pool struct {
	Config
	slots  chan struct{} // one for each task that runs
	starts chan chan started

	mu       sync.Mutex
	idle     []*child
	live     map[*child]struct{}
	failures int       // children in a row that died or did not start
	notSoon  time.Time // no child is started before this time
	closed   bool
}

// started is the answer to a request for a child.
type started struct {
	child *child
	err   error
}

// New returns a pool without children. Run starts them.
func New(cfg Config) (*Pool, error) {
	if cfg.Children <= 0 || len(cfg.Command) == 0 {
		return nil, fmt.Errorf("a pool of child processes needs a command and a number of children, got %q and %d", cfg.Command, cfg.Children)
	}
	cfg.MaxFrameBytes = cmp.Or(cfg.MaxFrameBytes, DefaultMaxFrameBytes)
	cfg.StartTimeout = cmp.Or(cfg.StartTimeout, 10*time.Second)
	cfg.StopGrace = cmp.Or(cfg.StopGrace, 2*time.Second)
	cfg.IdleTimeout = cmp.Or(cfg.IdleTimeout, 30*time.Second)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Pool{
		Config: cfg, slots: make(chan struct{}, cfg.Children), starts: make(chan chan started), live: make(map[*child]struct{}),
	}, nil
}

// Run starts children for waiting tasks until ctx ends. Then it ends all children, including those that run tasks.
func (p *Pool) Run(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The kernel kills a child when the thread that started it ends, so one thread starts all children and stays. The
		// goroutine never unlocks the thread: both end together.
		runtime.LockOSThread()
		p.startChildren(ctx)
	}()
	<-done
	return nil
}

func (p *Pool) startChildren(ctx context.Context) {
	look := time.NewTicker(p.IdleTimeout / 2)
	defer look.Stop()
	defer p.close()
	for {
		select {
		case <-ctx.Done():
			return
		case answer := <-p.starts:
			c, err := p.spawn()
			answer <- started{c, err}
		case <-look.C:
			p.endIdle()
		}
	}
}

// Running is the number of running tasks.
func (p *Pool) Running() int { return len(p.slots) }

// Do runs a task in a child and returns its answer. When ctx ends, Do asks the child to end the task, and kills the child
// after StopGrace. An answer that arrives before counts. The child knows the deadline of ctx.
func (p *Pool) Do(ctx context.Context, task Task) ([]byte, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w before it had the task: %w", ErrStopped, context.Cause(ctx))
	}
	defer func() { <-p.slots }()
	c, err := p.take(ctx, task)
	if err != nil {
		return nil, err
	}
	answer, err := p.exchange(ctx, c, task)
	if failed := (*TaskError)(nil); err == nil || errors.As(err, &failed) {
		p.putBack(c)
		return answer, err
	}
	p.end(c)
	var death *Death
	if !errors.As(err, &death) {
		return nil, err
	}
	pause := time.NewTimer(confirmation)
	defer pause.Stop()
	<-pause.C
	p.failed(c)
	if p.Watch.Died != nil {
		p.Watch.Died(death)
	}
	return nil, err
}

// take returns a child without a task, or waits until Run has started one.
func (p *Pool) take(ctx context.Context, task Task) (*child, error) {
	p.mu.Lock()
	var spent *child
	if n := len(p.idle); n > 0 {
		// The youngest first: the others are likely to stay idle and to be ended.
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		if !task.Fresh || c.tasks == 0 {
			p.mu.Unlock()
			return c, nil
		}
		spent = c // there are at most as many children as slots, so a used child is replaced by a fresh one
	}
	wait := time.Until(p.notSoon)
	p.mu.Unlock()
	p.end(spent)
	if wait > 0 {
		pause := time.NewTimer(wait)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w before it had the task: %w", ErrStopped, context.Cause(ctx))
		}
	}
	answer := make(chan started, 1)
	select {
	case p.starts <- answer:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w before it had the task: %w", ErrStopped, context.Cause(ctx))
	}
	s := <-answer
	if s.err == nil {
		s.err = p.await(s.child)
	}
	if s.err != nil {
		p.failed(s.child)
		p.Log.ErrorContext(ctx, "starting a child process", "error", s.err)
		if p.Watch.StartFailed != nil {
			p.Watch.StartFailed(s.err)
		}
		return nil, fmt.Errorf("%w: %w", ErrNotStarted, s.err)
	}
	if p.Watch.Started != nil {
		p.Watch.Started()
	}
	return s.child, nil
}

// failed notes that a child died or did not start, and delays the next start.
func (p *Pool) failed(c *child) {
	p.end(c)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notSoon = time.Now().Add(min(maxPause, minPause<<min(p.failures, 10)))
	p.failures++
}

// putBack keeps a child for the next task.
func (p *Pool) putBack(c *child) {
	p.mu.Lock()
	p.failures = 0
	c.tasks++
	c.idleSince = time.Now()
	keep := c.tasks < maxTasks && !p.closed && !c.stopping.Load()
	if keep {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if !keep {
		p.end(c)
	}
}

// end kills a child and removes it from the pool. It may be called again, and with nil.
func (p *Pool) end(c *child) {
	if c == nil {
		return
	}
	c.kill()
	_ = c.output.Close() // a blocked reader returns
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.live, c)
}

// endIdle ends children that were idle for IdleTimeout.
func (p *Pool) endIdle() {
	old := time.Now().Add(-p.IdleTimeout)
	var ended []*child
	p.mu.Lock()
	p.idle = slices.DeleteFunc(p.idle, func(c *child) bool {
		if c.idleSince.After(old) {
			return false
		}
		ended = append(ended, c)
		return true
	})
	p.mu.Unlock()
	for _, c := range ended {
		p.end(c)
	}
}

// close ends all children.
func (p *Pool) close() {
	p.mu.Lock()
	p.closed, p.idle = true, nil
	all := make([]*child, 0, len(p.live))
	for c := range p.live {
		all = append(all, c)
	}
	p.mu.Unlock()
	for _, c := range all {
		c.stopping.Store(true)
		p.end(c)
		<-c.exited
	}
}
