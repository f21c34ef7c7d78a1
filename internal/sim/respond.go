package sim

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"
)

// Content types of an answer.
const (
	plainType  = "application/json"
	streamType = "text/event-stream; charset=utf-8"
)

// respond gives the answer, bent by the fault if there is one.
func (s *Server) respond(ctx context.Context, x *exchange) error {
	if x.outcome.fault == FaultHang {
		return s.hang(ctx)
	}
	if !x.call.dry {
		x.outcome.inputTokens = x.answer.inputTokens
	}
	if x.call.stream {
		return s.stream(ctx, x)
	}
	return s.answerPlainly(ctx, x)
}

func (s *Server) hang(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return errClientLeft
	case <-s.done:
		return errClosed
	}
}

// answerPlainly takes as long as the stream would.
func (s *Server) answerPlainly(ctx context.Context, x *exchange) error {
	rest := time.Duration(max(x.answer.outputTokens-1, 0)) * x.gap()
	if err := s.wait(ctx, x.latency()+x.vary(rest)); err != nil {
		return err
	}
	body := x.call.responder.plain(x.answer)
	half := len(body) / 2
	switch x.outcome.fault {
	case FaultErrorMidStream:
		f, _ := failureOf(FaultServerError)
		return f
	case FaultErrorIn200:
		_, body = x.endpoint.dialect.describe(overloaded(), x.requestID())
	case FaultMalformed:
		body = body[:half]
	default:
		x.outcome.outputTokens = x.answer.outputTokens
	}
	x.open(plainType)
	x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if x.outcome.fault == FaultDisconnect || x.outcome.fault == FaultStall {
		if err := x.send(body[:half]); err != nil {
			return err
		}
		if _, err := s.strike(ctx, x); err != nil {
			return err
		}
		body = body[half:]
	}
	// A long body goes out as it is written, but a last byte by itself waits until the handler returns.
	last := len(body) - 1
	if err := x.write(body[:last]); err != nil {
		return err
	}
	return x.write(body[last:])
}

func (s *Server) stream(ctx context.Context, x *exchange) error {
	// The one token that a fault strikes: not always the first, never none.
	struck := 1 + x.rng.IntN(max(x.answer.outputTokens-1, 1))
	due := time.Now().Add(x.latency())
	if err := s.wait(ctx, time.Until(due)); err != nil {
		return err
	}
	x.open(x.streamType())
	if x.outcome.fault == FaultErrorIn200 {
		return x.write(x.endpoint.dialect.errorEvent(overloaded(), x.requestID()))
	}
	for f := range x.call.responder.(streamer).frames(x.answer) {
		// What was written before: the last event itself waits until the handler returns.
		if err := x.flush(); err != nil {
			return err
		}
		before := x.outcome.outputTokens
		if err := s.generate(ctx, x, f, &due); err != nil {
			return err
		}
		if struck <= before || struck > x.outcome.outputTokens {
			if err := x.write(f.data); err != nil {
				return err
			}
			continue
		}
		if over, err := s.sendStruck(ctx, x, f.data); over || err != nil {
			return err
		}
	}
	return nil
}

// generate waits for the tokens of a frame. Each is due at a time that counts from when the token before was
// due, so that the time it takes to send does not slow the pace.
func (s *Server) generate(ctx context.Context, x *exchange, f frame, due *time.Time) error {
	n := f.hidden
	if f.token {
		n++
	}
	if n == 0 {
		return nil
	}
	gaps := n
	if x.outcome.outputTokens == 0 {
		gaps-- // the latency was the time to the first token
	}
	if gaps > 0 {
		*due = due.Add(x.vary(time.Duration(gaps) * x.gap()))
		if err := s.wait(ctx, time.Until(*due)); err != nil {
			return err
		}
	}
	x.outcome.outputTokens += n
	return nil
}

// sendStruck sends the event on which the stream's fault acts, if it has one, and reports whether the stream is
// over.
func (s *Server) sendStruck(ctx context.Context, x *exchange, event []byte) (over bool, err error) {
	if x.outcome.fault == FaultMalformed {
		event = x.breakEvent(event)
	}
	if err := x.send(event); err != nil {
		return true, err
	}
	return s.strike(ctx, x)
}

// strike lets the fault act on an answer under way, and reports whether the answer is over.
func (s *Server) strike(ctx context.Context, x *exchange) (over bool, err error) {
	switch x.outcome.fault {
	case FaultDisconnect:
		return true, errCut
	case FaultErrorMidStream:
		return true, x.write(x.endpoint.dialect.errorEvent(overloaded(), x.requestID()))
	case FaultStall:
		return false, s.wait(ctx, x.config.Stall)
	}
	return false, nil
}

// streamType is the content type of the dialect's streams.
func (x *exchange) streamType() string {
	if d, ok := x.endpoint.dialect.(framed); ok {
		return d.streamType()
	}
	return streamType
}

// breakEvent breaks an event of the dialect.
func (x *exchange) breakEvent(event []byte) []byte {
	if d, ok := x.endpoint.dialect.(framed); ok {
		return d.breakEvent(event)
	}
	return breakEvent(event)
}

// breakEvent cuts the JSON of an event in half and leaves the event itself well formed.
func breakEvent(event []byte) []byte {
	start := bytes.LastIndex(event, []byte("data: ")) + len("data: ")
	end := start + (len(event)-start)/2
	return append(bytes.Clone(event[:end]), "\n\n"...)
}

// open sets the headers of a good answer; the first byte of the body sends them.
func (x *exchange) open(contentType string) {
	x.setHeaders(0)
	x.w.Header().Set("Content-Type", contentType)
	if x.call.stream {
		x.w.Header().Set("Cache-Control", "no-cache")
		x.outcome.streamed = true
	}
	x.outcome.status = http.StatusOK
}

// send writes a part of the body and sees it off.
func (x *exchange) send(data []byte) error {
	if err := x.write(data); err != nil {
		return err
	}
	return x.flush()
}

func (x *exchange) write(data []byte) error {
	if _, err := x.w.Write(data); err != nil {
		return errClientLeft
	}
	return nil
}

func (x *exchange) flush() error {
	err := http.NewResponseController(x.w).Flush()
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return errClientLeft
	}
	return nil
}

// latency is the time to the first token.
func (x *exchange) latency() time.Duration {
	if x.directives.latency != nil {
		return *x.directives.latency // exactly as asked
	}
	return x.vary(x.config.FirstTokenLatency)
}

// gap is the time between tokens.
func (x *exchange) gap() time.Duration {
	if x.config.TokensPerSecond == 0 {
		return 0
	}
	return time.Duration(float64(time.Second) / x.config.TokensPerSecond)
}

func (x *exchange) vary(d time.Duration) time.Duration {
	if x.config.Jitter == 0 || d == 0 {
		return d
	}
	return time.Duration(float64(d) * (1 + x.config.Jitter*(2*x.rng.Float64()-1)))
}
