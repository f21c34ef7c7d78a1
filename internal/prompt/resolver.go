package prompt

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"penstock"
	"penstock/internal/prompt/content"
	"penstock/internal/signal"
)

const (
	// PollInterval is how often the cached labels are compared with the store without a signal. With lookTimeout it keeps a lost
	// signal below 5 seconds.
	PollInterval = 2 * time.Second
	// lookTimeout bounds one comparison, so that a store that hangs does not block the cache for ever.
	lookTimeout = 2 * time.Second

	// MaxCachedPrompts bounds the prompts whose labels are cached.
	MaxCachedPrompts = 4096
	// MaxCachedBytes bounds the contents that are cached, partials included.
	MaxCachedBytes = 128 << 20
)

// Head is what a prompt's labels name.
type Head struct {
	ID       penstock.ID
	Change   int64 // grows with every change of the prompt
	Deleted  int64 // how many versions were deleted
	Archived bool
	Latest   int64
	Labels   map[string]int64
	Aliases  map[string]map[string]int64 // versions of other registries, by alias
}

// Heads is what a Resolver reads.
type Heads interface {
	// Head reads the labels of a prompt. Codes: not_found.
	Head(ctx context.Context, tenant penstock.TenantID, name string) (Head, error)
	// Changes reads Head.Change of prompts of any tenants, by their ids: it keeps the cache of a process fresh, and answers no caller.
	Changes(ctx context.Context, ids []penstock.ID) (map[penstock.ID]int64, error)
	// Version finds a version. Codes: not_found, gone.
	Version(ctx context.Context, tenant penstock.TenantID, k VersionKey) (Version, error)
	// NameOf finds the name of the prompt with an id: its own, or an alias. Codes: not_found.
	NameOf(ctx context.Context, tenant penstock.TenantID, id string) (string, error)
}

// Found is a resolved reference. It is immutable and shared.
type Found struct {
	Name    string
	Version int64
	SHA256  string
	Content *content.Compiled

	deleted int64 // Head.Deleted when it was read
}

// ResolverDeps are what a Resolver works with.
type ResolverDeps struct {
	Store   Heads
	Changes *signal.Topic[signal.None] // notified when a prompt changed
	Log     *slog.Logger
}

// Resolver finds the versions that references name, from memory. Versions are cached for ever, within a bound. Labels are cached
// and compared with the store after every signal and every [PollInterval]: a moved label is seen by every process within a second,
// and within five if the signal is lost. While the store cannot be reached, the last known labels count.
type Resolver struct {
	ResolverDeps
	heads    *lru[promptKey, *Head]
	versions *lru[versionKey, *Found]
	names    *lru[promptKey, string] // of prompts, by id or alias
	rounds   atomic.Int64            // comparisons that began
	keeping  sync.Mutex              // of [Resolver.keep]
}

type promptKey struct {
	tenant penstock.TenantID
	name   string
}

type versionKey struct {
	promptKey
	n int64
}

// NewResolver returns a resolver with an empty cache. [Resolver.Run] keeps it fresh.
func NewResolver(d ResolverDeps) *Resolver {
	return &Resolver{ResolverDeps: d, heads: newLRU[promptKey, *Head](MaxCachedPrompts), versions: newLRU[versionKey, *Found](MaxCachedBytes),
		names: newLRU[promptKey, string](MaxCachedPrompts)}
}

// Resolve finds the version that a reference names. A label of an archived prompt names nothing; its versions can still be named by
// their numbers. Codes: not_found, gone, conflict (archived).
func (r *Resolver) Resolve(ctx context.Context, tenant penstock.TenantID, ref content.Reference) (*Found, error) {
	return r.lookUp(ctx, tenant, ref, labelsInUse)
}

// find is Resolve for readers: labels of archived prompts count.
func (r *Resolver) find(ctx context.Context, tenant penstock.TenantID, ref content.Reference) (*Found, error) {
	return r.lookUp(ctx, tenant, ref, labelsAll)
}

// labelUse is which labels count.
type labelUse uint8

const (
	labelsInUse labelUse = iota
	labelsAll
)

func (r *Resolver) lookUp(ctx context.Context, tenant penstock.TenantID, ref content.Reference, use labelUse) (*Found, error) {
	key := promptKey{tenant, ref.Name}
	head, err := r.head(ctx, key)
	if err != nil {
		return nil, err
	}
	n := ref.Version
	if n == 0 {
		if head.Archived && use == labelsInUse {
			return nil, penstock.Errorf(penstock.CodeConflict, "The prompt %s is archived; restore it, or name a version by its number.", ref.Name)
		}
		if n = head.named(ref.Selected()); n == 0 {
			return nil, noLabel(ref.Name, ref.Selected(), head)
		}
	}
	if found, ok := r.versions.get(versionKey{key, n}); ok && found.deleted == head.Deleted {
		return found, nil
	}
	return r.read(ctx, key, n, head.Deleted)
}

