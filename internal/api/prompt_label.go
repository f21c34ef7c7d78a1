package api

import (
	"net/http"
	"time"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/prompt/content"
	"penstock/internal/rest"
)

// promptMoveOrder moves a label.
type promptMoveOrder struct {
	Version int64  `json:"version" required:"true"`
	Expect  *int64 `json:"expect,omitzero" about:"The version that the label must name now, 0 for none; otherwise the answer is 412 and nothing is done. If-Match does the same by ETag."`
	Reason  string `json:"reason,omitzero" about:"For the history."`
}

// promptMoveView is an entry in the history of labels.
type promptMoveView struct {
	Object     string    `json:"object"`
	Seq        int64     `json:"seq"`
	Label      string    `json:"label"`
	From       *int64    `json:"from" about:"null if the label is new."`
	To         *int64    `json:"to" about:"null if the label was removed."`
	By         string    `json:"by"`
	ApprovedBy *string   `json:"approved_by"`
	Reason     string    `json:"reason"`
	At         time.Time `json:"at"`
}

func newPromptMoveView(m prompt.Move) promptMoveView {
	return promptMoveView{Object: "prompt.label.move", Seq: m.Seq, Label: m.Label, From: number(m.From), To: number(m.To), By: m.By,
		ApprovedBy: text(m.ApprovedBy), Reason: m.Reason, At: stamp(m.At)}
}

func (c prompts) listLabels() error {
	p, err := c.Prompts.Prompt(c.R.Context(), c.Principal.Tenant.ID, c.promptName())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, rest.Page[promptLabelView]{Object: "list", Data: newPromptView(p).Labels})
}

func (c prompts) readLabel() error {
	p, err := c.Prompts.Prompt(c.R.Context(), c.Principal.Tenant.ID, c.promptName())
	if err != nil {
		return err
	}
	label := c.R.PathValue("label")
	for _, l := range p.Labels {
		if l.Label == label {
			return c.answerLabel(l)
		}
	}
	return penstock.Errorf(penstock.CodeNotFound, "The prompt %s has no label %s.", p.Name, rest.Clip(label))
}

func (c prompts) answerLabel(l prompt.Label) error {
	v := newPromptLabelView(l)
	if v.ETag != nil {
		c.W.Header().Set("ETag", *v.ETag)
	}
	return c.JSON(http.StatusOK, v)
}

// readMove reads a move with its conditions. Codes: not_found, invalid_request.
func (c prompts) readMove() (prompt.LabelMove, error) {
	var in promptMoveOrder
	m := prompt.LabelMove{Name: c.promptName(), Label: c.R.PathValue("label")}
	if err := c.exists(); err != nil {
		return m, err
	}
	if err := c.decode(&in); err != nil {
		return m, err
	}
	if in.Version < 1 {
		return m, penstock.InvalidParam("version", "version must be the number of a version.")
	}
	revision, err := rest.IfMatch(c.R)
	if err != nil {
		return m, err
	}
	absent, err := rest.IfAbsent(c.R)
	if err != nil {
		return m, err
	}
	m.Version, m.Expect, m.Reason, m.IfRevision = in.Version, in.Expect, in.Reason, revision
	if absent {
		m.Expect = new(int64)
	}
	return m, nil
}

func (c prompts) moveLabel() error {
	m, err := c.readMove()
	if err != nil {
		return err
	}
	l, err := c.Prompts.MoveLabel(c.R.Context(), c.Principal, m)
	if err != nil {
		return err
	}
	return c.answerLabel(l)
}

func (c prompts) removeLabel() error {
	revision, err := rest.IfMatch(c.R)
	if err != nil {
		return err
	}
	m := prompt.LabelMove{Name: c.promptName(), Label: c.R.PathValue("label"), IfRevision: revision}
	if _, err := c.Prompts.MoveLabel(c.R.Context(), c.Principal, m); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, deletedView{ID: m.Name + "@" + m.Label, Object: "prompt.label", Deleted: true})
}

func (c prompts) history() error {
	limit, err := c.PageLimit(pageSize)
	if err != nil {
		return err
	}
	before, err := c.cursor()
	if err != nil {
		return err
	}
	label := c.R.URL.Query().Get("label")
	if label != "" && content.CheckLabel(label) != nil {
		return content.CheckLabel(label)
	}
	found, err := c.Prompts.History(c.R.Context(), c.Principal.Tenant.ID, prompt.HistoryPage{Name: c.promptName(), Label: label, Before: before, Limit: limit + 1})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, numbered(found, limit, newPromptMoveView, func(m prompt.Move) int64 { return m.Seq }))
}

// promptRequestView is a request to move a protected label.
type promptRequestView struct {
	ID          string              `json:"id"`
	Object      string              `json:"object"`
	Name        string              `json:"name"`
	Label       string              `json:"label"`
	Version     int64               `json:"version"`
	From        *int64              `json:"from" about:"The version that the label named when the request was made."`
	Reason      string              `json:"reason"`
	State       prompt.RequestState `json:"state"`
	RequestedBy string              `json:"requested_by"`
	CreatedAt   time.Time           `json:"created_at"`
	DecidedBy   *string             `json:"decided_by"`
	DecidedAt   *time.Time          `json:"decided_at"`
	Note        string              `json:"note"`
}

func newPromptRequestView(r prompt.Request) promptRequestView {
	return promptRequestView{ID: prompt.ViewRequest.Format(r.ID), Object: "prompt.label.request", Name: r.Prompt, Label: r.Label, Version: r.Version, From: number(r.From),
		Reason: r.Reason, State: r.State, RequestedBy: r.By.Name, CreatedAt: stamp(r.At), DecidedBy: text(r.DecidedBy), DecidedAt: optional(r.DecidedAt), Note: r.Note}
}

