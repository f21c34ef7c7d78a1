package wire

import (
	"bytes"
	"io"
	"time"

	"penstock/internal/provider"
	"penstock/internal/sse"
)

const (
	// maxEventBytes bounds one event of a stream. Those with an image or sound inside have megabytes.
	maxEventBytes = 16 << 20
	// maxPreambleBytes bounds the comments that are kept from before the first event. Some servers
	// send one each second while a request waits; past this they are left out.
	maxPreambleBytes = 64 << 10
	// After the last event only the end of the body is still to come. It is worth a short wait,
	// because with it the connection can be used again. The caller gets the last event after it, so it is short indeed.
	maxDrainBytes = 4 << 10
	drainTimeout  = 25 * time.Millisecond
)

// streamAnswer is an answer that arrives event by event.
type streamAnswer struct {
	ex     *exchange
	events *sse.Reader
	meta   provider.Meta

	first   *provider.Chunk // what openStream read ahead, until Next returns it
	started bool            // an event with content was read
	err     error           // how the answer ended, nil until then
}

// openStream reads up to the first event with content. Comments and pings before it prove nothing: a
// server may send them for a minute and then an error. The caller gets them with that first event.
func (ex *exchange) openStream(call *provider.Call, meta provider.Meta) (provider.Answer, error) {
	if !call.Stream {
		// A caller of a plain answer cannot read events, and a job cannot keep them.
		return nil, ex.fail(provider.KindMalformed, nil, "the answer is an event stream although none was asked for")
	}
	// Ordinary events need no memory that is worth counting, so the first bytes are not asked for.
	ex.body.meter(ex.memory, leastTake)
	var stream io.Reader = &ex.body
	if ex.isFramed() {
		stream = ex.framing.Events(stream)
	}
	a := &streamAnswer{ex: ex, meta: meta}
	a.events = sse.NewReader(stream, min(maxEventBytes, ex.client.cfg.MaxAnswerBytes))
	var preamble []byte
	for {
		chunk, err := a.read()
		if err != nil {
			return nil, err
		}
		if a.started && len(preamble) > 0 {
			chunk.Wire = append(preamble, chunk.Wire...)
		}
		if a.started {
			ex.watch.leave()
			ex.wait.begun, ex.wait.limit = true, call.Timeouts.Idle
			a.first = &chunk
			break
		}
		if len(preamble)+len(chunk.Wire) <= maxPreambleBytes {
			preamble = append(preamble, chunk.Wire...)
		}
	}
	// The watchdog may have ended the exchange while the first event arrived. If that is returned now,
	// another target can still be tried.
	if e := ex.interrupted(nil); e != nil {
		return nil, e
	}
	return a, nil
}

// isFramed says whether the answer is a stream in the framing of its protocol.
func (ex *exchange) isFramed() bool {
	return ex.framing != nil && mediaType(ex.resp.Header) == ex.framing.Type
}

func (a *streamAnswer) Next() (provider.Chunk, error) {
	if a.first == nil && a.err == nil {
		a.events.Await()
		a.ex.waited()
	}
	return a.take()
}

// take is Next when there is nothing to wait for. It is apart from it because a stream waits on the stack of that.
func (a *streamAnswer) take() (provider.Chunk, error) {
	if a.first != nil {
		chunk := *a.first
		a.first = nil
		return chunk, nil
	}
	if a.err != nil {
		return provider.Chunk{}, a.err
	}
	chunk, err := a.read()
	if err != nil {
		a.err = err
		a.ex.close()
	}
	return chunk, err
}

// read returns the next frame as a chunk. After the terminator it has set err to io.EOF.
func (a *streamAnswer) read() (provider.Chunk, error) {
	ev, err := a.events.Next()
	a.ex.body.held = 0 // the events before this one are gone
	ev.Data = bytes.TrimSpace(ev.Data)
	if err != nil {
		return a.ending(ev, err)
	}
	if len(ev.Data) == 0 {
		return provider.Chunk{Wire: ev.Raw, More: a.more()}, nil
	}
	part, err := a.ex.reader.Event(ev)
	a.ex.trace.Read(ev.Data)
	a.started = a.started || !part.Alive
	switch {
	case err != nil:
		return provider.Chunk{}, a.ex.fail(provider.KindMalformed, err, "an event of the stream is not a part of %s", a.ex.wanted)
	case part.Failed:
		return provider.Chunk{}, a.ex.explain(ev.Data, nil)
	case part.Last:
		a.err = io.EOF
	case part.Hidden:
		ev.Raw = nil
	}
	return provider.Chunk{Wire: ev.Raw, Text: part.Text, Last: part.Last, More: !part.Last && a.more()}, nil
}

// more says whether the next event has arrived, or the caller is told before it is waited for.
func (a *streamAnswer) more() bool { return a.ex.wait.announce != nil || a.events.Ready() }

// ending decides what the end of the body means. ev is what there is of a frame without its end.
func (a *streamAnswer) ending(ev sse.Event, err error) (provider.Chunk, error) {
	if err == io.ErrUnexpectedEOF && len(ev.Data) > 0 {
		// A last frame without its blank line is fine if it is the terminator; see sse.Reader.
		if part, invalid := a.ex.reader.Event(ev); invalid == nil && part.Last {
			a.started, a.err = true, io.EOF
			return provider.Chunk{Wire: ev.Raw, Text: part.Text, Last: true}, nil
		}
	}
	if e := a.ex.interrupted(err); e != nil {
		// A server that sees the call end may still end its answer, and that may arrive before the connection is closed.
		return provider.Chunk{}, e
	}
	ended := err == io.EOF || err == io.ErrUnexpectedEOF
	switch {
	case ended && !a.started && mediaType(a.ex.resp.Header) != typeStream && !a.ex.isFramed():
		said := a.ex.client.withoutKey(a.ex.resp.Header.Get("Content-Type"))
		return provider.Chunk{}, a.ex.fail(provider.KindMalformed, nil, "the answer is no event stream but %.80q", said)
	case err == io.EOF:
		return provider.Chunk{}, a.ex.fail(provider.KindTruncated, nil, "the stream ended without its terminator")
	default:
		return provider.Chunk{}, a.ex.brokeOff(err)
	}
}

// Meta includes the usage that was reported so far, also when the answer broke off.
func (a *streamAnswer) Meta() provider.Meta {
	meta := a.meta
	setUsage(&meta, a.ex.reader)
	a.ex.trace.Into(&meta)
	return meta
}

// drain reads up to the end of the body. An error is no matter: the connection is closed then.
func (a *streamAnswer) drain() {
	var rest [256]byte
	for left := maxDrainBytes; left > 0; {
		n, err := a.ex.body.Read(rest[:])
		if err != nil {
			return
		}
		left -= n
	}
}

func (a *streamAnswer) Close() error {
	if a.err == io.EOF {
		a.ex.wait.limit = drainTimeout
		a.drain()
	}
	a.events.Close()
	if a.err == nil {
		a.err = a.ex.fail(provider.KindCancelled, nil, "the answer was closed before it was complete")
	}
	a.ex.close()
	return nil
}
