package app

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"penstock"
	"penstock/internal/store"
)

// The sizes of a page of the audit.
const (
	maxAuditPage   = 100
	usualAuditPage = 20
)

// auditView is who changed what.
type auditView struct {
	ID        string          `json:"id"`
	Actor     string          `json:"actor"`
	Action    string          `json:"action"`
	Subject   string          `json:"subject"`
	Before    json.RawMessage `json:"before"`
	After     json.RawMessage `json:"after"`
	CreatedAt time.Time       `json:"created_at"`
}

// audit lists what people changed for a tenant, newest first: ?tenant=, ?limit= and ?after=, the last id of
// the page before.
func (a *app) audit(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, err := strconv.Atoi(q.Get("limit"))
	if q.Get("limit") == "" {
		limit, err = usualAuditPage, nil
	}
	after := penstock.ID(q.Get("after"))
	switch {
	case q.Get("tenant") == "":
		a.adminError(w, r, penstock.InvalidParam("tenant", "tenant is missing; say whose entries to list, or - for those of operators."))
		return
	case err != nil || limit < 1 || limit > maxAuditPage:
		a.adminError(w, r, penstock.InvalidParam("limit", "limit must be from 1 to %d.", maxAuditPage))
		return
	case after != "" && !after.Valid():
		a.adminError(w, r, penstock.InvalidParam("after", "after must be the id of an entry."))
		return
	}
	entries, err := a.store.AuditEntries(r.Context(), penstock.TenantID(q.Get("tenant")), store.AuditPage{After: after, Limit: limit + 1})
	if err != nil {
		a.adminError(w, r, err)
		return
	}
	data := []auditView{}
	for _, e := range entries[:min(limit, len(entries))] {
		data = append(data, auditView{ID: string(e.ID), Actor: e.Actor, Action: e.Action, Subject: e.Subject,
			Before: e.Before, After: e.After, CreatedAt: e.CreatedAt})
	}
	adminJSON(w, http.StatusOK, map[string]any{"object": "list", "data": data, "has_more": len(entries) > limit})
}
