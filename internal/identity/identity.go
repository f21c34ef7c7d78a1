// Package identity is about people: how they sign in, their roles, and their sessions.
//
// A person signs in at an OpenID Connect issuer, with an operator's key, or by a one-time link. Each sign-in makes a session: a
// row with the hash of a random token, which the browser keeps in a cookie. The roles of a person come from the way of
// signing in, from the groups that the issuer names, and from members: grants to a person or an e-mail address, for one tenant
// or for all, in the configuration or made by an administrator.
//
// Package identity does not decide which route needs which role: rows of package rest do. It does not know API keys:
// package directory does.
//
// Invariants:
//   - A token is stored as its SHA-256 only. Every sign-in draws a new token, so a token from before is worth nothing.
//   - A call with a cookie that changes something comes from a page of this server, and carries the token of its session.
//   - A session that ended, and a role that was removed, have no effect in any process after a second: every such change
//     raises the version of the one row of identity, wakes all processes, and is found by polling if the wake-up is lost.
//   - A call of a known session reads no database.
//
// While the database cannot be read, known sessions go on with their last known roles. A Service is safe for concurrent use.
package identity

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/directory"
	"penstock/internal/rest"
	"penstock/internal/signal"
	"penstock/internal/store"
)

// The actions in the audit.
const (
	ActionSignIn        = "session.create"
	ActionSignOut       = "session.end"
	ActionRevokeSession = "session.revoke"
	ActionGrantMember   = "member.grant"
	ActionChangeMember  = "member.change"
	ActionRemoveMember  = "member.remove"
	ActionReveal        = "payload.reveal"
)

// The issuers of people who sign in without OpenID Connect. No configured issuer can have these names.
const (
	IssuerKey  = "penstock:key"
	IssuerLink = "penstock:link"
)

// Person is a person as an issuer describes them.
type Person struct {
	ID      penstock.ID
	Issuer  string // its name in the configuration, or IssuerKey or IssuerLink
	Subject string
	Name    string
	Email   string // verified, in lower case; "" for none
}

// Session is a signed-in browser.
type Session struct {
	ID        penstock.ID
	Person    Person
	Key       string          // the hash of the operator's key that began it, in hex; "" for none
	Roles     []penstock.Role // for all tenants, given by the way of signing in
	Groups    []string        // that the issuer named
	UserAgent string
	Address   string
	CreatedAt time.Time
	SeenAt    time.Time // about
	ExpiresAt time.Time // however much it is used
	EndedAt   time.Time // zero while it has not ended
}

// Member is a grant of a role.
type Member struct {
	ID        penstock.ID // "" for a member of the configuration
	Person    penstock.ID // "" for a grant to an e-mail address
	Email     string
	Group     string            // of the configuration: the group of an issuer that has the role
	Issuer    string            // of Group
	Tenant    penstock.TenantID // "" for all
	Role      penstock.Role
	Actor     string
	Version   int64
	CreatedAt time.Time
}

// NewSession is a session to be stored.
type NewSession struct {
	Session
	TokenHash string
	// Link is the hash of the one-time link that the session uses up; "" for none.
	Link string
	// Once is the hash of a sign-in at an issuer, which makes one session; "" for none.
	Once  string
	Actor string
}

// SessionPage selects sessions, the newest first.
type SessionPage struct {
	Person    penstock.ID // "" for any
	After     penstock.ID // "" for the first page
	Limit     int
	SeenAfter time.Time // only sessions that were used after this time
}

// SessionEnd ends a session.
type SessionEnd struct {
	ID     penstock.ID
	Person penstock.ID // whose session it must be; "" for any
	Action string
	store.Condition
}

// Seen is when a session was used.
type Seen struct {
	Session penstock.ID
	At      time.Time
}

