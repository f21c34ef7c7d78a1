package supervise

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// TaskError is the error of a handler that has no answer for its task. The child continues with the next task.
type TaskError struct{ Message string }

func (e *TaskError) Error() string { return e.Message }

// Handler runs one task in a child process. Messages passed to say reach Task.Heard in order.
type Handler func(ctx context.Context, task []byte, say func(message []byte) error) (answer []byte, err error)

// Serve is the main function of a child process. It runs the tasks of the parent, one after the other, and exits the
// process when the parent is gone. It returns only if it cannot begin.
//
// Signals to the whole process group or service are ignored: the parent decides when its children end.
func Serve(h Handler) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	volunteer()
	output := os.NewFile(outputFile, "frames")
	s := &served{handler: h, output: output}
	if err := s.send(frameReady); err != nil {
		return fmt.Errorf("this process is started by its parent, with pipes, and not by hand: %w", err)
	}
	s.read()
	os.Exit(0) // the parent is gone
	return nil
}

// served is the child's side of the pipes.
type served struct {
	handler Handler

	mu     sync.Mutex
	output *os.File
	cancel context.CancelFunc // of the running task
}

// read reads frames until the parent is gone.
func (s *served) read() {
	input := bufio.NewReader(os.Stdin)
	for {
		kind, body, err := readFrame(input, DefaultMaxFrameBytes)
		switch {
		case err != nil:
			return
		case kind == frameTask && len(body) >= 8:
			ctx, cancel := begin(time.Duration(binary.BigEndian.Uint64(body)))
			s.mu.Lock()
			s.cancel = cancel
			s.mu.Unlock()
			go s.run(ctx, body[8:])
		case kind == frameCancel:
			s.mu.Lock()
			if s.cancel != nil {
				s.cancel()
			}
			s.mu.Unlock()
		default:
			return
		}
	}
}

// begin is the context of a task.
func begin(within time.Duration) (context.Context, context.CancelFunc) {
	if within <= 0 {
		return context.WithCancel(context.Background())
	}
	return context.WithTimeout(context.Background(), within)
}

// run runs one task. A panic ends the process: it exists to isolate panics.
func (s *served) run(ctx context.Context, task []byte) {
	answer, err := s.handler(ctx, task, func(message []byte) error { return s.send(frameMessage, message) })
	if err != nil {
		err = s.send(frameFailure, []byte(err.Error()))
	} else {
		err = s.send(frameAnswer, answer)
	}
	if err != nil {
		os.Exit(1) // the parent is gone, or no longer reads
	}
}

func (s *served) send(kind frameKind, parts ...[]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return writeFrame(s.output, kind, parts...)
}
