package admin

import (
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"penstock"
	"penstock/internal/rest"
	"penstock/internal/store"
)

const (
	maxNameBytes   = 256
	maxReasonBytes = 256
)

// controlView is the state of a lane, model, target or tenant: paused, draining, drained or open.
type controlView struct {
	Kind    store.ControlKind `json:"kind"`
	Name    string            `json:"name"`
	State   string            `json:"state" about:"paused, draining, drained (draining, and nothing is left) or open."`
	Reason  string            `json:"reason"`
	Actor   string            `json:"actor"`
	Since   *time.Time        `json:"since"`
	Running *int64            `json:"running" about:"How many items of jobs still run, in all processes; of a target how many calls do, and null until all processes have reported."`
	ETag    string            `json:"etag,omitzero"`
	DryRun  bool              `json:"dry_run,omitzero" about:"Nothing was changed: this is the result that the change would have."`
}

const (
	stateDrained = "drained"
	stateOpen    = "open"
)

func newControlView(c store.Control) controlView {
	v := controlView{Kind: c.Kind, Name: c.Name, State: string(c.State), Reason: c.Reason, Actor: c.Actor, Since: &c.Since, ETag: rest.ETag(c.Version())}
	if c.Running >= 0 {
		v.Running = &c.Running
	}
	if c.State == store.ControlDraining && c.Running == 0 {
		v.State = stateDrained
	}
	return v
}

// controlList lists all controls: there are few, and they have no pages.
type controlList struct {
	Object string        `json:"object"`
	Data   []controlView `json:"data"`
}

func (c controls) list() error {
	all, err := c.Controls.ListControls(c.R.Context())
	if err != nil {
		return err
	}
	views := make([]controlView, len(all))
	for i, control := range all {
		views[i] = newControlView(control)
	}
	return c.JSON(http.StatusOK, controlList{Object: "list", Data: views})
}

// controlChange is the body of a pause or a drain.
type controlChange struct {
	State  store.ControlState `json:"state" required:"true" about:"paused: nothing new starts. draining: the same, until nothing runs."`
	Reason string             `json:"reason"`
	Actor  string             `json:"actor" about:"The actor that the audit names; only with the admin key."`
}

func (c controls) set() error {
	on, err := c.condition()
	if err != nil {
		return err
	}
	if on.IfAbsent, err = rest.IfAbsent(c.R); err != nil {
		return err
	}
	control, err := c.asked()
	if err != nil {
		return err
	}
	on.Actor = control.Actor
	if control, err = c.Switch.Set(c.R.Context(), control, on); err != nil {
		return err
	}
	if on.DryRun {
		control.Running = -1 // it is not paused yet
		view := newControlView(control)
		view.DryRun, view.ETag = true, ""
		return c.JSON(http.StatusOK, view)
	}
	return c.answer(control)
}

func (c controls) lift() error {
	on, err := c.condition()
	if err != nil {
		return err
	}
	control, err := c.named()
	if err != nil {
		return err
	}
	if err := c.Switch.Lift(c.R.Context(), control, on); err != nil {
		return err
	}
	if on.DryRun {
		return c.JSON(http.StatusOK, controlView{Kind: control.Kind, Name: control.Name, State: stateOpen, DryRun: true})
	}
	return c.answer(control)
}

// answer answers a change with the state as it is now.
func (c controls) answer(control store.Control) error {
	if now, ok := c.Paused.Paused(control.Kind, control.Name); ok {
		view := newControlView(now)
		c.W.Header().Set("ETag", view.ETag)
		return c.JSON(http.StatusOK, view)
	}
	return c.JSON(http.StatusOK, controlView{Kind: control.Kind, Name: control.Name, State: stateOpen})
}

// named reads the kind and the name in the path. Codes: invalid_request.
func (c controls) named() (store.Control, error) {
	control := store.Control{Kind: store.ControlKind(c.R.PathValue("kind")), Name: c.R.PathValue("name")}
	if !slices.Contains(store.ControlKinds, control.Kind) {
		return control, penstock.InvalidParam("kind", "kind must be one of %v, not %q.", store.ControlKinds, control.Kind)
	}
	if name := control.Name; name == "" || len(name) > maxNameBytes || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return control, penstock.InvalidParam("name", "name must be text of 1 to %d bytes.", maxNameBytes)
	}
	return control, nil
}

// asked reads and checks a change. Codes: invalid_request, not_found.
func (c controls) asked() (store.Control, error) {
	control, err := c.named()
	if err != nil {
		return control, err
	}
	if !c.knows(control) {
		return control, penstock.Errorf(penstock.CodeNotFound, "There is no %s %q in the configuration of this process.", control.Kind, control.Name)
	}
	var change controlChange
	if err := c.decode(&change); err != nil {
		return control, err
	}
	if change.State != store.ControlPaused && change.State != store.ControlDraining {
		return control, penstock.InvalidParam("state", "state must be paused or draining; to resume, send DELETE.")
	}
	if len(change.Reason) > maxReasonBytes {
		return control, penstock.InvalidParam("reason", "reason must be at most %d bytes.", maxReasonBytes)
	}
	control.State, control.Reason = change.State, change.Reason
	control.Actor, err = c.actor(change.Actor)
	return control, err
}

// knows reports whether the configuration has a name, so that a misspelt name is an error and not a pause without
// effect.
func (c controls) knows(control store.Control) bool {
	config, known := c.Config.Current(), false
	switch control.Kind {
	case store.ControlLane:
		known = penstock.Lane(control.Name).Valid()
	case store.ControlModel:
		_, known = config.Model(control.Name)
	case store.ControlTarget:
		_, known = config.Targets[control.Name]
	case store.ControlTenant:
		_, known = c.Directory.Tenant(penstock.TenantID(control.Name))
	}
	return known
}
