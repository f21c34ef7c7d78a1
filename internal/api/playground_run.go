package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/playground"
	"penstock/internal/playground/position"
	"penstock/internal/rest"
	"penstock/internal/sse"
)

// runs answers the calls on the playground.
type runs struct{ *call }

// playgroundRunChange changes a run.
type playgroundRunChange struct {
	Name *string `json:"name" about:"null removes the name."`
}

// playgroundStopOrder stops cells.
type playgroundStopOrder struct {
	Column *int `json:"column" about:"The number of a column, from 0; null for all."`
}

// playgroundMarkOrder judges a cell.
type playgroundMarkOrder struct {
	Rating     *int   `json:"rating" about:"1, -1 or null."`
	Comment    string `json:"comment,omitzero"`
	Correction string `json:"correction,omitzero" about:"The answer as it should have been."`
}

// playgroundShareOrder shares a run.
type playgroundShareOrder struct {
	RunID     string               `json:"run_id" required:"true"`
	Kind      playground.ShareKind `json:"kind" required:"true" about:"role: people of the tenant with the role open the live run. snapshot: people of the tenant who have the link open a copy."`
	Role      penstock.Role        `json:"role,omitzero" about:"Of kind role. viewer is everyone in the tenant; admin includes all other roles."`
	ExpiresIn string               `json:"expires_in,omitzero" about:"Of kind snapshot: a duration such as 168h, from 1h to 2160h."`
}

// playgroundShareView is a share.
type playgroundShareView struct {
	ID        string               `json:"id"`
	Object    string               `json:"object"`
	RunID     string               `json:"run_id"`
	Kind      playground.ShareKind `json:"kind"`
	Role      *penstock.Role       `json:"role"`
	URL       string               `json:"url" about:"The page of the share, below the address of the console."`
	CreatedBy playgroundActorView  `json:"created_by"`
	CreatedAt time.Time            `json:"created_at"`
	ExpiresAt *time.Time           `json:"expires_at"`
}

// playgroundOpenShareView is a share with the run as it is shared.
type playgroundOpenShareView struct {
	playgroundShareView
	Run playgroundRunView `json:"run"`
}

// playgroundEstimateView is what a setup would use.
type playgroundEstimateView struct {
	Object    string                         `json:"object"`
	Columns   []playgroundColumnEstimateView `json:"columns"`
	Calls     int                            `json:"calls" about:"How many calls the run makes, without those after tool calls."`
	AtMostUSD string                         `json:"at_most_usd"`
	Remaining *string                        `json:"remaining_today_usd" about:"Of your daily budget in the playground; null without one."`
}

type playgroundColumnEstimateView struct {
	Model       *string                       `json:"model"`
	InputTokens int64                         `json:"input_tokens" about:"Of all calls of the column, counted by the embedded tokenizer."`
	AtMostUSD   string                        `json:"at_most_usd" about:"Of all calls of the column."`
	Error       *playgroundColumnErrorView    `json:"error" about:"Why the column cannot run; null if it can."`
	Rendered    *playgroundColumnRenderedView `json:"rendered" about:"The first row; null after an error."`
}

type playgroundColumnErrorView struct {
	Code    penstock.Code `json:"code"`
	Message string        `json:"message"`
	Param   *string       `json:"param"`
}

type playgroundColumnRenderedView struct {
	Messages []promptMessage           `json:"messages"`
	Config   map[string]jsontext.Value `json:"config"`
}

// playgroundExportView is a line of an export.
type playgroundExportView struct {
	RunID     string                    `json:"run_id"`
	Variables jsontext.Value            `json:"variables"`
	Messages  jsontext.Value            `json:"messages" about:"As they were sent."`
	Config    map[string]jsontext.Value `json:"config" about:"The other members of the body."`
	playgroundCellView
}

func newPlaygroundShareView(s playground.Share) playgroundShareView {
	v := playgroundShareView{ID: playground.ViewShare.Format(s.ID), Object: "playground.share", RunID: playground.ViewRun.Format(s.Run), Kind: s.Kind, URL: shareURL(s),
		CreatedBy: newPlaygroundActorView(s.CreatedBy), CreatedAt: stamp(s.CreatedAt), ExpiresAt: optional(s.ExpiresAt)}
	if s.Role != "" {
		v.Role = &s.Role
	}
	return v
}

func (c runs) decode(into any) error { return prompts(c).decode(into) }

