package api

import (
	"bufio"
	"compress/gzip"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"penstock"
	"penstock/internal/dialect/line"
	"penstock/internal/store"
)

// resultPage is how many results are read from the store at a time, or fewer where they are large. The next page is
// read while one is written, so two of them bound the memory of a stream.
const resultPage = 1024

// streamResults writes what is finished by now, one line each, and ends.
func (c *call) streamResults() error {
	id, err := c.pathID(penstock.ViewJob)
	if err != nil {
		return err
	}
	p, err := c.resultPage()
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", typeJSONL)
	return c.stream(results{[]penstock.ID{id}, p, store.BatchNative})
}

// results are what is to be read: those of a job behind a place, or of several jobs one behind the other, in the
// format of one API.
type results struct {
	jobs []penstock.ID
	page store.ResultPage
	kind store.BatchKind
}

// resultsRead is a page of results, or why there is none.
type resultsRead struct {
	items []penstock.Item
	err   error
}

// stream writes results.
func (c *call) stream(r results) error {
	if err := c.stayOpen(openDownload); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.r.Context())
	defer cancel()
	pages := make(chan resultsRead)
	go c.readAhead(ctx, r, pages)
	var out *lineWriter
	for read := range pages {
		if read.err != nil {
			if out != nil {
				out.abort()
			}
			return read.err
		}
		if out == nil {
			out = c.lines()
		}
		for _, item := range read.items {
			if err := (line.Writer{Failure: ItemFailure}).WriteLine(out.w, r.kind, item); err != nil {
				return err
			}
		}
	}
	if c.r.Context().Err() != nil && out != nil {
		out.abort() // the caller left, or its key ended: some pages are missing
	}
	if out == nil {
		return c.keyEnded() // or the caller left
	}
	return out.close()
}

// readAhead reads the pages of a stream until the last one, or until ctx ends.
func (c *call) readAhead(ctx context.Context, r results, pages chan<- resultsRead) {
	defer close(pages)
	for _, job := range r.jobs {
		p := r.page
		for more := true; more; {
			var items []penstock.Item
			var err error
			items, more, err = c.Jobs.Results(ctx, c.caller.Tenant.ID, job, p)
			select {
			case pages <- resultsRead{items, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
			if !more {
				break
			}
			last := items[len(items)-1]
			p.After = last.Seq
			if p.Order == store.OrderInput {
				p.After = int64(last.Index)
			}
		}
	}
}

func (c *call) resultPage() (store.ResultPage, error) {
	q := c.r.URL.Query()
	p := store.ResultPage{Order: store.Order(q.Get("order")), Status: penstock.Status(q.Get("status")), Limit: resultPage}
	switch p.Order {
	case "":
		p.Order = store.OrderCompletion
	case store.OrderCompletion, store.OrderInput:
	default:
		return p, penstock.InvalidParam("order", "order must be completion or input.")
	}
	if err := checkStatus(p.Status, penstock.Statuses[2:]); err != nil {
		return p, err
	}
	var err error
	p.After, err = c.queryInt("after", -1)
	return p, err
}

// lineWriter writes lines of JSON, compressed if the caller takes it.
type lineWriter struct {
	w    *bufio.Writer
	gzip *gzip.Writer
}

// lineBuffer is how much is sent at a time.
const lineBuffer = 64 << 10

func (c *call) lines() *lineWriter {
	h := c.w.Header()
	h.Set("Vary", "Accept-Encoding")
	out := &lineWriter{w: bufio.NewWriterSize(c.w, lineBuffer)}
	if acceptsGzip(c.r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		out.gzip, _ = gzip.NewWriterLevel(c.w, gzip.BestSpeed) // the level is a constant that it knows
		out.w.Reset(out.gzip)
	}
	c.w.WriteHeader(http.StatusOK)
	return out
}

// acceptsGzip reads Accept-Encoding: gzip by name, or any, unless its weight is zero.
func acceptsGzip(header string) bool {
	accepted := map[string]bool{}
	for part := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		weight, given := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=")
		q, err := strconv.ParseFloat(weight, 64)
		accepted[strings.ToLower(strings.TrimSpace(name))] = !given || (err == nil && q > 0)
	}
	if gzip, named := accepted["gzip"]; named {
		return gzip
	}
	return accepted["*"]
}

func (w *lineWriter) close() error {
	if err := w.w.Flush(); err != nil || w.gzip == nil {
		return err
	}
	return w.gzip.Close()
}

// abort cuts the connection, so that a reader does not take half of the results for all of them.
func (w *lineWriter) abort() { panic(http.ErrAbortHandler) }

// keepAlive is how often a silent stream says that it is still there.
const keepAlive = 15 * time.Second

// streamEvents follows a job's log.
func (c *call) streamEvents() error {
	id, err := c.pathID(penstock.ViewJob)
	if err != nil {
		return err
	}
	after, err := c.eventCursor()
	if err != nil {
		return err
	}
	if err := c.stayOpen(openStream); err != nil {
		return err
	}
	// The log must be there before the stream begins: afterwards neither a 404 nor a 410 can be said.
	page := store.EventPage{Job: id, After: after, Limit: 1, Kept: c.caller.Tenant.Retention.Events}
	if _, err := c.Jobs.Events(c.r.Context(), c.caller.Tenant.ID, page); err != nil {
		return err
	}
	c.beginEvents()
	stream := newEventStream(c)
	defer stream.stop()
	ctx, cancel := c.patient()
	defer cancel()
	for event, err := range c.Reader.Follow(ctx, c.caller.Tenant.ID, page) {
		if err != nil {
			c.fail(err)
			panic(http.ErrAbortHandler) // so that the reader comes back instead of taking this for the end
		}
		if err := stream.send(newEventView(event)); err != nil {
			return nil // the reader left
		}
	}
	stream.endedWithKey()
	return nil
}

// eventCursor is where the reader was: ?after= or, from a browser that comes back, Last-Event-ID.
func (c *call) eventCursor() (int64, error) {
	if last := c.r.Header.Get("Last-Event-ID"); last != "" && !c.r.URL.Query().Has("after") {
		n, err := strconv.ParseInt(last, 10, 64)
		if err != nil || n < 0 {
			return 0, penstock.InvalidParam("Last-Event-ID", "Last-Event-ID must be the id of an event of this stream.")
		}
		return n, nil
	}
	return c.queryInt("after", 0)
}

func (c *call) readItem() error {
	id, err := c.pathID(penstock.ViewItem)
	if err != nil {
		return err
	}
	item, err := c.Jobs.Item(c.r.Context(), c.caller.Tenant.ID, id)
	if err != nil {
		return err
	}
	attempts, err := c.Jobs.Attempts(c.r.Context(), c.caller.Tenant.ID, id)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, itemView{
		resultView: newResultView(item), Object: "item", JobID: penstock.ViewJob.Format(item.Job), History: newAttemptViews(attempts),
	})
}

func (c *call) readRequest() error {
	id, err := c.pathID(penstock.ViewRequest)
	if err != nil {
		return err
	}
	r, err := c.Requests.Request(c.r.Context(), c.caller.Tenant.ID, id)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, newRequestView(r))
}
