package app

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"penstock"
	"penstock/internal/api"
	"penstock/internal/store"
)

const (
	maxControlBody = 4 << 10
	maxNameBytes   = 256
	maxReasonBytes = 256
	maxActorBytes  = 128
)

// controlView is something that is held back, or no longer is.
type controlView struct {
	Kind   store.ControlKind `json:"kind"`
	Name   string            `json:"name"`
	State  string            `json:"state"` // paused, draining, drained, open
	Reason string            `json:"reason"`
	Actor  string            `json:"actor"`
	Since  *time.Time        `json:"since"`
	// Running is how many items of jobs still run, in all processes; of a target how many calls do, and null until all
	// processes have told.
	Running *int64 `json:"running"`
	ETag    string `json:"etag,omitempty"`
	DryRun  bool   `json:"dry_run,omitempty"`
}

const (
	stateDrained = "drained" // draining, and nothing is left
	stateOpen    = "open"    // not held back
)

func newControlView(c store.Control) controlView {
	v := controlView{Kind: c.Kind, Name: c.Name, State: string(c.State), Reason: c.Reason, Actor: c.Actor, Since: &c.Since, ETag: api.ETag(c.Version())}
	if c.Running >= 0 {
		v.Running = &c.Running
	}
	if c.State == store.ControlDraining && c.Running == 0 {
		v.State = stateDrained
	}
	return v
}

func (a *app) listControls(w http.ResponseWriter, r *http.Request) {
	controls, err := a.store.ListControls(r.Context())
	if err != nil {
		a.adminError(w, r, err)
		return
	}
	views := make([]controlView, len(controls))
	for i, c := range controls {
		views[i] = newControlView(c)
	}
	adminJSON(w, http.StatusOK, map[string]any{"object": "list", "data": views})
}

// controlChange is what an operator asks for.
type controlChange struct {
	State  store.ControlState `json:"state"`
	Reason string             `json:"reason"`
	Actor  string             `json:"actor"`
}

func (a *app) setControl(w http.ResponseWriter, r *http.Request) {
	on, err := condition(r)
	c := store.Control{}
	if err == nil {
		c, err = a.controlAsked(r)
	}
	if err == nil {
		on.Actor = c.Actor
		c, err = a.store.SetControl(r.Context(), c, on)
	}
	if err != nil {
		a.adminError(w, r, err)
		return
	}
	if on.DryRun {
		c.Running = -1 // it is not held back yet
		view := newControlView(c)
		view.DryRun, view.ETag = true, ""
		adminJSON(w, http.StatusOK, view)
		return
	}
	a.log.InfoContext(r.Context(), "held back", "kind", c.Kind, "name", c.Name, "state", c.State, "reason", c.Reason, "actor", c.Actor)
	a.answerControl(w, r, c)
}

func (a *app) liftControl(w http.ResponseWriter, r *http.Request) {
	on, err := condition(r)
	c := store.Control{}
	if err == nil {
		c, err = a.controlNamed(r)
	}
	if err == nil {
		err = a.store.LiftControl(r.Context(), c, on)
	}
	if err != nil {
		a.adminError(w, r, err)
		return
	}
	if on.DryRun {
		adminJSON(w, http.StatusOK, controlView{Kind: c.Kind, Name: c.Name, State: stateOpen, DryRun: true})
		return
	}
	a.log.InfoContext(r.Context(), "resumed", "kind", c.Kind, "name", c.Name, "actor", on.Actor)
	a.answerControl(w, r, c)
}

// answerControl makes every process look, this one before it answers, and says how things are now.
func (a *app) answerControl(w http.ResponseWriter, r *http.Request, c store.Control) {
	a.topics.control.Notify()
	if err := a.controls.Refresh(r.Context()); err != nil {
		a.adminError(w, r, err)
		return
	}
	if now, ok := a.controls.Paused(c.Kind, c.Name); ok {
		view := newControlView(now)
		w.Header().Set("ETag", view.ETag)
		adminJSON(w, http.StatusOK, view)
		return
	}
	adminJSON(w, http.StatusOK, controlView{Kind: c.Kind, Name: c.Name, State: stateOpen})
}