// Sessions stores sessions.
type Sessions interface {
	// SignIn stores the person, or the changed name and e-mail of a known one, and the session. Codes: not_found if the link
	// does not exist, was used or has expired; conflict if the sign-in has made a session before.
	SignIn(ctx context.Context, n NewSession) (Session, error)
	// Session returns the session of a token, also if it has ended. Codes: not_found.
	Session(ctx context.Context, tokenHash string) (Session, error)
	// List returns sessions that have not ended.
	List(ctx context.Context, p SessionPage) ([]Session, error)
	// End ends a session. Codes: not_found.
	End(ctx context.Context, e SessionEnd) (Session, error)
	// Touch stores when sessions were used.
	Touch(ctx context.Context, seen []Seen) error
}

// People stores people and one-time links, and deletes what is over.
type People interface {
	// PersonID returns the id of a person who signed in before; "" for a new one.
	PersonID(ctx context.Context, issuer, subject string) (penstock.ID, error)
	// AddLink stores the hash of a link.
	AddLink(ctx context.Context, hash string, expires time.Time) error
	// Purge deletes links that expired, and sessions that ended or expired before a time.
	Purge(ctx context.Context, before time.Time) error
}

// MemberPage selects members, the oldest first.
type MemberPage struct {
	Tenant *penstock.TenantID // nil for any
	After  penstock.ID
	Limit  int
}

// Members stores grants. Every change is audited.
type Members interface {
	// Grants returns the version of everything that sessions depend on, and all members if the version differs from known.
	Grants(ctx context.Context, known int64) (version int64, all []Member, err error)
	Members(ctx context.Context, p MemberPage) ([]Member, error)
	// Grant adds a member. Codes: conflict for one that exists, not_found for an unknown person.
	Grant(ctx context.Context, m Member, c store.Condition) (Member, error)
	// Change gives a member another role. Codes: not_found, conflict.
	Change(ctx context.Context, id penstock.ID, role penstock.Role, c store.Condition) (Member, error)
	// Remove removes a member. Codes: not_found, conflict.
	Remove(ctx context.Context, id penstock.ID, c store.Condition) (Member, error)
}

// Auditor records reads of payloads.
type Auditor interface {
	Reveal(ctx context.Context, r rest.Reveal) error
}

// Tenants are the tenants that exist.
type Tenants interface {
	Tenant(id penstock.TenantID) (penstock.Tenant, bool)
	TenantIDs() []penstock.TenantID
}

// Keys are the keys of operators.
type Keys interface {
	// Authenticate returns the principal of a secret. Codes: invalid_key, rate_limited.
	Authenticate(secret, address string) (penstock.Principal, error)
	// Admits reports whether the key of a hash still has the role admin.
	Admits(hash store.KeyHash) bool
}

// Deps are what a service works with.
type Deps struct {
	Settings  config.SignIn
	PublicURL string
	BasePath  string // the path below which browsers find the server, without a slash at its end
	// OffersLink is whether a one-time link was printed.
	OffersLink bool
	Sessions   Sessions
	People     People
	Members    Members
	Audit      Auditor
	Tenants    Tenants
	Keys       Keys
	// Throttle slows down addresses that present unknown sessions and links; nil for no bound.
	Throttle *directory.Throttle
	// Changes is notified when sessions or members change; nil for polling alone.
	Changes *signal.Topic[signal.None]
	Log     *slog.Logger
	Clock   func() time.Time
}

// Service is the people that this process knows.
type Service struct {
	Deps
	browser
	ids      penstock.IDs
	view     atomic.Pointer[view]
	updating sync.Mutex // held while one view replaces another
	seen     chan Seen
	watches  watches
	issuers  map[string]*issuer
}

// New returns a service before its first refresh.
func New(d Deps) *Service {
	s := &Service{Deps: d, browser: browser{d.PublicURL, d.BasePath, d.Clock}, seen: make(chan Seen, maxSeen)}
	s.view.Store(newView(0, nil))
	s.issuers = newIssuers(d)
	return s
}
