// Package directory has the tenants and keys of the configuration file and of the store, in one view.
//
// It owns the view of this process and refreshes it from the store: every [PollInterval], and earlier after Look. If
// the file and the store have the same tenant, the file takes precedence. The package also stores when keys were last
// used, after the answers and in bounded batches, and slows down addresses that guess keys ([Throttle]). Other packages
// decide what a caller may do. A call that stays open is watched, and ends when its key ends ([Directory.Watch]).
//
// Secrets are never kept, only their SHA-256: keys are long and random, so they need no slow hash. A lookup reads a few
// maps of an immutable state, which is replaced as a whole. It finds candidates by the first bytes of the digest, and
// compares the whole digest in constant time.
//
// While the store cannot be read, the last view stays in use, so a key that was revoked in that time still works. A
// Directory is safe for concurrent use. A lookup takes no lock and no allocation.
package directory

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/binary"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/signal"
	"penstock/internal/store"
)

const (
	// PollInterval is how often the view is refreshed without a signal. A revoked key must not work for longer than a
	// second in any process.
	PollInterval = 500 * time.Millisecond
	// lookTimeout bounds one refresh, so that a store that hangs does not block the view for ever.
	lookTimeout = 30 * time.Second
	// pageSize is how many changes are read at a time.
	pageSize = 5_000
)

// Source is the store of the tenants and keys that operators created.
type Source interface {
	DirectoryChanges(ctx context.Context, after store.DirectoryMark, limit int) (store.DirectoryChanges, error)
	TouchKeys(ctx context.Context, uses []store.KeyUse) error
}

// Deps are what a directory works with.
type Deps struct {
	Config *config.Live
	Source Source
	// Changes is notified when an operator changed tenants or keys; nil for polling alone.
	Changes *signal.Topic[signal.None]
	Log     *slog.Logger
	Clock   func() time.Time
}

// Directory is the tenants and keys that this process knows. Before the first refresh it knows only those of the file.
type Directory struct {
	Deps
	uses     chan store.KeyUse
	known    atomic.Pointer[state]
	updating sync.Mutex // held while one state replaces another
	changed  chan struct{}
	watches  watches
}

// state is one immutable view of the store.
type state struct {
	mark    store.DirectoryMark
	tenants map[penstock.TenantID]*store.TenantRecord
	keys    map[uint64]*key // by the first bytes of their digest
	// allowed are the limits and budgets of tenants' keys, by name. They outlive the keys, since work that was accepted
	// with a key still runs. budgets are all budgets of a tenant.
	allowed map[penstock.TenantID]map[string]allowance
	budgets map[penstock.TenantID][]penstock.Budget
}

// key is a key that was not revoked.
type key struct {
	store.APIKey
	next *key         // another key whose digest has the same first bytes
	used atomic.Int64 // the time of its last stored use, in microseconds
}

// New returns a directory before its first refresh.
func New(d Deps) *Directory {
	dir := &Directory{Deps: d, uses: make(chan store.KeyUse, maxUses), changed: make(chan struct{}, 1)}
	dir.known.Store(&state{})
	return dir
}

// Principal returns the principal of a secret. Codes: invalid_key.
func (d *Directory) Principal(secret string) (penstock.Principal, error) {
	digest, ok := config.Digest(secret)
	if !ok {
		return penstock.Principal{}, unknownKey()
	}
	caller, k, err := d.lookUp(digest)
	if k != nil {
		d.note(k, d.Clock())
	}
	return caller, err
}

// lookUp returns the principal of a digest, and its key if the key is valid and in the store. Codes: invalid_key.
func (d *Directory) lookUp(digest store.KeyHash) (penstock.Principal, *key, error) {
	file := d.Config.Current()
	if caller, ok := file.PrincipalOf(digest); ok {
		return caller, nil, nil
	}
	known := d.known.Load()
	k := known.find(digest)
	if k == nil {
		return penstock.Principal{}, nil, unknownKey()
	}
	if !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(d.Clock()) {
		return penstock.Principal{}, nil, penstock.Errorf(penstock.CodeInvalidKey, "This API key has expired; ask the operator for a new key.")
	}
	tenant, ok := known.tenant(file, k.Tenant)
	if !ok {
		return penstock.Principal{}, nil, penstock.Errorf(penstock.CodeInvalidKey, "The tenant of this API key is disabled; ask the operator to enable it.")
	}
	return penstock.Principal{Kind: penstock.PrincipalKey, Tenant: tenant, Key: k.Name, Scopes: k.Scopes, Limits: k.Limits}, k, nil
}

func unknownKey() error {
	return penstock.Errorf(penstock.CodeInvalidKey, "This API key is unknown; check that it belongs to this server.")
}

func (s *state) find(digest store.KeyHash) *key {
	for k := s.keys[indexOf(digest)]; k != nil; k = k.next {
		if subtle.ConstantTimeCompare(k.Hash[:], digest[:]) == 1 {
			return k
		}
	}
	return nil
}

func indexOf(digest store.KeyHash) uint64 { return binary.LittleEndian.Uint64(digest[:]) }

