package identity

import (
	"context"
	"maps"
	"net/http"
	"reflect"
	"sync"

	"penstock"
	"penstock/internal/directory"
)

// watches are the open calls of people.
type watches struct {
	mu   sync.Mutex
	open map[directory.OpenCall]watched
}

// watched is the session of an open call, with the roles that the call began with.
type watched struct {
	hash   string
	person *penstock.Person
}

// Watch ends an open call when its session ends or its roles change. A page then connects again, with the roles of that moment.
func (s *Service) Watch(c directory.OpenCall, r *http.Request) {
	w := watched{hash: hashOf(s.tokenOf(r))}
	if e := s.view.Load().find(w.hash); e != nil {
		w.person = e.person
	}
	s.watches.mu.Lock()
	defer s.watches.mu.Unlock()
	if s.watches.open == nil {
		s.watches.open = map[directory.OpenCall]watched{}
	}
	s.watches.open[c] = w
}

// Unwatch forgets a call. After it has returned, the call is not ended.
func (s *Service) Unwatch(c directory.OpenCall) {
	s.watches.mu.Lock()
	defer s.watches.mu.Unlock()
	delete(s.watches.open, c)
}

// endChanged reads the sessions of open calls again, and ends the calls whose session or roles have changed. It runs after
// a change, so it reads as many rows as there are signed-in people with an open page.
func (s *Service) endChanged(ctx context.Context) {
	s.watches.mu.Lock()
	open := maps.Clone(s.watches.open)
	s.watches.mu.Unlock()
	v := s.view.Load()
	for c, w := range open {
		e := v.find(w.hash)
		if e == nil {
			session, err := s.Sessions.Session(ctx, w.hash)
			if penstock.ErrorCode(err) == penstock.CodeNotFound {
				s.endCall(c)
				continue
			}
			if err != nil {
				continue // the next change, or the end of the session, ends the call
			}
			e = v.keep(w.hash, s.newEntry(v, session))
		}
		if s.over(e) || w.person != nil && !sameRoles(w.person, e.person) {
			s.endCall(c)
		}
	}
}

func sameRoles(a, b *penstock.Person) bool {
	return reflect.DeepEqual(a.Everywhere, b.Everywhere) && reflect.DeepEqual(a.In, b.In)
}

// endExpired ends the open calls of sessions whose time is over.
func (s *Service) endExpired() {
	s.watches.mu.Lock()
	open := maps.Clone(s.watches.open)
	s.watches.mu.Unlock()
	v := s.view.Load()
	for c, w := range open {
		if e := v.find(w.hash); e != nil && s.over(e) {
			s.endCall(c)
		}
	}
}

// endCall ends a call, unless it has ended by itself.
func (s *Service) endCall(c directory.OpenCall) {
	s.watches.mu.Lock()
	defer s.watches.mu.Unlock()
	if _, open := s.watches.open[c]; !open {
		return
	}
	delete(s.watches.open, c)
	c.End(&penstock.Error{Code: penstock.CodeInvalidKey, Message: "Your session has ended, or your roles have changed, while the call was open."})
}
