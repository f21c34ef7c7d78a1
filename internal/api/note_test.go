package api

// The routes of the worked example of docs/how-to/add-a-capability.md. A real capability has this code in note.go, without the
// tests at the end; its service is one of the Deps.

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/example/note"
	"penstock/internal/rest"
)

// noteService is the service of notes.
type noteService interface {
	Create(ctx context.Context, caller penstock.Principal, text string) (note.Note, error)
	Note(ctx context.Context, caller penstock.Principal, id penstock.ID) (note.Note, error)
	List(ctx context.Context, caller penstock.Principal, p note.Page) ([]note.Note, error)
	Delete(ctx context.Context, caller penstock.Principal, id penstock.ID) error
}

var noteParam = rest.Param{Name: "id", In: "path", About: "The note's id, note_….", Required: true}

// noteRoutes are the routes of notes.
func noteRoutes(s noteService) []rest.Route {
	on := func(serve func(notes) error) func(*rest.Call) error {
		return func(c *rest.Call) error { return serve(notes{callOf(c), s}) }
	}
	return []rest.Route{
		{Method: "POST", Path: "/v1/notes", Audit: rest.Audit{Action: note.ActionCreate}, Scope: penstock.ScopeJobsWrite, Summary: "Write a note", Body: noteOrder{},
			Answers: []rest.Answer{{Status: 201, About: "The note.", Body: noteView{}}}, Serve: on(notes.create)},
		{Method: "GET", Path: "/v1/notes", Scope: penstock.ScopeJobsRead, Summary: "List notes, oldest first",
			Params:  []rest.Param{limitPage, {Name: "after", In: "query", About: "The last id of the previous page."}},
			Answers: []rest.Answer{{Status: 200, About: "A page of notes.", Body: rest.Page[noteView]{}}}, Serve: on(notes.list)},
		{Method: "GET", Path: "/v1/notes/{id}", Scope: penstock.ScopeJobsRead, Summary: "Read a note", Params: []rest.Param{noteParam},
			Answers: []rest.Answer{{Status: 200, About: "The note.", Body: noteView{}}}, Serve: on(notes.read)},
		{Method: "DELETE", Path: "/v1/notes/{id}", Audit: rest.Audit{Action: note.ActionDelete}, Scope: penstock.ScopeJobsWrite, Summary: "Delete a note", Params: []rest.Param{noteParam},
			Answers: []rest.Answer{{Status: 200, About: "The note is deleted.", Body: deletedView{}}}, Serve: on(notes.delete)},
	}
}

// notes answers the calls on notes.
type notes struct {
	*call
	service noteService
}

type noteOrder struct {
	Text string `json:"text" required:"true"`
}

type noteView struct {
	ID        string    `json:"id"`
	Object    string    `json:"object"`
	Text      string    `json:"text"`
	CreatedAt time.Time `json:"created_at"`
}

func newNoteView(n note.Note) noteView {
	return noteView{ID: note.ViewNote.Format(n.ID), Object: "note", Text: n.Text, CreatedAt: stamp(n.CreatedAt)}
}

func (c notes) create() error {
	var in noteOrder
	body, err := c.readBody()
	if err == nil {
		err = rest.Decode(body, &in)
	}
	if err != nil {
		return err
	}
	n, err := c.service.Create(c.R.Context(), c.Principal, in.Text)
	if err != nil {
		return err
	}
	view := newNoteView(n)
	c.W.Header().Set("Location", "/v1/notes/"+view.ID)
	return c.JSON(http.StatusCreated, view)
}

func (c notes) list() error {
	limit, err := c.PageLimit(pageSize)
	if err != nil {
		return err
	}
	p := note.Page{Limit: limit + 1}
	if after := c.R.URL.Query().Get("after"); after != "" {
		if p.After, err = note.ViewNote.Parse(after); err != nil {
			return penstock.InvalidParam("after", "after: %v.", err)
		}
	}
	found, err := c.service.List(c.R.Context(), c.Principal, p)
	if err != nil {
		return err
	}
	out := rest.Page[noteView]{Object: "list", Data: []noteView{}, HasMore: len(found) > limit}
	for _, n := range found[:min(limit, len(found))] {
		out.Data = append(out.Data, newNoteView(n))
	}
	return c.JSON(http.StatusOK, out)
}

