package storetest

import (
	"time"

	"penstock"
	"penstock/internal/store"
)

// hookHouse is acme's endpoints.
type hookHouse struct {
	kept, spare penstock.Webhook
	old, late   penstock.ID // deliveries: one that can be purged, one that is not due to
}

func (r *rig) hookHouse() (h hookHouse) {
	r.t.Helper()
	h.spare = r.hook(penstock.EventJobFinished)
	h.kept = r.hook(penstock.EventJobFinished)
	for _, id := range []*penstock.ID{&h.old, &h.late} {
		d, err := r.s.TestWebhook(r.t.Context(), acme, h.kept.ID)
		r.must("test webhook", err)
		*id = d.ID
		r.settled(r.delivering(1)[0], store.OutcomeDelivered)
		r.clock.Advance(2 * time.Minute)
	}
	return h
}

// askCreateWebhook: an endpoint of a stranger must not show among acme's.
func askCreateWebhook(r *rig, _ house, tenant penstock.TenantID) (bool, error) {
	w, err := r.s.CreateWebhook(r.t.Context(), tenant, store.NewWebhook{ID: r.newID(), URL: "https://stranger.example", Secret: []byte("s")})
	r.must("create", err)
	_, err = r.s.Webhook(r.t.Context(), acme, w.ID)
	seen := err == nil
	if penstock.ErrorCode(err) == penstock.CodeNotFound {
		err = nil
	}
	return seen, err
}

func askListWebhooks(r *rig, h house, tenant penstock.TenantID) (bool, error) {
	all, err := r.s.ListWebhooks(r.t.Context(), tenant, store.WebhookPage{Limit: everything})
	for _, w := range all {
		if w.Tenant == acme || w.ID == h.hooks.kept.ID {
			return true, err
		}
	}
	return false, err
}

func askWebhook(r *rig, h house, tenant penstock.TenantID) (bool, error) {
	w, err := r.s.Webhook(r.t.Context(), tenant, h.hooks.kept.ID)
	return w.ID != "", err
}

func askChangeWebhook(r *rig, h house, tenant penstock.TenantID) (bool, error) {
	about := "mine now"
	w, err := r.s.ChangeWebhook(r.t.Context(), tenant, store.WebhookChange{WebhookRef: store.WebhookRef{ID: h.hooks.kept.ID}, Description: &about})
	return w.ID != "", err
}

func askDeleteWebhook(r *rig, h house, tenant penstock.TenantID) (bool, error) {
	err := r.s.DeleteWebhook(r.t.Context(), tenant, store.WebhookRemoval{WebhookRef: store.WebhookRef{ID: h.hooks.spare.ID}})
	return err == nil, err
}

func askRotateSecret(r *rig, h house, tenant penstock.TenantID) (bool, error) {
	until, err := r.s.RotateSecret(r.t.Context(), tenant, store.SecretRotation{Webhook: store.WebhookRef{ID: h.hooks.kept.ID}, Secret: []byte("s"), Overlap: time.Hour})
	return !until.IsZero(), err
}

func askTestWebhook(r *rig, h house, tenant penstock.TenantID) (bool, error) {
	d, err := r.s.TestWebhook(r.t.Context(), tenant, h.hooks.kept.ID)
	return d.ID != "", err
}

func askDeliveries(r *rig, h house, tenant penstock.TenantID) (bool, error) {
	all, err := r.s.Deliveries(r.t.Context(), tenant, store.DeliveryPage{Webhook: h.hooks.kept.ID, Limit: everything})
	return len(all) > 0, err
}

func askRedeliver(r *rig, h house, tenant penstock.TenantID) (bool, error) {
	d, err := r.s.Redeliver(r.t.Context(), tenant, h.hooks.late)
	return d.ID != "", err
}

func askPurgeDeliveries(r *rig, _ house, tenant penstock.TenantID) (bool, error) {
	done, err := r.s.PurgeDeliveries(r.t.Context(), tenant, store.Purge{Kept: 3 * time.Minute, Limit: everything})
	return done.Removed > 0, err
}
