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
	"penstock/internal/rest"
	"penstock/internal/store"
)

// resultPage is how many results are read from the store at a time, or fewer where they are large. The next page is
// read while one is written, so two of them bound the memory of a stream.
const resultPage = 1024

// streamResults writes the results of the items that have ended, one line each, and ends.
func (c items) streamResults() error {
	id, err := c.PathID(penstock.ViewJob)
	if err != nil {
		return err
	}
	p, err := c.resultPage()
	if err != nil {
		return err
	}
	c.W.Header().Set("Content-Type", rest.TypeJSONL)
	return c.stream(results{[]penstock.ID{id}, p, store.BatchNative})
}

// results describe a stream: the results of a job after a position, or those of several jobs one after the other, in
// the format of one API.
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
func (c items) stream(r results) error {
	if err := c.stayOpen(openDownload); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.R.Context())
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
			if err := (line.Writer{Failure: rest.ItemFailure}).WriteLine(out.w, r.kind, item); err != nil {
				return err
			}
		}
	}
	if c.R.Context().Err() != nil && out != nil {
		out.abort() // the caller left, or its key ended: some pages are missing
	}
	if out == nil {
		return c.keyEnded() // or the caller left
	}
	return out.close()
}

// readAhead reads the pages of a stream until the last one, or until ctx ends.
func (c items) readAhead(ctx context.Context, r results, pages chan<- resultsRead) {
	defer close(pages)
	for _, job := range r.jobs {
		p := r.page
		for more := true; more; {
			var items []penstock.Item
			var err error
			items, more, err = c.Jobs.Results(ctx, c.Principal.Tenant.ID, job, p)
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

func (c items) resultPage() (store.ResultPage, error) {
	q := c.R.URL.Query()
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
	p.After, err = c.QueryInt("after", -1)
	return p, err
}

// lineWriter writes lines of JSON, compressed if the caller accepts that.
type lineWriter struct {
	w    *bufio.Writer
	gzip *gzip.Writer
}

// lineBuffer is how much is sent at a time.
const lineBuffer = 64 << 10

func (c items) lines() *lineWriter {
	h := c.W.Header()
	h.Set("Vary", "Accept-Encoding")
	out := &lineWriter{w: bufio.NewWriterSize(c.W, lineBuffer)}
	if acceptsGzip(c.R.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		out.gzip, _ = gzip.NewWriterLevel(c.W, gzip.BestSpeed) // the level is a valid constant
		out.w.Reset(out.gzip)
	}
	c.W.WriteHeader(http.StatusOK)
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

// abort closes the connection, so that a reader does not take half of the results for all of them.
func (w *lineWriter) abort() { panic(http.ErrAbortHandler) }

// keepAlive is the interval of comments on a silent stream.
const keepAlive = 15 * time.Second

// streamEvents streams a job's log.
func (c items) streamEvents() error {
	id, err := c.PathID(penstock.ViewJob)
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
	// The log is checked before the stream begins: afterwards neither a 404 nor a 410 can be sent.
	page := store.EventPage{Job: id, After: after, Limit: 1, Kept: c.Principal.Tenant.Retention.Events}
	if _, err := c.Jobs.Events(c.R.Context(), c.Principal.Tenant.ID, page); err != nil {
		return err
	}
	c.BeginEvents()
	stream := newEventStream(c.call)
	defer stream.stop()
	ctx, cancel := c.waiting()
	defer cancel()
	for event, err := range c.Reader.Follow(ctx, c.Principal.Tenant.ID, page) {
		if err != nil {
			c.Fail(err)
			panic(http.ErrAbortHandler) // so that the reader reconnects and does not take this for the end
		}
		if err := stream.send(newEventView(event)); err != nil {
			return nil // the reader left
		}
	}
	stream.endedWithKey(0)
	return nil
}

// eventCursor is the reader's position: ?after= or, from a browser that reconnects, Last-Event-ID.
func (c items) eventCursor() (int64, error) {
	if last := c.R.Header.Get("Last-Event-ID"); last != "" && !c.R.URL.Query().Has("after") {
		n, err := strconv.ParseInt(last, 10, 64)
		if err != nil || n < 0 {
			return 0, penstock.InvalidParam("Last-Event-ID", "Last-Event-ID must be the id of an event of this stream.")
		}
		return n, nil
	}
	return c.QueryInt("after", 0)
}

func (c items) readItem() error {
	id, err := c.PathID(penstock.ViewItem)
	if err != nil {
		return err
	}
	item, err := c.Jobs.Item(c.R.Context(), c.Principal.Tenant.ID, id)
	if err != nil {
		return err
	}
	attempts, err := c.Jobs.Attempts(c.R.Context(), c.Principal.Tenant.ID, id)
	if err != nil {
		return err
	}
	result := newResultView(item)
	if !c.Shows() {
		result.Response = nil
	}
	return c.JSON(http.StatusOK, itemView{
		resultView: result, Object: "item", JobID: penstock.ViewJob.Format(item.Job), History: newAttemptViews(attempts), Files: newAttachedViews(item.Files), Truncated: newTruncationView(item.Truncated), Prompt: newPromptUseView(item.Prompt),
	})
}

func (c inferences) readRequest() error {
	id, err := c.PathID(penstock.ViewRequest)
	if err != nil {
		return err
	}
	r, err := c.Requests.Request(c.R.Context(), c.Principal.Tenant.ID, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newRequestView(r))
}
