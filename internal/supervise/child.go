package supervise

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// outputFile is the file descriptor that a child writes its frames to. Its stdout is kept with its stderr, so that a
// stray print breaks nothing.
const outputFile = 3

// child is the parent's handle of a child process.
type child struct {
	process *os.Process
	output  *os.File
	frames  *bufio.Reader // of output
	printed *printed
	exited  chan struct{} // closed after the process ended and status was set
	status  string

	sending sync.Mutex
	input   *os.File

	stopping  atomic.Bool // this process kills the child, or asked it to end its task
	tasks     int         // that ran to their end
	idleSince time.Time
}

// spawn starts a child process.
func (p *Pool) spawn() (*child, error) {
	childInput, input, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer childInput.Close()
	output, childOutput, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, input.Close())
	}
	defer childOutput.Close()
	c := &child{input: input, output: output, frames: bufio.NewReader(output), printed: &printed{}, exited: make(chan struct{})}
	cmd := exec.Command(p.Command[0], p.Command[1:]...)
	cmd.Args[0] = os.Args[0] // the name in lists of processes
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Env, childInput, c.printed, c.printed
	cmd.ExtraFiles = []*os.File{childOutput}
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = attributes()
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, input.Close(), output.Close())
	}
	c.process = cmd.Process
	p.mu.Lock()
	p.live[c] = struct{}{}
	p.mu.Unlock()
	go func() {
		_ = cmd.Wait() // ProcessState has more details than the error
		c.status = cmd.ProcessState.String()
		close(c.exited)
	}()
	return c, nil
}

// await waits until a child reports that it accepts tasks.
func (p *Pool) await(c *child) error {
	late := time.AfterFunc(p.StartTimeout, c.kill)
	defer late.Stop()
	kind, _, err := readFrame(c.frames, p.MaxFrameBytes)
	switch {
	case err != nil:
		c.kill()
		<-c.exited
		return fmt.Errorf("it ended before it was ready (%s): %s", c.status, c.printed)
	case kind != frameReady:
		return fmt.Errorf("%w: it began with a frame of kind %q", ErrProtocol, kind)
	}
	return nil
}

// kill ends the process at once. It may be called again.
func (c *child) kill() {
	_ = c.process.Kill() // it may have ended already
	c.sending.Lock()
	defer c.sending.Unlock()
	_ = c.input.Close()
}

func (c *child) send(kind frameKind, parts ...[]byte) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	return writeFrame(c.input, kind, parts...)
}

// exchange sends a task and waits for the answer.
func (p *Pool) exchange(ctx context.Context, c *child, task Task) ([]byte, error) {
	var within [8]byte
	if deadline, ok := ctx.Deadline(); ok {
		binary.BigEndian.PutUint64(within[:], uint64(max(1, time.Until(deadline))))
	}
	if len(task.Body) > p.MaxFrameBytes-len(within) {
		return nil, fmt.Errorf("%w: a task of %d bytes, %d are the most", ErrProtocol, len(task.Body), p.MaxFrameBytes-len(within))
	}
	sent := make(chan struct{})
	defer p.watch(ctx, c, sent)()
	// If the child dies while the task is sent, reading its output returns the error.
	_ = c.send(frameTask, within[:], task.Body)
	close(sent)
	for {
		kind, body, err := readFrame(c.frames, p.MaxFrameBytes)
		if err != nil {
			return nil, p.broken(ctx, c, err)
		}
		switch kind {
		case frameMessage:
			if task.Heard != nil {
				task.Heard(body)
			}
		case frameAnswer:
			return body, nil
		case frameFailure:
			return nil, &TaskError{string(body)}
		default:
			return nil, fmt.Errorf("%w: a frame of kind %q during a task", ErrProtocol, kind)
		}
	}
}

// watch ends the task of a child when ctx ends. The child observes the deadline by itself, so watch sends a cancel frame
// only if ctx ended for another reason. The frame follows the task, which sent reports: a child ignores a cancel that comes first.
func (p *Pool) watch(ctx context.Context, c *child, sent <-chan struct{}) (unwatch func()) {
	answered, stopped := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		c.stopping.Store(true)
		patience := time.NewTimer(p.StopGrace)
		defer patience.Stop()
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			go func() { // a child that does not read must not delay its kill
				<-sent
				_ = c.send(frameCancel)
			}()
		}
		select {
		case <-answered:
		case <-patience.C:
			c.kill()
		}
	})
	return func() {
		close(answered)
		if !stop() {
			<-stopped // a child that was asked to stop gets no other task
		}
	}
}

// broken returns the reason why the output of a child ended in the middle of a task.
func (p *Pool) broken(ctx context.Context, c *child, err error) error {
	if errors.Is(err, ErrProtocol) {
		return err
	}
	patience := time.AfterFunc(time.Second, func() {
		// The child closed its output but still runs: that is not a death.
		c.stopping.Store(true)
		c.kill()
	})
	<-c.exited
	patience.Stop()
	p.mu.Lock()
	closed := p.closed
	p.mu.Unlock()
	if c.stopping.Load() || closed || ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrStopped, errors.Join(context.Cause(ctx), err))
	}
	return &Death{Status: c.status, Tasks: c.tasks, Stderr: c.printed.String()}
}

// printed keeps the beginning and the end of the output of a child.
type printed struct {
	mu   sync.Mutex
	head []byte
	tail []byte
	left int // bytes between them
}

// Write implements io.Writer.
func (s *printed) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	const half = MaxStderrBytes / 2
	n := len(b)
	if free := half - len(s.head); free > 0 {
		taken := min(free, len(b))
		s.head, b = append(s.head, b[:taken]...), b[taken:]
	}
	s.tail = append(s.tail, b[max(0, len(b)-half):]...)
	s.left += max(0, len(b)-half)
	if over := len(s.tail) - half; over > 0 {
		s.tail, s.left = append(s.tail[:0], s.tail[over:]...), s.left+over
	}
	return n, nil
}

func (s *printed) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 {
		return string(s.head) + string(s.tail)
	}
	return fmt.Sprintf("%s\n[%d bytes left out]\n%s", s.head, s.left, s.tail)
}
