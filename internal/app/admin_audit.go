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
		refuseAudit(w, "tenant is missing; say whose entries to list.")
		return
	case err != nil || limit < 1 || limit > maxAuditPage:
		refuseAudit(w, "limit must be from 1 to "+strconv.Itoa(maxAuditPage)+".")
		return
	case after != "" && !after.Valid():
		refuseAudit(w, "after must be the id of an entry.")
		return
	}
	entries, err := a.store.AuditEntries(r.Context(), penstock.TenantID(q.Get("tenant")), store.AuditPage{After: after, Limit: limit + 1})
	if err != nil {
		a.log.ErrorContext(r.Context(), "reading the audit", "error", err)
		adminJSON(w, http.StatusInternalServerError, map[string]string{"status": "failed", "reason": penstock.AsError(err).Message})
		return
	}
	data := []auditView{}
	for _, e := range entries[:min(limit, len(entries))] {
		data = append(data, auditView{ID: string(e.ID), Actor: e.Actor, Action: e.Action, Subject: e.Subject,
			Before: e.Before, After: e.After, CreatedAt: e.CreatedAt})
	}
	adminJSON(w, http.StatusOK, map[string]any{"object": "list", "data": data, "has_more": len(entries) > limit})
}

func refuseAudit(w http.ResponseWriter, reason string) {
	adminJSON(w, http.StatusBadRequest, map[string]string{"status": "refused", "reason": reason})
}