// runID is the run in the path.
func (c runs) runID() (penstock.ID, error) { return c.PathID(playground.ViewRun) }

// opened answers with a run.
func (c runs) opened(status int, o playground.Opened) error {
	c.W.Header().Set("ETag", rest.ETag(o.Revision))
	return c.JSON(status, newPlaygroundRunView(o))
}

// reveal records that a person reads the run of somebody else.
func (c runs) reveal(r playground.Run) error {
	if r.Mine || c.People == nil || c.Principal.Person == nil {
		return nil
	}
	return c.People.Reveal(c.R.Context(), rest.Reveal{Actor: c.Principal.Actor(), Tenant: c.Principal.Tenant.ID, Subject: playground.ViewRun.Format(r.ID), Route: c.R.Pattern})
}

func (c runs) estimate() error {
	var in playgroundRunOrder
	if err := c.decode(&in); err != nil {
		return err
	}
	e, err := c.Playground.Estimate(c.R.Context(), c.Principal, in.Setup.setup())
	if err != nil {
		return err
	}
	view := playgroundEstimateView{Object: "playground.estimate", Columns: []playgroundColumnEstimateView{}, Calls: e.Calls, AtMostUSD: e.AtMost.String()}
	if e.Remaining != nil {
		view.Remaining = text(e.Remaining.String())
	}
	for _, column := range e.Columns {
		one := playgroundColumnEstimateView{Model: text(column.Model), InputTokens: column.InputTokens, AtMostUSD: column.AtMost.String()}
		if column.Err != nil {
			one.Error = &playgroundColumnErrorView{column.Err.Code, column.Err.Message, text(column.Err.Param)}
		} else {
			one.Rendered = &playgroundColumnRenderedView{newPromptMessages(column.Messages), newPromptConfig(column.Config)}
		}
		view.Columns = append(view.Columns, one)
	}
	return c.JSON(http.StatusOK, view)
}

func (c runs) create() error {
	var in playgroundRunOrder
	if err := c.decode(&in); err != nil {
		return err
	}
	o := playground.Order{Setup: in.Setup.setup(), Watch: c.watchRun()}
	if in.Name != nil {
		o.Name = *in.Name
	}
	opened, err := c.Playground.Create(c.R.Context(), c.Principal, o)
	if err != nil {
		return err
	}
	return c.opened(http.StatusCreated, opened)
}

// runWatch ends a run with the key or the session of its author.
type runWatch struct{ end func(error) }

// End implements directory.OpenCall.
func (w *runWatch) End(why error) { w.end(why) }

// watchRun ends a run when the credential of the call ends.
func (c runs) watchRun() playground.Watch {
	keys, people, request, person := c.Keys, c.People, c.R, c.Principal.Person != nil
	return func(end func(error)) func() {
		w := &runWatch{end}
		switch {
		case person && people != nil:
			people.Watch(w, request)
			return func() { people.Unwatch(w) }
		case !person && keys != nil:
			keys.Watch(w, request)
			return func() { keys.Unwatch(w) }
		}
		return func() {}
	}
}

func (c runs) list() error {
	limit, err := c.PageLimit(pageSize)
	if err != nil {
		return err
	}
	q := c.R.URL.Query()
	p := playground.Page{Author: playground.Authorship(q.Get("author")), Query: q.Get("query"), Limit: limit + 1}
	if p.Author != "" && p.Author != playground.AuthorMe && p.Author != playground.AuthorOthers {
		return penstock.InvalidParam("author", "author must be me or others.")
	}
	if after := q.Get("after"); after != "" {
		if p.Before, err = playground.ViewRun.Parse(after); err != nil {
			return penstock.InvalidParam("after", "after must be the next_after of the previous page.")
		}
	}
	found, err := c.Playground.List(c.R.Context(), c.Principal, p)
	if err != nil {
		return err
	}
	next := ""
	if len(found) > limit {
		found = found[:limit]
		next = playground.ViewRun.Format(found[limit-1].ID)
	}
	data := []playgroundRunSummary{}
	for _, r := range found {
		data = append(data, newPlaygroundRunSummary(r))
	}
	return c.JSON(http.StatusOK, rest.NewCursorPage(data, next))
}

func (c runs) read() error {
	id, err := c.runID()
	if err != nil {
		return err
	}
	o, err := c.Playground.Open(c.R.Context(), c.Principal, id)
	if err == nil {
		err = c.reveal(o.Run)
	}
	if err != nil {
		return err
	}
	return c.opened(http.StatusOK, o)
}

