package identity

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"penstock"
	"penstock/internal/config"
)

const (
	// PollInterval is how often the view is refreshed without a signal. A session that was revoked must not work for longer
	// than a second in any process.
	PollInterval = 500 * time.Millisecond
	// MaxMembers bounds the grants, which every process holds in memory.
	MaxMembers = 10_000
	// maxCached is how many sessions a process holds in memory. Beyond that, it forgets all and reads them again.
	maxCached = 10_000
	// lookTimeout bounds one refresh and one read of a session.
	lookTimeout = 10 * time.Second
	// purgeInterval is how often sessions and links that are over are deleted, and keepEnded how long an ended session is kept.
	purgeInterval = time.Hour
	keepEnded     = 30 * 24 * time.Hour
)

// view is one version of the grants, with the sessions that were read under it. A newer version replaces the whole view, so a
// session never has the roles of an earlier version.
type view struct {
	version  int64
	byPerson map[penstock.ID][]Member
	byEmail  map[string][]Member

	mu       sync.RWMutex
	sessions map[string]*entry // by the hash of the token
}

func newView(version int64, members []Member) *view {
	v := &view{version: version, byPerson: map[penstock.ID][]Member{}, byEmail: map[string][]Member{}, sessions: map[string]*entry{}}
	for _, m := range members {
		if m.Person != "" {
			v.byPerson[m.Person] = append(v.byPerson[m.Person], m)
		} else {
			v.byEmail[m.Email] = append(v.byEmail[m.Email], m)
		}
	}
	return v
}

// find returns a session that was read before.
func (v *view) find(hash string) *entry {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.sessions[hash]
}

// keep adds a session, unless another call has added it meanwhile.
func (v *view) keep(hash string, e *entry) *entry {
	v.mu.Lock()
	defer v.mu.Unlock()
	if known := v.sessions[hash]; known != nil {
		return known
	}
	if len(v.sessions) >= maxCached {
		clear(v.sessions)
	}
	v.sessions[hash] = e
	return e
}

// person combines the roles of a session from all their sources.
func (v *view) person(s Session, settings *config.SignIn) *penstock.Person {
	p := &penstock.Person{ID: s.Person.ID, Name: s.Person.Name, Email: s.Person.Email, Session: s.ID, Everywhere: slices.Clone(s.Roles), In: map[penstock.TenantID][]penstock.Role{}}
	grant := func(m Member) {
		if m.Tenant == "" {
			p.Everywhere = addRole(p.Everywhere, m.Role)
		} else {
			p.In[m.Tenant] = addRole(p.In[m.Tenant], m.Role)
		}
	}
	for _, m := range configured(settings) {
		if m.Email != "" && m.Email == s.Person.Email || m.Group != "" && m.Issuer == s.Person.Issuer && slices.Contains(s.Groups, m.Group) {
			grant(m)
		}
	}
	for _, m := range v.byPerson[s.Person.ID] {
		grant(m)
	}
	if s.Person.Email != "" {
		for _, m := range v.byEmail[s.Person.Email] {
			grant(m)
		}
	}
	return p
}

// addRole adds a role once, in the order of penstock.Roles.
func addRole(have []penstock.Role, r penstock.Role) []penstock.Role {
	if slices.Contains(have, r) {
		return have
	}
	have = append(have, r)
	slices.SortFunc(have, func(a, b penstock.Role) int { return slices.Index(penstock.Roles, a) - slices.Index(penstock.Roles, b) })
	return have
}

// configured are the members that the configuration grants.
func configured(settings *config.SignIn) []Member {
	var all []Member
	for _, m := range settings.Members {
		all = append(all, Member{Email: m.Email, Tenant: penstock.TenantID(m.Tenant), Role: m.Role})
	}
	for _, name := range slices.Sorted(maps.Keys(settings.Issuers)) {
		for _, g := range settings.Issuers[name].Groups {
			all = append(all, Member{Group: g.Group, Issuer: name, Tenant: penstock.TenantID(g.Tenant), Role: g.Role})
		}
	}
	return all
}

// Refresh reads the grants now, if something has changed. If it returns nil, the view is at least as new as the call.
func (s *Service) Refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	s.updating.Lock()
	defer s.updating.Unlock()
	known := s.view.Load()
	version, members, err := s.Members.Grants(ctx, known.version)
	if err != nil || version == known.version {
		return err
	}
	s.view.Store(newView(version, members))
	s.endChanged(ctx)
	return nil
}

// changed makes every process refresh, this one before it returns. The change is committed: if the refresh fails, all
// processes find the change by polling.
func (s *Service) changed(ctx context.Context) {
	if s.Changes != nil {
		s.Changes.Notify()
	}
	if err := s.Refresh(ctx); err != nil {
		s.Log.WarnContext(ctx, "refreshing sessions and members after a change; polling will find it", "error", err)
	}
}

// Run refreshes the view, stores when sessions were used, and deletes what is over, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	poll, flush, purge := time.NewTicker(PollInterval), time.NewTicker(flushInterval), time.NewTicker(purgeInterval)
	defer poll.Stop()
	defer flush.Stop()
	defer purge.Stop()
	var changes <-chan struct{}
	if s.Changes != nil {
		sub := s.Changes.SubscribeAll()
		defer sub.Close()
		changes = sub.C
	}
	away := false
	for {
		err := s.Refresh(ctx)
		if err != nil && ctx.Err() == nil && !away {
			s.Log.WarnContext(ctx, "looking for changed sessions and members; going by what was known", "error", err)
		}
		away = err != nil
		select {
		case <-ctx.Done():
			s.flush(context.WithoutCancel(ctx))
			return nil
		case <-changes:
		case <-poll.C:
			s.endExpired()
		case <-flush.C:
			s.flush(ctx)
		case <-purge.C:
			s.purge(ctx)
		}
	}
}

func (s *Service) purge(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	if err := s.People.Purge(ctx, s.Clock().Add(-keepEnded)); err != nil {
		s.Log.WarnContext(ctx, "deleting sessions that are over", "error", err)
	}
}