// controlNamed reads what a path names. Codes: invalid_request.
func (a *app) controlNamed(r *http.Request) (store.Control, error) {
	c := store.Control{Kind: store.ControlKind(r.PathValue("kind")), Name: r.PathValue("name")}
	if !slices.Contains(store.ControlKinds, c.Kind) {
		return c, penstock.InvalidParam("kind", "The kind must be one of %v, not %q.", store.ControlKinds, c.Kind)
	}
	if c.Name == "" || len(c.Name) > maxNameBytes || !utf8.ValidString(c.Name) || strings.ContainsFunc(c.Name, unicode.IsControl) {
		return c, penstock.InvalidParam("name", "The name must be 1 to %d bytes of text.", maxNameBytes)
	}
	return c, nil
}

// controlAsked reads and checks a change. Codes: invalid_request, not_found.
func (a *app) controlAsked(r *http.Request) (store.Control, error) {
	c, err := a.controlNamed(r)
	if err != nil {
		return c, err
	}
	if !a.knows(c) {
		return c, penstock.Errorf(penstock.CodeNotFound, "There is no %s %q in the configuration of this process.", c.Kind, c.Name)
	}
	var change controlChange
	body := json.NewDecoder(io.LimitReader(r.Body, maxControlBody))
	body.DisallowUnknownFields()
	if err := body.Decode(&change); err != nil {
		return c, penstock.Errorf(penstock.CodeInvalidRequest, `The body must be {"state":"paused","reason":"…","actor":"…"}: %v.`, err)
	}
	if change.State != store.ControlPaused && change.State != store.ControlDraining {
		return c, penstock.InvalidParam("state", "state must be paused or draining; DELETE resumes.")
	}
	if len(change.Reason) > maxReasonBytes {
		return c, penstock.InvalidParam("reason", "reason must be at most %d bytes.", maxReasonBytes)
	}
	c.State, c.Reason = change.State, change.Reason
	c.Actor, err = actor(r, change.Actor)
	return c, err
}

// knows keeps typing errors from holding back nothing.
func (a *app) knows(c store.Control) bool {
	config, known := a.live.Current(), false
	switch c.Kind {
	case store.ControlLane:
		known = penstock.Lane(c.Name).Valid()
	case store.ControlModel:
		_, known = config.Model(c.Name)
	case store.ControlTarget:
		_, known = config.Targets[c.Name]
	case store.ControlTenant:
		_, known = a.directory.Tenant(penstock.TenantID(c.Name))
	}
	return known
}

// adminStatuses are the codes that the admin door answers with; others are its own fault.
var adminStatuses = map[penstock.Code]int{
	penstock.CodeInvalidRequest: http.StatusBadRequest,
	penstock.CodeInvalidKey:     http.StatusUnauthorized,
	penstock.CodeScopeMissing:   http.StatusForbidden,
	penstock.CodeNotFound:       http.StatusNotFound,
	penstock.CodeConflict:       http.StatusConflict,
	penstock.CodeManagedByFile:  http.StatusConflict,
	penstock.CodeRateLimited:    http.StatusTooManyRequests,
	penstock.CodeOverloaded:     http.StatusServiceUnavailable,
}

func (a *app) adminError(w http.ResponseWriter, r *http.Request, err error) {
	e := penstock.AsError(err)
	status, ok := adminStatuses[e.Code]
	if !ok {
		status = http.StatusInternalServerError
		a.log.ErrorContext(r.Context(), "answering an operator", "path", r.URL.Path, "error", err)
	}
	switch {
	case errors.Is(err, store.ErrStale):
		status = http.StatusPreconditionFailed
	case status == http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="penstock admin"`)
	case e.RetryAfter > 0:
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	adminJSON(w, status, map[string]any{"error": map[string]any{"code": e.Code, "message": e.Message, "param": e.Param}})
}