func (c prompts) requestMove() error {
	m, err := c.readMove()
	if err != nil {
		return err
	}
	r, err := c.Prompts.RequestMove(c.R.Context(), c.Principal, m)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, newPromptRequestView(r))
}

func (c prompts) listRequests() error {
	limit, err := c.PageLimit(pageSize)
	if err != nil {
		return err
	}
	q := c.R.URL.Query()
	p := prompt.RequestPage{Name: c.promptName(), State: prompt.RequestState(q.Get("state")), Limit: limit + 1}
	if after := q.Get("after"); after != "" {
		if p.Before, err = prompt.ViewRequest.Parse(after); err != nil {
			return penstock.InvalidParam("after", "after: %v.", err)
		}
	}
	switch p.State {
	case "", prompt.RequestOpen, prompt.RequestApproved, prompt.RequestRejected:
	default:
		return penstock.InvalidParam("state", "state must be one of open, approved, rejected.")
	}
	found, err := c.Prompts.ListRequests(c.R.Context(), c.Principal.Tenant.ID, p)
	if err != nil {
		return err
	}
	next := ""
	if len(found) > limit {
		found = found[:limit]
		next = prompt.ViewRequest.Format(found[limit-1].ID)
	}
	var data []promptRequestView
	for _, r := range found {
		data = append(data, newPromptRequestView(r))
	}
	return c.JSON(http.StatusOK, rest.NewCursorPage(data, next))
}

// promptDecisionOrder decides about a request.
type promptDecisionOrder struct {
	Note string `json:"note,omitzero"`
}

func (c prompts) readDecision() (d prompt.Decision, err error) {
	if d.ID, err = c.PathID(prompt.ViewRequest); err != nil {
		return d, err
	}
	d.Name = c.promptName()
	if c.R.ContentLength == 0 {
		return d, nil
	}
	var in promptDecisionOrder
	err = c.decode(&in)
	d.Note = in.Note
	return d, err
}

func (c prompts) approve() error {
	d, err := c.readDecision()
	if err != nil {
		return err
	}
	r, err := c.Prompts.Approve(c.R.Context(), c.Principal, d)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newPromptRequestView(r))
}

func (c prompts) reject() error {
	d, err := c.readDecision()
	if err != nil {
		return err
	}
	r, err := c.Prompts.Reject(c.R.Context(), c.Principal, d)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newPromptRequestView(r))
}

// promptProtectionOrder protects a label.
type promptProtectionOrder struct {
	Prompts  []string        `json:"prompts,omitzero" about:"Names of prompts, and folders that end with a slash; all prompts when not given."`
	Roles    []penstock.Role `json:"roles,omitzero" about:"A person needs one of them to move the label; operator when not given. A key needs the scope admin."`
	Approval bool            `json:"approval,omitzero" about:"Whether moves need the approval of somebody in one of the roles, who neither asked for the move nor wrote the version."`
}

// promptProtectionView is the protection of a label.
type promptProtectionView struct {
	Object    string          `json:"object"`
	Label     string          `json:"label"`
	Prompts   []string        `json:"prompts" about:"Empty for all prompts."`
	Roles     []penstock.Role `json:"roles"`
	Approval  bool            `json:"approval"`
	UpdatedBy string          `json:"updated_by"`
	UpdatedAt time.Time       `json:"updated_at"`
	ETag      string          `json:"etag"`
}

func newPromptProtectionView(p prompt.Protection) promptProtectionView {
	return promptProtectionView{Object: "prompt.protection", Label: p.Label, Prompts: append([]string{}, p.Prompts...), Roles: p.Roles, Approval: p.Approval,
		UpdatedBy: p.By, UpdatedAt: stamp(p.At), ETag: rest.ETag(p.Revision)}
}

func (c prompts) listProtections() error {
	found, err := c.Prompts.ListProtections(c.R.Context(), c.Principal.Tenant.ID)
	if err != nil {
		return err
	}
	out := rest.Page[promptProtectionView]{Object: "list", Data: []promptProtectionView{}}
	for _, p := range found {
		out.Data = append(out.Data, newPromptProtectionView(p))
	}
	return c.JSON(http.StatusOK, out)
}

// condition reads If-Match and If-None-Match. Codes: invalid_request.
func (c prompts) condition() (on prompt.Condition, err error) {
	if on.Revision, err = rest.IfMatch(c.R); err != nil {
		return on, err
	}
	on.Absent, err = rest.IfAbsent(c.R)
	return on, err
}

func (c prompts) setProtection() error {
	var in promptProtectionOrder
	if err := c.decode(&in); err != nil {
		return err
	}
	on, err := c.condition()
	if err != nil {
		return err
	}
	p, err := c.Prompts.SetProtection(c.R.Context(), c.Principal, prompt.Protection{Label: c.R.PathValue("label"), Prompts: in.Prompts, Roles: in.Roles, Approval: in.Approval}, on)
	if err != nil {
		return err
	}
	view := newPromptProtectionView(p)
	c.W.Header().Set("ETag", view.ETag)
	return c.JSON(http.StatusOK, view)
}

func (c prompts) removeProtection() error {
	revision, err := rest.IfMatch(c.R)
	if err != nil {
		return err
	}
	label := c.R.PathValue("label")
	if err := c.Prompts.RemoveProtection(c.R.Context(), c.Principal, label, prompt.Condition{Revision: revision}); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, deletedView{ID: label, Object: "prompt.protection", Deleted: true})
}
