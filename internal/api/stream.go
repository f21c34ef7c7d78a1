package api

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"penstock"
	"penstock/internal/rest"
	"penstock/internal/sse"
)

// eventStream writes server-sent events to one reader, with comments while nothing happens.
type eventStream struct {
	mu   sync.Mutex // events and comments come from two goroutines
	c    *call
	out  *http.ResponseController
	done chan struct{}
	over sync.WaitGroup
}

func newEventStream(c *call) *eventStream {
	s := &eventStream{c: c, out: http.NewResponseController(c.W), done: make(chan struct{})}
	s.over.Go(s.keepAlive)
	return s
}

func (s *eventStream) keepAlive() {
	ticker := time.NewTicker(keepAlive)
	defer ticker.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-ticker.C:
			if s.write(sse.AppendComment(nil, "alive")) != nil {
				return
			}
		}
	}
}

// stop ends the comments. Nothing is written after it returns.
func (s *eventStream) stop() {
	close(s.done)
	s.over.Wait()
}

func (s *eventStream) send(e eventView) error {
	text, err := json.Marshal(e, rest.Lenient)
	if err != nil {
		return err
	}
	return s.write(sse.AppendEvent(nil, sse.Event{Type: []byte(e.Type), ID: strconv.AppendInt(nil, e.Seq, 10), Data: text}))
}

func (s *eventStream) write(frame []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.c.W.Write(frame); err != nil {
		return err
	}
	return s.out.Flush()
}

// endedWithKey sends a reader whose key ended that error, as the last event. In the stream of a response, n is its number.
func (s *eventStream) endedWithKey(n int) {
	if err := s.c.keyEnded(); err != nil {
		_ = s.write(s.c.errorEvent(penstock.AsError(err), []byte("error"), n)) // the reader may have left as well
	}
}

// beginEvents sends the headers of an event stream, which no proxy may buffer.
func (c *call) beginEvents() {
	h := c.W.Header()
	h.Set("Content-Type", rest.TypeSSE)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	c.W.WriteHeader(http.StatusOK)
}
