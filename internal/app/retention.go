package app

import (
	"time"

	"penstock/internal/disk"
	"penstock/internal/retain"
)

// connectRetention creates the sweeper, which removes old work, and the watcher of disks, which refuses new work when they are full.
func (a *app) connectRetention() (err error) {
	a.sweeper, err = retain.New(retain.Deps{
		Store: a.store, Outbox: deliveryPurger{a.store.webhooks}, Logs: a.store, Metrics: a.metrics, Log: a.log, Clock: time.Now,
		Windows: a.directory.Retention,
	})
	if err != nil {
		return err
	}
	a.disks, err = disk.New(disk.Deps{
		Volumes: a.store.volumes, Floor: a.Config.Process.Disk.Floor, Stat: disk.Statfs,
		Metrics: a.metrics, Log: a.log, Clock: time.Now,
	})
	return err
}
