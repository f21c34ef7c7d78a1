package app

import (
	"context"
	"time"

	"penstock/internal/room"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

// newRooms makes the book of the targets' room. On SQLite the data directory belongs to this process, so
// there is nobody to share with and the pools stay in memory.
func (a *app) newRooms(clock func() time.Time) *room.Book {
	cfg := room.Config{Clock: clock, Log: a.log}
	if !a.Config.Process.Database.IsZero() {
		cfg.Bank = bank{a}
	}
	return room.New(cfg)
}

// bank withdraws under whatever lease the worker holds.
type bank struct{ *app }

// bankTimeout bounds a visit: past it, what it brings would come too late.
const bankTimeout = 5 * time.Second

// Withdraw implements room.Bank.
func (b bank) Withdraw(ctx context.Context, w store.Withdrawal) (store.Allotment, error) {
	ctx, cancel := context.WithTimeout(ctx, bankTimeout)
	defer cancel()
	return b.store.Withdraw(ctx, b.pool.Lease(), w)
}

// ringForRoom has workers look again when room is back.
func (a *app) ringForRoom(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.router.Freed():
			a.bell.RingHere() // other processes keep their own book
		}
	}
}

func (a *app) roomStatus() []telemetry.Room {
	var all []telemetry.Room
	for _, s := range a.rooms.Status() {
		r := telemetry.Room{
			Target: s.Target, Limit: s.Limit, Running: s.Running, RestSeconds: s.Rest.Seconds(), Throttles: s.Throttles,
			Breaker: string(s.Breaker), Opened: s.Opened, RetriesRefused: s.RetriesRefused,
		}
		for _, rate := range s.Rates {
			r.Rates = append(r.Rates, telemetry.RoomRate{
				Resource: rate.Resource, PerMinute: rate.PerMinute, Learned: rate.Learned, Purse: rate.Purse,
			})
		}
		all = append(all, r)
	}
	return all
}