func (c runs) rename() error {
	id, err := c.runID()
	if err != nil {
		return err
	}
	if _, err := c.Playground.Summary(c.R.Context(), c.Principal, id); err != nil { // a stranger learns nothing from the body
		return err
	}
	var in playgroundRunChange
	if err := c.decode(&in); err != nil {
		return err
	}
	order := playground.Rename{ID: id}
	if order.IfRevision, err = rest.IfMatch(c.R); err != nil {
		return err
	}
	if in.Name != nil {
		order.Name = *in.Name
	}
	o, err := c.Playground.Rename(c.R.Context(), c.Principal, order)
	if err != nil {
		return err
	}
	return c.opened(http.StatusOK, o)
}

func (c runs) remove() error {
	id, err := c.runID()
	if err != nil {
		return err
	}
	if err := c.Playground.Delete(c.R.Context(), c.Principal, id); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, deletedView{ID: playground.ViewRun.Format(id), Object: "playground.run", Deleted: true})
}

func (c runs) stop() error {
	id, err := c.runID()
	if err != nil {
		return err
	}
	if _, err := c.Playground.Summary(c.R.Context(), c.Principal, id); err != nil {
		return err
	}
	var in playgroundStopOrder
	if c.R.ContentLength != 0 {
		if err := c.decode(&in); err != nil {
			return err
		}
	}
	order := playground.StopOrder{ID: id, Column: playground.AllColumns}
	if in.Column != nil {
		if order.Column = *in.Column; order.Column < 0 {
			return penstock.InvalidParam("column", "column must be the number of a column, from 0, or null for all.")
		}
	}
	o, err := c.Playground.Stop(c.R.Context(), c.Principal, order)
	if err != nil {
		return err
	}
	return c.opened(http.StatusOK, o)
}

func (c runs) resume() error {
	id, err := c.runID()
	if err != nil {
		return err
	}
	o, err := c.Playground.Resume(c.R.Context(), c.Principal, id, c.watchRun())
	if err != nil {
		return err
	}
	return c.opened(http.StatusOK, o)
}

// follow streams the events of a run.
func (c runs) follow() error {
	id, err := c.runID()
	if err != nil {
		return err
	}
	// The run is checked before the stream begins: afterwards no 404 can be sent.
	r, err := c.Playground.Summary(c.R.Context(), c.Principal, id)
	if err != nil {
		return err
	}
	at := c.R.Header.Get("Last-Event-ID")
	if at == "" {
		at = c.R.URL.Query().Get("after")
	}
	from, err := position.Parse(at)
	if err != nil {
		return err
	}
	if err := c.stayOpen(openStream); err != nil {
		return err
	}
	if err := c.reveal(r); err != nil {
		return err
	}
	c.BeginEvents()
	stream := newEventStream(c.call)
	defer stream.stop()
	ctx, cancel := c.waiting()
	defer cancel()
	for event, err := range c.Playground.Follow(ctx, c.Principal, id, from) {
		if err != nil {
			_ = stream.write(c.errorEvent(penstock.AsError(err), []byte("error"), 0)) // the reader may have left
			return nil
		}
		frame, err := newPlaygroundEvent(event)
		if err != nil || stream.write(frame) != nil {
			return err
		}
	}
	stream.endedWithKey(0)
	return nil
}

// newPlaygroundEvent is an event of a run as it is sent.
func newPlaygroundEvent(e playground.Event) ([]byte, error) {
	var view any
	switch e.Type {
	case playground.EventCell:
		view = newPlaygroundCellView(&e.Cell)
	case playground.EventDelta:
		delta := playgroundDeltaView{Cell: e.Cell.N, Kind: e.Piece.Kind, Text: e.Piece.Text, Offset: e.Piece.Offset}
		if e.Piece.Kind == playground.DeltaArguments {
			delta.Call = &e.Piece.Call
		}
		view = delta
	default:
		view = newPlaygroundRunSummary(e.Run)
	}
	data, err := json.Marshal(view, rest.Lenient)
	if err != nil {
		return nil, err
	}
	return sse.AppendEvent(nil, sse.Event{Type: []byte(e.Type), ID: []byte(e.ID), Data: data}), nil
}

