package app

import (
	"context"
	"maps"
	"slices"
	"time"

	"penstock"
	"penstock/internal/room"
	"penstock/internal/route"
	"penstock/internal/store"
	"penstock/internal/telemetry"
	"penstock/internal/work"
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

// gate keeps items from being claimed while no target of their model has room.
type gate struct{ *app }

// Closed implements work.Gate.
func (g gate) Closed() work.Closed {
	s := g.live.Current()
	return work.Closed{Models: g.router.Full(slices.Collect(maps.Values(s.Models)), s.Targets)}
}

// Reserve implements work.Gate. It goes by the model as it is configured now; an item that was resolved to
// other targets gives the room back and finds its own.
func (g gate) Reserve(c store.Candidate) (*route.Choice, bool) {
	s := g.live.Current()
	model, ok := s.Model(c.Model)
	var candidates []penstock.Target
	if ok {
		candidates, _ = route.Candidates(model.Targets, s.Targets) // an error says that there are none
	}
	if len(candidates) == 0 {
		return nil, true // running it will tell why
	}
	choice, ok := g.router.TryChoose(route.Query{
		Candidates: candidates, Lane: c.Lane, InputTokens: room.InputTokens(c.InputBytes), MaxOutputTokens: max(0, c.Estimate-c.InputBytes),
	})
	return &choice, ok
}

// ringForRoom has workers look again when room is back.
func (a *app) ringForRoom(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.router.Freed():
			a.bell.Ring()
		}
	}
}

func (a *app) roomStatus() []telemetry.Room {
	var all []telemetry.Room
	for _, s := range a.rooms.Status() {
		r := telemetry.Room{
			Target: s.Target, Limit: s.Limit, Running: s.Running, RestSeconds: s.Rest.Seconds(), Throttles: s.Throttles,
		}
		for _, rate := range s.Rates {
			r.Rates = append(r.Rates, telemetry.RoomRate(rate))
		}
		all = append(all, r)
	}
	return all
}
