// Package coedittest is the conformance suite of the store of drafts that several people edit. An engine is right when it passes:
//
//	coedittest.Run(t, func(t *testing.T) (coedittest.Store, *sqldb.DB) { … })
//
// It tests the contracts of package coedit through its service, because the rules of both belong together. Every test has a fresh
// store.
package coedittest

import (
	"sync/atomic"
	"testing"
	"time"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/prompt/changeset"
	"penstock/internal/prompt/coedit"
	"penstock/internal/prompt/content"
	"penstock/internal/signal"
	"penstock/internal/store/sqldb"
)

// Store is what is tested: the drafts, and what their editors share.
type Store struct {
	Prompts  prompt.Prompts
	Drafts   prompt.Drafts
	Shared   coedit.Store
	Log      coedit.Log
	Comments coedit.Comments
	People   coedit.People
}

// Opener returns a fresh, empty store and its database, which live as long as the test.
type Opener func(t *testing.T) (Store, *sqldb.DB)

// Run tests that the stores of open keep the contracts.
func Run(t *testing.T, open Opener) {
	for name, test := range map[string]func(*rig){
		"editors that know different versions converge":        editorsConverge,
		"an update that is sent twice is accepted once":        acceptedOnce,
		"updates change the draft and its ETag":                oneTruth,
		"a draft that is replaced comes in as updates":         replacement,
		"the structure changes by compare-and-set":             structure,
		"a draft of a process without texts gets new names":    olderProcess,
		"the log leads back to every version":                  history,
		"the oldest updates are removed":                       trimming,
		"invalid updates change nothing":                       refusals,
		"concurrent submissions are all accepted":              concurrency,
		"comments move with their text":                        comments,
		"people are shown, move with their text, and leave":    people,
		"a stream has every update once, and says what it is":  following,
		"updates, log and comments count towards the quota":    quota,
		"no method shows or changes the draft of another":      isolation,
		"a discarded draft leaves nothing, and a new one does": discarding,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, db := open(t)
			test(newRig(t, s, db))
		})
	}
}

const (
	acme  penstock.TenantID = "acme"
	umbra penstock.TenantID = "umbra"
)

// rig is what a test works with. The draft of the prompt p belongs to acme.
type rig struct {
	*testing.T
	*coedit.Service
	s   Store
	db  *sqldb.DB
	ids penstock.IDs
	// clock is read by all goroutines of a test. It goes on by a second each time, so that no test meets the bound of writes.
	clock func() time.Time
}

func newRig(t *testing.T, s Store, db *sqldb.DB) *rig {
	start, seconds := time.Now(), atomic.Int64{}
	r := &rig{T: t, s: s, db: db, clock: func() time.Time { return start.Add(time.Duration(seconds.Add(1)) * time.Second) }}
	r.Service = coedit.New(coedit.Deps{Store: s.Shared, Log: s.Log, Comments: s.Comments, People: s.People,
		Changes: signal.NewTopic[coedit.Key](nil, signal.Drafts), Clock: r.clock})
	return r
}

func key(tenant penstock.TenantID, name string) penstock.Principal {
	return penstock.Principal{Kind: penstock.PrincipalKey, Tenant: penstock.Tenant{ID: tenant}, Key: name, Scopes: penstock.Scopes}
}

var ada, ben = key(acme, "ada"), key(acme, "ben")

// client is the id of an editor of a caller.
func client(p penstock.Principal) string {
	return coedit.Tag(p.Tenant.ID, p.Author()) + "-" + "editor1"
}

func (r *rig) must(what string, err error) {
	r.Helper()
	if err != nil {
		r.Fatalf("%s: %v", what, err)
	}
}

func (r *rig) wantCode(what string, err error, want penstock.Code) {
	r.Helper()
	if got := penstock.ErrorCode(err); got != want {
		r.Errorf("%s: got %q (%v), want code %q", what, got, err, want)
	}
}

func textOf(text string) content.Content { return content.Content{Kind: content.KindText, Text: text} }

func chatOf(texts ...string) content.Content {
	c := content.Content{Kind: content.KindChat}
	for i, text := range texts {
		c.Messages = append(c.Messages, content.Message{Role: []string{"system", "user", "assistant"}[min(i, 2)], Content: content.Body{Text: text}})
	}
	return c
}

// put stores the draft of p as a whole.
func (r *rig) put(c content.Content) prompt.Draft {
	r.Helper()
	d, err := r.s.Drafts.PutDraft(r.Context(), acme, prompt.NewDraft{ID: r.ids.New(r.clock()), Name: "p", Content: c, Actor: ada.Author()})
	r.must("put", err)
	return d
}

func (r *rig) open() coedit.Draft {
	r.Helper()
	d, err := r.Open(r.Context(), acme, "p")
	r.must("open", err)
	return d
}

// text is the first text of the draft.
func (r *rig) text() string {
	r.Helper()
	d, err := r.s.Drafts.Draft(r.Context(), acme, "p")
	r.must("read", err)
	return *d.Content.Texts()[0].Value
}

// set is a change set from its JSON.
func (r *rig) set(text string) changeset.Set {
	r.Helper()
	s, err := changeset.Parse([]byte(text))
	r.must("parse", err)
	return s
}

// edit sends updates of the first text.
func (r *rig) edit(by penstock.Principal, version int64, sets ...string) []coedit.Update {
	r.Helper()
	out, err := r.tryEdit(by, version, sets...)
	r.must("edit", err)
	return out
}

func (r *rig) tryEdit(by penstock.Principal, version int64, sets ...string) ([]coedit.Update, error) {
	r.Helper()
	e := coedit.Edits{Name: "p", Text: r.open().Texts[0].ID, Client: client(by), Version: version}
	for _, s := range sets {
		e.Updates = append(e.Updates, r.set(s))
	}
	return r.Submit(r.Context(), by, e)
}

func (r *rig) wantText(what, want string) {
	r.Helper()
	if got := r.text(); got != want {
		r.Errorf("%s: %q, want %q", what, got, want)
	}
}

func (r *rig) count(sql string) int64 {
	r.Helper()
	var n int64
	r.must("count", r.db.Read(r.Context(), func(tx sqldb.Tx) (err error) {
		n, _, err = sqldb.QueryOne(r.Context(), tx, sqldb.SQL(sql), sqldb.ScanOne[int64])
		return err
	}))
	return n
}