func (c runs) mark() error {
	id, err := c.runID()
	if err != nil {
		return err
	}
	if _, err := c.Playground.Summary(c.R.Context(), c.Principal, id); err != nil {
		return err
	}
	n, err := strconv.Atoi(c.R.PathValue("n"))
	if err != nil || n < 0 || n >= playground.MaxCells {
		return penstock.Errorf(penstock.CodeNotFound, "The run %s has no such cell.", playground.ViewRun.Format(id))
	}
	var in playgroundMarkOrder
	if err := c.decode(&in); err != nil {
		return err
	}
	m := playground.NewMark{Run: id, Cell: n, Mark: playground.Mark{Comment: in.Comment, Correction: in.Correction}}
	if in.Rating != nil {
		if m.Rating = *in.Rating; m.Rating == 0 {
			return penstock.InvalidParam("rating", "rating must be 1, -1 or null.")
		}
	}
	mark, err := c.Playground.Mark(c.R.Context(), c.Principal, m)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newPlaygroundMarkView(mark))
}

// export streams the cells of a run as lines.
func (c runs) export() error {
	id, err := c.runID()
	if err != nil {
		return err
	}
	o, line, err := c.Playground.Lines(c.R.Context(), c.Principal, id)
	if err == nil {
		err = c.reveal(o.Run)
	}
	if err != nil {
		return err
	}
	if format := c.R.URL.Query().Get("format"); format != "" && format != "jsonl" {
		return penstock.InvalidParam("format", "format must be jsonl.")
	}
	if err := c.stayOpen(openDownload); err != nil {
		return err
	}
	c.W.Header().Set("Content-Type", rest.TypeJSONL)
	for i := range o.Cells {
		l, err := line(o.Cells[i])
		if err == nil {
			err = c.writeLine(l)
		}
		if err != nil && i == 0 {
			return err
		}
		if err != nil {
			panic(http.ErrAbortHandler) // so that half of the lines is not taken for all of them
		}
	}
	return nil
}

func (c runs) writeLine(l playground.Line) error {
	view := playgroundExportView{RunID: playground.ViewRun.Format(l.Run.ID), Variables: value(l.Variables), Messages: value(l.Messages), Config: map[string]jsontext.Value{}, playgroundCellView: newPlaygroundCellView(&l.Cell)}
	for name, member := range l.Config {
		view.Config[name] = jsontext.Value(member)
	}
	text, err := json.Marshal(view, rest.Lenient)
	if err != nil {
		return err
	}
	_, err = c.W.Write(append(text, '\n'))
	return err
}

func (c runs) share() error {
	var in playgroundShareOrder
	if err := c.decode(&in); err != nil {
		return err
	}
	o := playground.ShareOrder{Kind: in.Kind, Role: in.Role}
	var err error
	if o.Run, err = playground.ViewRun.Parse(in.RunID); err != nil {
		return &penstock.Error{Code: penstock.CodeNotFound, Param: "run_id", Message: err.Error() + "."}
	}
	if in.ExpiresIn != "" {
		if o.Lifetime, err = time.ParseDuration(in.ExpiresIn); err != nil {
			return penstock.InvalidParam("expires_in", "expires_in must be a duration such as 168h.")
		}
	}
	share, err := c.Playground.Share(c.R.Context(), c.Principal, o)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, newPlaygroundShareView(share))
}

func (c runs) listShares() error {
	id, err := playground.ViewRun.Parse(c.R.URL.Query().Get("run_id"))
	if err != nil {
		return &penstock.Error{Code: penstock.CodeNotFound, Param: "run_id", Message: err.Error() + "."}
	}
	all, err := c.Playground.ListShares(c.R.Context(), c.Principal, id)
	if err != nil {
		return err
	}
	page := rest.Page[playgroundShareView]{Object: "list", Data: []playgroundShareView{}}
	for _, s := range all {
		page.Data = append(page.Data, newPlaygroundShareView(s))
	}
	return c.JSON(http.StatusOK, page)
}

func (c runs) openShare() error {
	id, err := c.PathID(playground.ViewShare)
	if err != nil {
		return err
	}
	share, o, err := c.Playground.OpenShare(c.R.Context(), c.Principal, id)
	if err == nil {
		err = c.reveal(o.Run)
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, playgroundOpenShareView{newPlaygroundShareView(share), newPlaygroundRunView(o)})
}

func (c runs) unshare() error {
	id, err := c.PathID(playground.ViewShare)
	if err != nil {
		return err
	}
	if err := c.Playground.Unshare(c.R.Context(), c.Principal, id); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, deletedView{ID: playground.ViewShare.Format(id), Object: "playground.share", Deleted: true})
}
