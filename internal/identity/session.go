package identity

import (
	"context"
	"encoding/hex"
	"sync/atomic"
	"time"

	"penstock"
	"penstock/internal/store"
)

const (
	// seenStep is the precision of the time of a session's last use: a busy session is stored once per step.
	seenStep = time.Minute
	// maxSeen is how many uses may wait to be written. Beyond that, a use is stored a step later.
	maxSeen = 4096
	// flushInterval and flushBatch are how often uses are written and how many at a time.
	flushInterval = 2 * time.Second
	flushBatch    = 500
	flushTimeout  = 5 * time.Second
)

// entry is a session in memory, with its roles under one view.
type entry struct {
	Session
	person *penstock.Person
	seen   atomic.Int64 // the last use that this process knows of, in microseconds
	stored atomic.Int64 // the last use that is stored, or waits to be
}

// errOver is the answer to a session that is not accepted. It does not say why: a stranger may hold an old token.
func errOver() error {
	return penstock.Errorf(penstock.CodeInvalidKey, "You are not signed in, or your session has ended; sign in again.")
}

// lookUp returns the session of a token. Codes: invalid_key, rate_limited, overloaded.
func (s *Service) lookUp(ctx context.Context, token, address string) (*entry, error) {
	hash, v := hashOf(token), s.view.Load()
	e := v.find(hash)
	if e == nil {
		var err error
		if e, err = s.read(ctx, v, token, address); err != nil {
			return nil, err
		}
	}
	if e.idle(s.Clock(), s.Settings.IdleTimeout) { // another process may have served this person meanwhile
		fresh, err := s.Sessions.Session(ctx, hash)
		if err != nil {
			return nil, overOr(err)
		}
		advance(&e.seen, fresh.SeenAt.UnixMicro())
	}
	if s.over(e) {
		return nil, errOver()
	}
	return e, nil
}

// read reads a session from the database into a view.
func (s *Service) read(ctx context.Context, v *view, token, address string) (*entry, error) {
	pass, err := s.Throttle.Admit(address, token)
	if err != nil {
		return nil, tooMany(err)
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	session, err := s.Sessions.Session(ctx, hashOf(token))
	if penstock.ErrorCode(err) == penstock.CodeNotFound {
		pass.Wrong()
	} else {
		pass.Good() // a session that has ended is no guess
	}
	if err != nil {
		return nil, overOr(err)
	}
	return v.keep(hashOf(token), s.newEntry(v, session)), nil
}

func (s *Service) newEntry(v *view, session Session) *entry {
	e := &entry{Session: session, person: v.person(session, &s.Settings)}
	e.seen.Store(session.SeenAt.UnixMicro())
	e.stored.Store(session.SeenAt.UnixMicro())
	return e
}

// tooMany words the refusal of a throttle for people.
func tooMany(err error) error {
	e := *penstock.AsError(err)
	e.Message = "Too many unknown sessions or links came from your address; wait a little and sign in again."
	return &e
}

// overOr makes the answer for a session that cannot be read.
func overOr(err error) error {
	if penstock.ErrorCode(err) == penstock.CodeNotFound {
		return errOver()
	}
	return err
}

// over reports whether a session is not accepted any more.
func (s *Service) over(e *entry) bool {
	return !e.EndedAt.IsZero() || !s.Clock().Before(e.ExpiresAt) || e.idle(s.Clock(), s.Settings.IdleTimeout) || !s.keyStands(e)
}

// ListSessions returns sessions that are still accepted, the newest first.
func (s *Service) ListSessions(ctx context.Context, p SessionPage) ([]Session, error) {
	p.SeenAfter = s.Clock().Add(-s.Settings.IdleTimeout)
	return s.Sessions.List(ctx, p)
}

// idle reports whether a session was not used for so long that it is over.
func (e *entry) idle(now time.Time, timeout time.Duration) bool {
	return now.Sub(time.UnixMicro(e.seen.Load())) >= timeout
}

// keyStands reports whether the operator's key that began a session is still accepted.
func (s *Service) keyStands(e *entry) bool {
	if e.Key == "" {
		return true
	}
	raw, err := hex.DecodeString(e.Key)
	return err == nil && len(raw) == len(store.KeyHash{}) && s.Keys.Admits(store.KeyHash(raw))
}

// note notes the use of a session. It never blocks.
func (s *Service) note(e *entry) {
	now := s.Clock()
	advance(&e.seen, now.UnixMicro())
	last := e.stored.Load()
	if now.UnixMicro()-last < seenStep.Microseconds() || !e.stored.CompareAndSwap(last, now.UnixMicro()) {
		return
	}
	select {
	case s.seen <- Seen{e.ID, now}:
	default: // a use within the next step will be noted
	}
}

// advance raises a time to another one, unless it is later already.
func advance(at *atomic.Int64, to int64) {
	for was := at.Load(); was < to && !at.CompareAndSwap(was, to); was = at.Load() {
	}
}

// flush writes a batch of uses. If it fails, they are lost, which does little harm: the next use is stored.
func (s *Service) flush(ctx context.Context) {
	var batch []Seen
	for len(batch) < flushBatch {
		select {
		case seen := <-s.seen:
			batch = append(batch, seen)
			continue
		default:
		}
		break
	}
	if len(batch) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	if err := s.Sessions.Touch(ctx, batch); err != nil {
		s.Log.WarnContext(ctx, "noting when sessions were used", "sessions", len(batch), "error", err)
	}
}