func (c notes) read() error {
	id, err := c.PathID(note.ViewNote)
	if err != nil {
		return err
	}
	n, err := c.service.Note(c.R.Context(), c.Principal, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newNoteView(n))
}

func (c notes) delete() error {
	id, err := c.PathID(note.ViewNote)
	if err != nil {
		return err
	}
	if err := c.service.Delete(c.R.Context(), c.Principal, id); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, deletedView{ID: note.ViewNote.Format(id), Object: "note", Deleted: true})
}

// noteStore is a store of notes in memory.
type noteStore map[penstock.ID]note.Note

func (s noteStore) Create(_ context.Context, n note.Note, _ string) (note.Note, error) {
	s[n.ID] = n
	return n, nil
}

func (s noteStore) Note(_ context.Context, tenant penstock.TenantID, id penstock.ID) (note.Note, error) {
	if n, ok := s[id]; ok && n.Tenant == tenant {
		return n, nil
	}
	return note.Note{}, penstock.Errorf(penstock.CodeNotFound, "There is no note %s.", id)
}

func (s noteStore) List(_ context.Context, tenant penstock.TenantID, p note.Page) (found []note.Note, _ error) {
	for _, id := range slices.Sorted(maps.Keys(s)) {
		if s[id].Tenant == tenant && id > p.After && len(found) < p.Limit {
			found = append(found, s[id])
		}
	}
	return found, nil
}

func (s noteStore) Delete(ctx context.Context, tenant penstock.TenantID, id penstock.ID, _ string) error {
	_, err := s.Note(ctx, tenant, id)
	if err == nil {
		delete(s, id)
	}
	return err
}

// The rows of the example give routing, authorization, bounds and errors.
func TestExampleRoutes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	table, err := rest.New(rest.Config{
		Routes: noteRoutes(note.New(noteStore{}, func() {}, time.Now)), Realm: "penstock", Begin: func() rest.Exchange { return &call{Server: r.server} },
		Metrics: r.server.Metrics, Tracer: r.server.Tracer, Log: r.server.Log, Clock: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(table.Handler())
	t.Cleanup(server.Close)
	r.url = server.URL

	created := r.post("/v1/notes", `{"text":"The weir is open."}`)
	at := created.header.Get("Location")
	if created.status != http.StatusCreated || !strings.HasPrefix(at, "/v1/notes/note_") || !strings.Contains(created.body, "The weir is open.") {
		t.Fatalf("created: %+v", created)
	}
	for name, tt := range map[string]struct {
		got    reply
		status int
		body   string
	}{
		"read":           {r.get(at), http.StatusOK, `"object":"note"`},
		"listed":         {r.get("/v1/notes?limit=1"), http.StatusOK, `"has_more":false`},
		"of another":     {r.get(at, "x-api-key", otherKey), http.StatusNotFound, "not_found"},
		"without a key":  {r.get(at, "x-api-key", "psk_wrong"), http.StatusUnauthorized, "invalid_key"},
		"without a text": {r.post("/v1/notes", `{"text":" "}`), http.StatusBadRequest, "text must have 1 to 4096 bytes"},
		"another field":  {r.post("/v1/notes", `{"words":"x"}`), http.StatusBadRequest, "words"},
		"of no such id":  {r.get("/v1/notes/job_1"), http.StatusNotFound, "not_found"},
	} {
		if tt.got.status != tt.status || !strings.Contains(tt.got.body, tt.body) {
			t.Errorf("%s: %d %s", name, tt.got.status, tt.got.body)
		}
	}
	if deleted, gone := r.do(http.MethodDelete, at, ""), r.get(at); deleted.status != http.StatusOK || gone.status != http.StatusNotFound {
		t.Errorf("deleted: %+v, then %+v", deleted, gone)
	}
}

// A row that changes something and says nothing of the audit stops the start.
func TestExampleRoutesAreAudited(t *testing.T) {
	t.Parallel()
	rows := noteRoutes(nil)
	rows[0].Audit = rest.Audit{}
	if _, err := rest.New(rest.Config{Routes: rows}); err == nil {
		t.Errorf("%s %s is served without an audit", rows[0].Method, rows[0].Path)
	}
}
