package app

import (
	"context"
	"time"

	"penstock"
	"penstock/internal/conversation"
	"penstock/internal/conversation/conversationsql"
	"penstock/internal/disk"
	"penstock/internal/retain"
	"penstock/internal/segment"
	"penstock/internal/store"
)

// connectRetention creates the sweeper, which removes old work, the builder of segments, which lists find old work by, and the watcher of disks, which refuses new work when they are full.
func (a *app) connectRetention() (err error) {
	a.sweeper, err = retain.New(retain.Deps{
		Store: a.store, Outbox: deliveryPurger{a.store.Webhooks}, Logs: a.store, Turns: turnPurger{a.store.turns}, Uploads: a.uploads, Runs: a.store.runs, Metrics: a.metrics, Log: a.log, Clock: time.Now,
		Windows: a.directory.Retention,
	})
	if err != nil {
		return err
	}
	if a.segments, err = segment.New(segment.Deps{Tenants: a.store, Segments: a.store, Log: a.log, Clock: time.Now}); err != nil {
		return err
	}
	a.disks, err = disk.New(disk.Deps{
		Volumes: a.store.volumes, Floor: a.Config.Process.Disk.Floor, Stat: disk.Statfs,
		Metrics: a.metrics, Log: a.log, Clock: time.Now,
	})
	return err
}

// turnPurger is the storage of responses and conversations for the sweeper.
type turnPurger struct{ *conversationsql.Store }

func (t turnPurger) PurgeResponses(ctx context.Context, tenant penstock.TenantID, p store.Purge) (store.Purged, error) {
	done, err := t.Store.PurgeResponses(ctx, tenant, conversation.Purge(p))
	return store.Purged(done), err
}

func (t turnPurger) PurgeConversations(ctx context.Context, tenant penstock.TenantID, p store.Purge) (store.Purged, error) {
	done, err := t.Store.PurgeConversations(ctx, tenant, conversation.Purge(p))
	return store.Purged(done), err
}
