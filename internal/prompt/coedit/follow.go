package coedit

import (
	"context"
	"sync"
	"time"

	"penstock"
)

// Reader is who follows a draft.
type Reader struct {
	Name   string // of the prompt
	Client string // the reader's editor, "" for a reader that does not edit
	After  Position
}

// Follow passes what changes in a draft to a function, until ctx ends, the draft is discarded or the function fails. While it runs,
// the reader's editor stays among the people; afterwards it is not. Codes: invalid_request, not_found, rate_limited.
func (s *Service) Follow(ctx context.Context, caller penstock.Principal, r Reader, send func(Delta) error) error {
	if r.Client != "" {
		if err := checkClient(caller, r.Client); err != nil {
			return err
		}
	}
	tenant := caller.Tenant.ID
	draft := key(tenant, r.Name)
	leave, err := s.streams.enter(draft)
	if err != nil {
		return err
	}
	defer leave()
	changes := s.Changes.Subscribe(draft) // before the first read, so that nothing is missed
	defer changes.Close()
	if r.Client != "" {
		defer s.depart(ctx, caller, r)
	}
	poll := time.NewTicker(PollInterval)
	defer poll.Stop()
	kept := s.Clock()
	for {
		if err := s.pass(ctx, tenant, &r, send); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changes.C:
		case <-poll.C:
			if now := s.Clock(); r.Client != "" && now.Sub(kept) >= PresenceExpiry/3 {
				kept = now
				if err := s.People.Keep(ctx, tenant, sighting(caller, r)); err != nil {
					return err
				}
			}
		}
	}
}

// pass sends what the reader lacks.
func (s *Service) pass(ctx context.Context, tenant penstock.TenantID, r *Reader, send func(Delta) error) error {
	for {
		d, err := s.Store.Since(ctx, tenant, r.Name, r.After)
		if err != nil {
			return err
		}
		r.After = d.Position
		if err := send(d); err != nil {
			return err
		}
		if !d.More {
			return nil
		}
	}
}

func sighting(caller penstock.Principal, r Reader) Sighting {
	return Sighting{Prompt: r.Name, Person: Person{Client: r.Client, Tag: Tag(caller.Tenant.ID, caller.Author())}}
}

// departTime bounds the write after a stream, whose own context has ended.
const departTime = 5 * time.Second

// depart ends the presence of a reader's editor. If it fails, the presence expires.
func (s *Service) depart(ctx context.Context, caller penstock.Principal, r Reader) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), departTime)
	defer cancel()
	if s.People.Forget(ctx, caller.Tenant.ID, sighting(caller, r)) == nil {
		s.Changed(caller.Tenant.ID, r.Name)
	}
}

// streams counts the open streams of each draft. The zero value is ready.
type streams struct {
	mu   sync.Mutex
	open map[Key]int
}

// enter counts a stream until leave. Codes: rate_limited.
func (s *streams) enter(id Key) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[id] >= MaxStreams {
		return nil, penstock.Errorf(penstock.CodeRateLimited, "%d streams of this draft are open on this process, which is the maximum; close one, or wait until one ends.", MaxStreams)
	}
	if s.open == nil {
		s.open = map[Key]int{}
	}
	s.open[id]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open[id]--; s.open[id] == 0 {
			delete(s.open, id)
		}
	}, nil
}
