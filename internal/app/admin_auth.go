package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/api"
	"penstock/internal/store"
)

const (
	maxAdminBody = 64 << 10
	maxPage      = 1000
	usualPage    = 100
)

func requireAdmin(c penstock.Caller) error { return admit.Require(c, penstock.ScopeAdmin) }

type operatorKey struct{}

// operatorsOnly lets through who presents an admin key, and remembers who it was.
func (a *app) operatorsOnly(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := a.operatorOf(api.PresentedKey(r), r.RemoteAddr)
		if err != nil {
			a.adminError(w, r, err)
			return
		}
		next(w, r.WithContext(context.WithValue(r.Context(), operatorKey{}, who)))
	})
}

// actor is whom the audit shall name. With the key that operators begin with, which several may share, it is who
// they say to be, or else where they call from. A key with a name of its own is named whatever they say.
func actor(r *http.Request, claimed string) (string, error) {
	if len(claimed) > maxActorBytes {
		return "", penstock.InvalidParam("actor", "actor must be at most %d bytes.", maxActorBytes)
	}
	if who, _ := r.Context().Value(operatorKey{}).(operator); who.key != "" {
		return strings.TrimSpace(claimed + " (key " + who.key + ")"), nil
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return cmp.Or(claimed, "admin@"+host), nil
}

// condition reads who makes a change and when it is to be made at all: If-Match, ?dry_run= and ?actor=. Codes:
// invalid_request.
func condition(r *http.Request) (c store.Condition, err error) {
	query := r.URL.Query()
	if c.Actor, err = actor(r, query.Get("actor")); err != nil {
		return c, err
	}
	if text := query.Get("dry_run"); text != "" {
		if c.DryRun, err = strconv.ParseBool(text); err != nil {
			return c, penstock.InvalidParam("dry_run", "dry_run must be true or false.")
		}
	}
	c.IfVersion, err = api.IfMatch(r)
	return c, err
}

// adminBody decodes the body of a change strictly. Codes: invalid_request.
func adminBody(r *http.Request, into any) error {
	body := json.NewDecoder(io.LimitReader(r.Body, maxAdminBody))
	body.DisallowUnknownFields()
	err := body.Decode(into)
	if errors.Is(err, io.EOF) {
		return nil // nothing was sent: every field may be left out, or is missed later
	}
	if err != nil {
		return penstock.Errorf(penstock.CodeInvalidRequest, "The body could not be read as JSON of this call: %v.", err)
	}
	return nil
}

// pageLimit reads how many entries a page shall hold. Codes: invalid_request.
func pageLimit(r *http.Request) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return usualPage, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > maxPage {
		return 0, penstock.InvalidParam("limit", "limit must be from 1 to %d.", maxPage)
	}
	return limit, nil
}

// callersChanged makes every process look, this one before it answers. The change is made: when looking does not
// work just now, everybody finds out by polling.
func (a *app) callersChanged(ctx context.Context, c store.Condition) {
	if c.DryRun {
		return
	}
	a.topics.callers.Notify()
	if err := a.directory.Refresh(ctx); err != nil {
		a.log.WarnContext(ctx, "looking at a change of tenants or keys; it will be seen by polling", "error", err)
	}
}