// tenant returns a tenant that may call. A tenant that was removed from the file may not.
func (s *state) tenant(file *config.Snapshot, id penstock.TenantID) (penstock.Tenant, bool) {
	if t, ok := file.Tenants[id]; ok {
		return s.paying(t), true
	}
	kept, ok := s.tenants[id]
	if !ok || !kept.Enabled || kept.Source == store.SourceFile {
		return penstock.Tenant{}, false
	}
	t := kept.Tenant
	t.Retention = complete(t.Retention, file.Retention)
	return s.paying(t), true
}

// complete adds the global defaults to the settings of a tenant. Events are never kept longer than results.
func complete(own, all penstock.Retention) penstock.Retention {
	results := cmp.Or(own.Results, all.Results)
	return penstock.Retention{
		Results: results, Events: cmp.Or(own.Events, min(all.Events, results)), Idempotency: cmp.Or(own.Idempotency, all.Idempotency),
		Files: cmp.Or(own.Files, all.Files),
	}
}

// Tenant returns a tenant that may call.
func (d *Directory) Tenant(id penstock.TenantID) (penstock.Tenant, bool) {
	return d.known.Load().tenant(d.Config.Current(), id)
}

// TenantIDs lists the tenants that may call, in order.
func (d *Directory) TenantIDs() []penstock.TenantID {
	file, known := d.Config.Current(), d.known.Load()
	all := slices.Collect(maps.Keys(file.Tenants))
	for id, t := range known.tenants {
		if _, declared := file.Tenants[id]; !declared && t.Enabled && t.Source != store.SourceFile {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all
}

// Retention is how long a tenant's work is kept, also for a tenant that may not call any more.
func (d *Directory) Retention(id penstock.TenantID) penstock.Retention {
	file := d.Config.Current()
	if t, ok := file.Tenants[id]; ok {
		return t.Retention
	}
	if t, ok := d.known.Load().tenants[id]; ok && t.Source != store.SourceFile {
		return complete(t.Retention, file.Retention)
	}
	return file.Retention
}

// Refresh reads the store now. If it returns nil, the view is at least as new as the call.
func (d *Directory) Refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	d.updating.Lock()
	defer d.updating.Unlock()
	known := d.known.Load()
	var next *state
	for mark := known.mark; ; {
		changes, err := d.Source.DirectoryChanges(ctx, mark, pageSize)
		if err != nil {
			return err
		}
		if len(changes.Tenants)+len(changes.Keys) > 0 && next == nil {
			next = known.copy()
		}
		if next != nil {
			next.apply(changes)
		}
		if mark = changes.Mark; !changes.More {
			break
		}
	}
	if next != nil {
		d.known.Store(next)
		select {
		case d.changed <- struct{}{}:
		default: // open calls are about to be checked
		}
	}
	return nil
}

// copy returns a state that can be changed. Keys are shared: only the time of their last use changes.
func (s *state) copy() *state {
	next := &state{mark: s.mark, tenants: maps.Clone(s.tenants), keys: maps.Clone(s.keys), allowed: maps.Clone(s.allowed), budgets: maps.Clone(s.budgets)}
	if next.tenants == nil {
		next.tenants, next.keys = map[penstock.TenantID]*store.TenantRecord{}, map[uint64]*key{}
		next.allowed, next.budgets = map[penstock.TenantID]map[string]allowance{}, map[penstock.TenantID][]penstock.Budget{}
	}
	return next
}

// apply updates a state that no other goroutine sees yet.
func (s *state) apply(changes store.DirectoryChanges) {
	for i := range changes.Tenants {
		s.tenants[changes.Tenants[i].ID] = &changes.Tenants[i]
	}
	for _, k := range changes.Keys {
		s.replace(k)
		s.allow(k)
	}
	s.mark = changes.Mark
}

// replace replaces a key, or removes it if it was revoked.
func (s *state) replace(k store.APIKey) {
	at := indexOf(k.Hash)
	was := s.keys[at]
	delete(s.keys, at)
	put := func(k store.APIKey, used int64) {
		entry := &key{APIKey: k, next: s.keys[at]}
		entry.used.Store(used)
		s.keys[at] = entry
	}
	used := int64(0)
	for ; was != nil; was = was.next { // entries are shared with other states, so the remaining ones are copied
		if was.ID != k.ID {
			put(was.APIKey, was.used.Load())
		} else {
			used = was.used.Load()
		}
	}
	if k.RevokedAt.IsZero() {
		put(k, used)
	}
}

// Run refreshes the view, stores uses, and ends the open calls of ended keys, until ctx ends.
func (d *Directory) Run(ctx context.Context) error {
	var watching sync.WaitGroup
	watching.Go(func() { d.watchKeys(ctx) })
	defer watching.Wait()
	poll, flush := time.NewTicker(PollInterval), time.NewTicker(flushInterval)
	defer poll.Stop()
	defer flush.Stop()
	var changes <-chan struct{}
	if d.Changes != nil {
		s := d.Changes.SubscribeAll()
		defer s.Close()
		changes = s.C
	}
	away := false
	for {
		err := d.Refresh(ctx)
		if err != nil && ctx.Err() == nil && !away {
			d.Log.WarnContext(ctx, "looking for changed tenants and keys; going by what was known", "error", err)
		}
		away = err != nil
		select {
		case <-ctx.Done():
			d.flush(context.WithoutCancel(ctx))
			return nil
		case <-changes:
		case <-poll.C:
		case <-flush.C:
			d.flush(ctx)
		}
	}
}
