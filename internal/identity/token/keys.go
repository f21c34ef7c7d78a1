package token

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"

	"penstock"
)

const (
	// refreshInterval is the age at which keys are fetched again, so that a withdrawn key is soon refused.
	refreshInterval = 10 * time.Minute
	// MaxStale is how long keys are used while their issuer cannot be reached.
	MaxStale = 24 * time.Hour
	// minInterval is the least time between two fetches. Tokens with unknown keys cannot cause more.
	minInterval = 5 * time.Second
	// maxBackoff is the longest time between two fetches from an issuer that fails.
	maxBackoff = time.Minute
	// fetchTimeout bounds a fetch, the discovery included. A call with an unknown key waits for it.
	fetchTimeout = 5 * time.Second
)

// source is where keys come from.
type source struct{ issuer, jwks string }

// keySet is the public keys of an issuer. It is fetched by Run, and by the first call that needs an unknown key; other
// calls wait for that fetch.
type keySet struct {
	source
	name    string // of the issuer, for the log
	client  *http.Client
	log     *slog.Logger
	clock   func() time.Time
	current atomic.Pointer[published]

	mu       sync.Mutex
	fetching chan struct{} // closed at the end of the fetch that runs; nil if none runs
	next     time.Time     // no fetch begins earlier
	failures int           // in a row
}

// published is what an issuer published at one time.
type published struct {
	keys       []jose.JSONWebKey
	fetched    time.Time
	generation uint64 // grows when a key is withdrawn
}

// find returns the key of a token and its generation. Codes: invalid_key for a key that the issuer does not have,
// overloaded if the issuer could not be asked.
func (s *keySet) find(ctx context.Context, id, algorithm string) (*jose.JSONWebKey, uint64, error) {
	for _, last := range []bool{false, true} {
		if p := s.current.Load(); p != nil && s.clock().Sub(p.fetched) <= MaxStale {
			if key := p.find(id, algorithm); key != nil {
				return key, p.generation, nil
			}
		}
		if !last {
			if err := s.refresh(ctx); err != nil {
				return nil, 0, err
			}
		}
	}
	return nil, 0, refused(refusedSigned, nil)
}

// find returns the key with an id. A token without an id needs a set with one key for its algorithm.
func (p *published) find(id, algorithm string) *jose.JSONWebKey {
	var found *jose.JSONWebKey
	for i := range p.keys {
		k := &p.keys[i]
		if id != "" && k.KeyID != id || !fits(k, algorithm) {
			continue
		}
		if id != "" {
			return k
		}
		if found != nil {
			return nil
		}
		found = k
	}
	return found
}

// holds reports whether a result of a generation still holds.
func (s *keySet) holds(generation uint64, now time.Time) bool {
	p := s.current.Load()
	return p.generation == generation && now.Sub(p.fetched) <= MaxStale
}

// due reports whether Run should fetch.
func (s *keySet) due() bool {
	p, now := s.current.Load(), s.clock()
	if p != nil && now.Sub(p.fetched) < refreshInterval {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fetching == nil && !now.Before(s.next)
}

// refresh fetches the keys, waits for the fetch that runs, or does nothing if the last fetch was a moment ago. Codes:
// overloaded if the issuer cannot be asked now.
func (s *keySet) refresh(ctx context.Context) error {
	s.mu.Lock()
	switch running := s.fetching; {
	case running != nil:
		s.mu.Unlock()
		select {
		case <-running:
		case <-ctx.Done():
			return &penstock.Error{Code: penstock.CodeOverloaded, Message: keysUnavailable, Err: ctx.Err()}
		}
	case s.clock().Before(s.next):
		s.mu.Unlock()
	default:
		s.fetching = make(chan struct{})
		s.mu.Unlock()
		s.fetch(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures == 0 {
		return nil
	}
	return &penstock.Error{Code: penstock.CodeOverloaded, Message: keysUnavailable, RetryAfter: max(time.Second, s.next.Sub(s.clock()))}
}

const keysUnavailable = "The keys of this token's issuer cannot be fetched now; repeat the call."

// fetch replaces the keys. It outlives the call that it runs for, since other calls wait for it.
func (s *keySet) fetch(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	keys, err := download(ctx, s.client, s.source)
	now := s.clock()
	if err == nil {
		s.publish(keys, now)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.fetching)
	s.fetching = nil
	if err == nil {
		if s.failures > 0 {
			s.log.InfoContext(ctx, "the keys of a token issuer can be fetched again", "issuer", s.name)
		}
		s.failures, s.next = 0, now.Add(minInterval)
		return
	}
	s.next = now.Add(min(minInterval<<min(s.failures, 10), maxBackoff))
	if s.failures++; s.failures == 1 {
		s.log.WarnContext(ctx, "the keys of a token issuer cannot be fetched; known keys stay in use for a day", "issuer", s.name, "error", err)
	}
}

// publish puts keys in use. Only one fetch runs at a time.
func (s *keySet) publish(keys []jose.JSONWebKey, now time.Time) {
	next := &published{keys: keys, fetched: now}
	if was := s.current.Load(); was != nil {
		next.generation = was.generation
		if withdrawn(was.keys, keys) {
			next.generation++
		}
	}
	s.current.Store(next)
}
