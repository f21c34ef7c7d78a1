package live

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/sse"
)

const (
	// Heartbeat is the interval of comments on a silent stream.
	Heartbeat = 15 * time.Second
	// retry is how long a reader waits before it reconnects. A process that drains asks for a longer time.
	retry, retryDraining = time.Second, 2 * time.Second
	// maxFrames is how many events are written at a time.
	maxFrames = 256
)

// Reader is who reads a stream, and the events that it gets.
type Reader struct {
	Name   string            // of the key or the person, for the bound of streams
	Tenant penstock.TenantID // "" for the events of all tenants
	Topics []Topic
	// After is the id of the last event that the reader got on an earlier stream; "" for none.
	After string
}

// Stream is an open stream.
type Stream struct {
	Reader
	hub  *Hub
	at   int64 // the last event that was written
	gone bool  // events between at and the oldest event of the ring were missed
	c    chan struct{}
}

// ReadTopics reads a list of topics, separated by commas; all of the known for an empty one. Codes: invalid_request.
func ReadTopics(list string, known []Topic) ([]Topic, error) {
	if list == "" {
		return known, nil
	}
	var topics []Topic
	for word := range strings.SplitSeq(list, ",") {
		topic := Topic(strings.TrimSpace(word))
		if !slices.Contains(known, topic) {
			return nil, penstock.InvalidParam("topics", "topics must be a list of %v, separated by commas.", known)
		}
		if !slices.Contains(topics, topic) {
			topics = append(topics, topic)
		}
	}
	return topics, nil
}

// Open opens a stream, until Close. Codes: rate_limited.
func (h *Hub) Open(r Reader) (*Stream, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.readers[r.Name] >= MaxStreamsPerReader || len(h.streams) >= MaxStreams {
		return nil, penstock.Errorf(penstock.CodeRateLimited, "%d live streams are open for %s and %d in all on this process; the maximum is %d and %d. Close one, or wait until one ends.",
			h.readers[r.Name], r.Name, len(h.streams), MaxStreamsPerReader, MaxStreams)
	}
	s := &Stream{Reader: r, hub: h, c: make(chan struct{}, 1), at: h.seq}
	if r.After != "" {
		s.at, s.gone = h.resume(r.After)
		s.wake()
	}
	h.streams[s] = struct{}{}
	h.readers[r.Name]++
	select {
	case h.woke <- struct{}{}:
	default: // the hub is about to look
	}
	return s, nil
}

// resume is the position of an id, and whether events behind it were missed. For a topic that nobody follows the hub
// produces no events, except for a while after its last reader left: an older id is not resumed. The hub is locked.
func (h *Hub) resume(id string) (at int64, missed bool) {
	var seq, written int64
	rest, ours := strings.CutPrefix(id, h.epoch+"-")
	n, err := fmt.Sscanf(rest, "%d-%d", &seq, &written)
	if !ours || err != nil || n != 2 || seq > h.seq || seq < h.oldest()-1 || h.Clock().Sub(time.Unix(written, 0)) >= linger {
		return h.seq, true
	}
	return seq, false
}

// oldest is the number of the oldest event of the ring. The hub is locked.
func (h *Hub) oldest() int64 { return h.seq - int64(len(h.ring)) + 1 }

// Close ends the stream.
func (s *Stream) Close() {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, s)
	if h.readers[s.Name]--; h.readers[s.Name] == 0 {
		delete(h.readers, s.Name)
	}
}

// wants reports whether the stream gets an event.
func (s *Stream) wants(e *event) bool {
	if s.Tenant == "" && !e.all || s.Tenant != "" && s.Tenant != e.tenant && !e.isReset() {
		return false
	}
	return e.topics == nil || slices.ContainsFunc(e.topics, func(t Topic) bool { return slices.Contains(s.Topics, t) })
}

// isReset reports whether the event asks every reader to fetch again.
func (e *event) isReset() bool { return e.kind == TypeReset }

func (s *Stream) wake() {
	select {
	case s.c <- struct{}{}:
	default: // it has a signal that it has not received yet
	}
}

// next takes the events that the reader lacks, without those that a later event replaces. Missed means that it lacks
// events that the ring does not have any more.
func (s *Stream) next() (events []event, last int64, missed bool) {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	missed = s.gone || s.at < h.oldest()-1
	s.gone = false
	latest := map[string]int{}
	first := max(int(s.at-h.oldest()+1), 0)
	for i := first; i < len(h.ring); i++ {
		e := &h.ring[i]
		s.at = e.seq
		if !s.wants(e) {
			continue
		}
		if at, known := latest[e.key]; known {
			events[at] = event{}
		}
		latest[e.key] = len(events)
		events = append(events, *e)
		if len(events) == maxFrames {
			s.wake() // for the rest
			break
		}
	}
	if len(h.ring) == 0 {
		s.at = h.seq
	}
	return slices.DeleteFunc(events, func(e event) bool { return e.seq == 0 }), s.at, missed
}

// Output is where the frames of a stream go.
type Output interface {
	Write(frame []byte) (int, error)
	Send() error
}

// Follow writes the events of a stream as they happen, until the reader leaves or ctx ends. It ends with the time after
// which the reader may reconnect.
func (s *Stream) Follow(ctx context.Context, out Output) error {
	heartbeat := time.NewTicker(Heartbeat)
	defer heartbeat.Stop()
	frame := fmt.Appendf(nil, "retry: %d\n", retry.Milliseconds())
	frame = append(frame, s.frame(s.position(), TypeHello, Hello{Type: TypeHello, Topics: s.Topics, AsOf: s.hub.Clock().UTC()})...)
	for {
		if _, err := out.Write(frame); err != nil {
			return err
		}
		if err := out.Send(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			_, err := out.Write(fmt.Appendf(nil, "retry: %d\n\n", retryDraining.Milliseconds()))
			return err
		case <-heartbeat.C:
			frame = fmt.Appendf(frame[:0], ": alive\nid: %s\n\n", s.hub.id(s.position()))
		case <-s.c:
			frame = s.frames(frame[:0])
		}
	}
}

// position is the number of the last event that the reader has.
func (s *Stream) position() int64 {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	return s.at
}

// frames appends the events that the reader lacks.
func (s *Stream) frames(dst []byte) []byte {
	events, last, missed := s.next()
	if missed {
		return append(dst, s.frame(last, TypeReset, Reset{Type: TypeReset, Topics: s.Topics})...)
	}
	for _, e := range events {
		dst = sse.AppendEvent(dst, sse.Event{Type: []byte(e.kind), ID: s.hub.id(e.seq), Data: e.data})
	}
	return dst
}

// id is the id of an event, for Last-Event-ID: the process, the position, and the time at which it is written.
func (h *Hub) id(seq int64) []byte {
	return fmt.Appendf(nil, "%s-%d-%d", h.epoch, seq, h.Clock().Unix())
}

// frame is an event of this stream alone.
func (s *Stream) frame(seq int64, kind Type, data any) []byte {
	text, err := json.Marshal(data)
	if err != nil {
		return nil // the types of this package have no value that cannot be encoded
	}
	return sse.AppendEvent(nil, sse.Event{Type: []byte(kind), ID: s.hub.id(seq), Data: text})
}