// named is the version of a label, 0 for none.
func (h *Head) named(label string) int64 {
	if label == content.LabelLatest {
		return h.Latest
	}
	return h.Labels[label]
}

// head returns the labels of a prompt, from the cache if they are there. Codes: not_found.
func (r *Resolver) head(ctx context.Context, key promptKey) (*Head, error) {
	if head, ok := r.heads.get(key); ok {
		return head, nil
	}
	return r.load(ctx, key)
}

// load reads the labels of a prompt into the cache.
func (r *Resolver) load(ctx context.Context, key promptKey) (*Head, error) {
	round := r.rounds.Load()
	head, err := r.Store.Head(ctx, key.tenant, key.name)
	if err != nil {
		return nil, err
	}
	r.keep(key, &head)
	if r.rounds.Load() != round {
		r.Changes.NotifyLocal() // a comparison ran meanwhile and did not cover this prompt
	}
	return &head, nil
}

// keep caches labels, unless newer ones are cached: a reader that was slow must not undo a move.
func (r *Resolver) keep(key promptKey, head *Head) {
	r.keeping.Lock()
	defer r.keeping.Unlock()
	if cached, ok := r.heads.get(key); !ok || cached.Change <= head.Change {
		r.heads.put(key, head, 1)
	}
}

// read reads a version with its partials into the cache. Versions that others refer to cannot be deleted, so their partials need no
// check.
func (r *Resolver) read(ctx context.Context, key promptKey, n, deleted int64) (*Found, error) {
	v, err := r.Store.Version(ctx, key.tenant, VersionKey{key.name, n})
	if err != nil {
		return nil, err
	}
	parsed, err := content.Parse(v.Content)
	if err != nil {
		return nil, penstock.Internal(err)
	}
	parts := map[string]*content.Compiled{}
	for _, ref := range v.References {
		part := promptKey{key.tenant, ref.Name}
		found, ok := r.versions.get(versionKey{part, ref.Version})
		if !ok {
			if found, err = r.read(ctx, part, ref.Version, anyDeleted); err != nil {
				return nil, err
			}
		}
		parts[ref.Written] = found.Content
	}
	compiled, err := parsed.Link(parts)
	if err != nil {
		return nil, penstock.Internal(err)
	}
	found := &Found{Name: v.Name, Version: v.N, SHA256: v.SHA256, Content: compiled, deleted: deleted}
	if deleted != anyDeleted {
		r.versions.put(versionKey{key, n}, found, max(compiled.Bytes(), 1))
	}
	return found, nil
}

// anyDeleted marks a version that was read as a partial.
const anyDeleted = -1

// changed makes every process compare its labels with the store; this one has read the prompt when changed returns.
func (r *Resolver) changed(ctx context.Context, tenant penstock.TenantID, name string) error {
	r.Changes.Notify()
	_, err := r.load(ctx, promptKey{tenant, name})
	return err
}

// Refresh compares the cached labels with the store, and reads those that changed.
func (r *Resolver) Refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	r.rounds.Add(1)
	cached := r.heads.all()
	if len(cached) == 0 {
		return nil
	}
	ids := make([]penstock.ID, 0, len(cached))
	for _, head := range cached {
		ids = append(ids, head.ID)
	}
	current, err := r.Store.Changes(ctx, ids)
	if err != nil {
		return err
	}
	for key, head := range cached {
		if current[head.ID] == head.Change {
			continue
		}
		fresh, err := r.Store.Head(ctx, key.tenant, key.name)
		if err != nil {
			return err
		}
		r.keep(key, &fresh)
	}
	return nil
}

// Run keeps the cache fresh until ctx ends.
func (r *Resolver) Run(ctx context.Context) error {
	ticker := time.NewTicker(PollInterval)
	defer ticker.Stop()
	changes := r.Changes.SubscribeAll()
	defer changes.Close()
	away := false
	for {
		err := r.Refresh(ctx)
		if err != nil && ctx.Err() == nil && !away {
			r.Log.WarnContext(ctx, "reading the labels of prompts; the last known labels count", "error", err)
		}
		away = err != nil
		select {
		case <-ctx.Done():
			return nil
		case <-changes.C:
		case <-ticker.C:
		}
	}
}
