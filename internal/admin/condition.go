package admin

import (
	"bytes"
	"cmp"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"penstock"
	"penstock/internal/rest"
	"penstock/internal/store"
)

const (
	maxBody       = 64 << 10
	maxActorBytes = 128
)

// pageSize is the size of a page of tenants and keys.
var pageSize = rest.PageSize{Most: 1000, Usual: 100}

// actor is the actor that the audit names. Several operators may share the admin key: for it, the actor is the claimed
// name, or else the caller's address. For another key, the actor always includes the name of the key. A person is
// the actor under the own name. Codes: invalid_request.
func (c *call) actor(claimed string) (string, error) {
	if len(claimed) > maxActorBytes {
		return "", penstock.InvalidParam("actor", "actor must be at most %d bytes.", maxActorBytes)
	}
	p := &c.Principal
	if p.Person != nil {
		return p.Actor(), nil // a claimed name would hide who it was
	}
	if p.Key != "" && p.Tenant.ID == "" { // a client certificate
		return strings.TrimSpace(claimed + " (" + p.Key + ")"), nil
	}
	if p.Key != "" {
		return strings.TrimSpace(claimed + " (key " + string(p.Tenant.ID) + "/" + p.Key + ")"), nil
	}
	host, _, err := net.SplitHostPort(c.R.RemoteAddr)
	if err != nil {
		host = c.R.RemoteAddr
	}
	return cmp.Or(claimed, "admin@"+host), nil
}

// condition reads the actor and the condition of a change: If-Match, ?dry_run= and ?actor=. Codes: invalid_request.
func (c *call) condition() (on store.Condition, err error) {
	if on.Actor, err = c.actor(c.R.URL.Query().Get("actor")); err != nil {
		return on, err
	}
	if on.DryRun, err = c.QueryBool("dry_run"); err != nil {
		return on, err
	}
	on.IfVersion, err = rest.IfMatch(c.R)
	return on, err
}

// decode reads the body of a change strictly. An empty body counts as an object without fields. Codes: invalid_request,
// too_large.
func (c *call) decode(into any) error {
	text, err := io.ReadAll(http.MaxBytesReader(c.W, c.R.Body, maxBody))
	if err != nil {
		return penstock.Errorf(penstock.CodeTooLarge, "The body could not be read; it may have at most %d bytes.", maxBody)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	return rest.Decode(text, into)
}

// change reads a change: its condition and its body. Codes: invalid_request, too_large.
func (c *call) change(into any) (store.Condition, error) {
	on, err := c.condition()
	if err != nil {
		return on, err
	}
	return on, c.decode(into)
}

// named returns nil for an empty name, so that JSON has null.
func named(name string) *string {
	if name == "" {
		return nil
	}
	return &name
}

// moment is a time unless it is zero.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// assign sets a field to the sent value, if there is one.
func assign[T any](field *T, sent *T) {
	if sent != nil {
		*field = *sent
	}
}
