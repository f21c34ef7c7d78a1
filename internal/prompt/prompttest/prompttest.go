// Package prompttest is the conformance suite of the store of prompts. An engine is right when it passes:
//
//	prompttest.Run(t, func(t *testing.T) (prompttest.Store, *sqldb.DB) { … })
//
// It tests the contracts of the stores that package prompt declares, mostly through the service, because the rules of both belong
// together. Every test has a fresh store.
package prompttest

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/prompt/content"
	"penstock/internal/signal"
	"penstock/internal/store/sqldb"
)

// Store is what is tested.
type Store interface {
	prompt.Prompts
	prompt.Drafts
	prompt.Versions
	prompt.Labels
	prompt.Requests
	prompt.Protections
	prompt.Imports
	prompt.Heads
}

// Opener returns a fresh, empty store and its database, which live as long as the test.
type Opener func(t *testing.T) (Store, *sqldb.DB)

// Run tests that the stores of open keep the contracts.
func Run(t *testing.T, open Opener) {
	for name, test := range map[string]func(*rig){
		"versions are numbered, and identical contents are one":    versionsAreNumbered,
		"the kind of a prompt never changes":                       kindStays,
		"references name exact versions":                           referencesAreExact,
		"a version that is named cannot be deleted":                deletionRules,
		"drafts change by compare-and-set":                         draftRevisions,
		"labels move by compare-and-set, with a history":           labelMoves,
		"labels are bounded":                                       labelBound,
		"a protected label needs a role, an approval and a gate":   protectedLabels,
		"protections change by compare-and-set":                    protectionRevisions,
		"an archived prompt stays for those that named versions":   archiving,
		"prompts are listed by prefix and by folder":               listing,
		"changes are audited and published, together or not":       auditAndEvents,
		"contents count towards the quota":                         quota,
		"concurrent saves get distinct consecutive numbers":        concurrentSaves,
		"concurrent moves leave one unbroken history":              concurrentMoves,
		"a reference and a deletion exclude each other":            concurrentReference,
		"no method shows or changes the prompts of another tenant": isolationProbes,
		"a resolver sees moves and deletions":                      resolving,
		"an imported id stays valid":                               aliasesResolve,
		"an import is whole, or a trial":                           importsAreWhole,
		"imports keep protected labels":                            importsKeepProtection,
		"a complete export can be imported":                        exportRoundTrip,
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
	umbra penstock.TenantID = "umbra" // the tenant that must not see acme's prompts

	everything = 10_000 // a limit that no test reaches
)

// rig is what a test works with.
type rig struct {
	*testing.T
	*prompt.Service
	s    Store
	db   *sqldb.DB
	gate *gate
}

// gate refuses versions.
type gate struct{ refused map[int64]bool }

func (g *gate) Check(_ context.Context, q prompt.GateQuestion) error {
	if g.refused[q.To] {
		return penstock.Errorf(penstock.CodeConflict, "Version %d failed its evaluation.", q.To)
	}
	return nil
}

func newRig(t *testing.T, s Store, db *sqldb.DB) *rig {
	r := &rig{T: t, s: s, db: db, gate: &gate{map[int64]bool{}}}
	r.Service = prompt.New(prompt.Deps{
		Prompts: s, Drafts: s, Versions: s, Labels: s, Requests: s, Protections: s, Imports: s, Resolver: r.resolver(), Gate: r.gate, Published: func() {}, Clock: time.Now,
	})
	return r
}

func (r *rig) resolver() *prompt.Resolver {
	return prompt.NewResolver(prompt.ResolverDeps{Store: r.s, Changes: signal.NewTopic[signal.None](nil, signal.Prompts), Log: slog.New(slog.DiscardHandler)})
}

// app is a key of acme's.
var app = key(acme, "app")

func key(tenant penstock.TenantID, name string, scopes ...penstock.Scope) penstock.Principal {
	return penstock.Principal{Kind: penstock.PrincipalKey, Tenant: penstock.Tenant{ID: tenant}, Key: name, Scopes: append(scopes, penstock.Scopes...)}
}

func person(name string, roles ...penstock.Role) penstock.Principal {
	return penstock.Principal{Kind: penstock.PrincipalPerson, Tenant: penstock.Tenant{ID: acme}, Key: name, Roles: roles,
		Person: &penstock.Person{ID: penstock.ID("01JQ00000000000000000" + name + "00"), Name: name}}
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

func (r *rig) wantSame(what string, got, want any) {
	r.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		r.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func textOf(text string) content.Content { return content.Content{Kind: content.KindText, Text: text} }

// save adds a version of a text prompt of acme's.
func (r *rig) save(name, text string) prompt.Version {
	r.Helper()
	v, _, err := r.Save(r.Context(), app, prompt.Order{Name: name, Content: textOf(text)})
	r.must("save "+name, err)
	return v
}

// move moves a label of acme's.
func (r *rig) move(name, label string, to int64) prompt.Label {
	r.Helper()
	l, err := r.MoveLabel(r.Context(), app, prompt.LabelMove{Name: name, Label: label, Version: to, Reason: "because"})
	r.must("move "+label, err)
	return l
}

func (r *rig) prompt(name string) prompt.Prompt {
	r.Helper()
	p, err := r.Prompt(r.Context(), acme, name)
	r.must("read "+name, err)
	return p
}

func (r *rig) rendered(name string, ref content.Reference) string {
	r.Helper()
	ref.Name = name
	done, err := r.Render(r.Context(), acme, prompt.Side{Reference: ref}, map[string]any{})
	r.must("render "+name, err)
	return done.Rendered.Messages[0].Content.Text
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

// subscribe adds an endpoint of acme's that receives every event of prompts.
func (r *rig) subscribe() {
	r.Helper()
	events, err := json.Marshal(penstock.WebhookEvents)
	r.must("encode", err)
	r.must("subscribe", r.db.Write(r.Context(), "test", func(tx sqldb.Tx) error {
		return tx.Do(r.Context(), `INSERT INTO webhooks (tenant_id, job_id, id, url, events, created_at, updated_at) VALUES ($1, '', 'whk', 'https://x.example', $2, 1, 1)`, acme, string(events))
	}))
}
