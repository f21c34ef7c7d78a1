package webhooktest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"penstock"
	"penstock/internal/webhook"
)

func webhookChanges(r *rig) {
	w := r.hook(penstock.EventJobFinished)
	url, about, off, on := "https://other.example/", "late events", false, true
	changed, err := r.s.Change(r.t.Context(), acme, webhook.Change{
		Ref: webhook.Ref{ID: w.ID}, URL: &url, Description: &about, Events: []penstock.EventType{penstock.EventJobStarted}, Enabled: &off, Actor: "app",
	})
	r.must("change", err)
	if changed.URL != url || changed.Description != about || changed.Wants(penstock.EventJobFinished) || changed.DisabledAt.IsZero() {
		r.t.Errorf("changed to %+v", changed)
	}
	r.wantSame("what is read", r.webhook(w.ID), changed)
	r.finish()
	r.delivering(0)
	_, err = r.s.Test(r.t.Context(), acme, w.ID)
	r.wantCode("test a disabled endpoint", err, penstock.CodeConflict)
	again, err := r.s.Change(r.t.Context(), acme, webhook.Change{Ref: webhook.Ref{ID: w.ID}, Enabled: &on, Actor: "app"})
	r.must("enable", err)
	if !again.DisabledAt.IsZero() || again.DisabledReason != "" || again.URL != url {
		r.t.Errorf("enabled as %+v", again)
	}
	r.must("delete", r.s.Delete(r.t.Context(), acme, webhook.Removal{Ref: webhook.Ref{ID: w.ID}, Actor: "app"}))
	_, err = r.s.Endpoint(r.t.Context(), acme, w.ID)
	r.wantCode("read a deleted endpoint", err, penstock.CodeNotFound)
	var actions []string
	for _, e := range r.entries() {
		actions = append(actions, e.Action)
		if strings.Contains(fmt.Sprint(e.Before, e.After), "secret") {
			r.t.Errorf("the audit shows a secret: %s %s", e.Before, e.After)
		}
	}
	r.wantSame("actions", actions, []string{webhook.ActionDelete, webhook.ActionChange, webhook.ActionChange, webhook.ActionCreate})
}

func webhookBound(r *rig) {
	for range webhook.MaxEndpoints {
		r.hook(penstock.EventJobFinished)
	}
	_, err := r.s.Create(r.t.Context(), acme, webhook.NewEndpoint{ID: r.newID(), URL: "https://app.example", Secret: []byte("s")})
	r.wantCode("one more", err, penstock.CodeConflict)
	var seen []penstock.ID
	for after := penstock.ID(""); ; after = seen[len(seen)-1] {
		page, err := r.s.List(r.t.Context(), acme, webhook.Page{After: after, Limit: 7})
		r.must("list", err)
		for _, w := range page {
			seen = append(seen, w.ID)
		}
		if len(page) < 7 {
			break
		}
	}
	if len(seen) != webhook.MaxEndpoints || !slices.IsSorted(seen) || len(slices.Compact(seen)) != webhook.MaxEndpoints {
		r.t.Errorf("paged through %v", seen)
	}
}

func webhookVersions(r *rig) {
	w := r.hook(penstock.EventJobFinished)
	about := "early events"
	changeIf := func(version int64) error {
		_, err := r.s.Change(r.t.Context(), acme, webhook.Change{Ref: webhook.Ref{ID: w.ID, IfVersion: version}, Description: &about})
		return err
	}
	rotateIf := func(version int64) error {
		_, err := r.s.RotateSecret(r.t.Context(), acme, webhook.Rotation{Webhook: webhook.Ref{ID: w.ID, IfVersion: version}, Secret: []byte("s")})
		return err
	}
	deleteIf := func(version int64) error {
		return r.s.Delete(r.t.Context(), acme, webhook.Removal{Ref: webhook.Ref{ID: w.ID, IfVersion: version}})
	}
	old := w.Version()
	for i, change := range []func(int64) error{changeIf, rotateIf} {
		r.clock.Advance(time.Second)
		r.must("change it as it is", change(r.webhook(w.ID).Version()))
		now := r.webhook(w.ID)
		if now.Version() == old {
			r.t.Errorf("change %d left the version as it was", i)
		}
		for _, late := range []func(int64) error{changeIf, rotateIf, deleteIf} {
			if err := late(old); !errors.Is(err, penstock.ErrStale) || penstock.ErrorCode(err) != penstock.CodeConflict {
				r.t.Errorf("after change %d, a change of what it was: %v", i, err)
			}
		}
		r.wantSame("after those", r.webhook(w.ID), now)
		old = now.Version()
	}

	var won atomic.Int64
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			url := fmt.Sprintf("https://app.example/%d", i)
			_, err := r.s.Change(r.t.Context(), acme, webhook.Change{Ref: webhook.Ref{ID: w.ID, IfVersion: old}, URL: &url})
			switch {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, penstock.ErrStale):
				r.t.Errorf("change at once: %v", err)
			}
		})
	}
	all.Wait()
	r.wantSame("of those who change the same version at once, so many do", won.Load(), int64(1))
	r.must("delete it as it is", deleteIf(r.webhook(w.ID).Version()))
}

func webhookRotation(r *rig) {
	w := r.hook(penstock.EventJobFinished)
	until, err := r.s.RotateSecret(r.t.Context(), acme, webhook.Rotation{Webhook: webhook.Ref{ID: w.ID}, Secret: []byte("second"), Overlap: time.Hour, Actor: "app"})
	r.must("rotate", err)
	if !until.Equal(r.clock.Now().Add(time.Hour)) || !r.webhook(w.ID).OldSecretUntil.Equal(until) {
		r.t.Errorf("the old secret signs until %v", until)
	}
	secrets := func() (all []string) {
		_, err := r.s.Test(r.t.Context(), acme, w.ID)
		r.must("test", err)
		d := r.delivering(1)[0]
		for _, s := range d.Secrets {
			all = append(all, string(s))
		}
		r.settled(d, webhook.OutcomeDelivered)
		return all
	}
	r.wantSame("during the overlap", secrets(), []string{"second", "first secret"})
	r.clock.Advance(time.Hour)
	r.wantSame("after it", secrets(), []string{"second"})
	_, err = r.s.RotateSecret(r.t.Context(), acme, webhook.Rotation{Webhook: webhook.Ref{ID: r.newID()}, Secret: []byte("x")})
	r.wantCode("rotate what is not there", err, penstock.CodeNotFound)
}
