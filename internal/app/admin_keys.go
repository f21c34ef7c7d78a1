package app

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/rest"
	"penstock/internal/store"
)

// The bounds of a rotation's overlap.
const (
	defaultOverlap = 24 * time.Hour
	maxOverlap     = 90 * 24 * time.Hour
)

// ofFile begins the id of a key that the configuration file declares: file:tenant:name.
const ofFile = "file:"

// keyView is a key as operators see it. Its secret is there once, in the answer that made it.
type keyView struct {
	Object     string             `json:"object"`
	ID         string             `json:"id"`
	Tenant     penstock.TenantID  `json:"tenant"`
	Name       string             `json:"name"`
	Source     store.TenantSource `json:"source"`
	Prefix     string             `json:"prefix"`
	Status     string             `json:"status"` // active, rotated (works until it expires), expired, revoked
	Scopes     []penstock.Scope   `json:"scopes"`
	Limits     penstock.Limits    `json:"limits"` // with all keys of this name together
	Budget     config.Budget      `json:"budget"`
	Secret     string             `json:"secret,omitempty"`
	ETag       string             `json:"etag,omitempty"`
	CreatedAt  *time.Time         `json:"created_at"`
	ExpiresAt  *time.Time         `json:"expires_at"`
	RevokedAt  *time.Time         `json:"revoked_at"`
	LastUsedAt *time.Time         `json:"last_used_at"`
	ReplacedBy *string            `json:"replaced_by"`
	DryRun     bool               `json:"dry_run,omitempty"`
}

func newKeyView(k store.APIKey, now time.Time) keyView {
	v := keyView{
		Object: "key", ID: penstock.ViewKey.Format(k.ID), Tenant: k.Tenant, Name: k.Name, Source: store.SourceAPI, Prefix: k.Prefix, Status: "active",
		Limits: k.Limits, Budget: config.BudgetOf(k.Budgets, k.Name, ""),
		Scopes: k.Scopes, ETag: rest.ETag(k.Version), CreatedAt: moment(k.CreatedAt), ExpiresAt: moment(k.ExpiresAt),
		RevokedAt: moment(k.RevokedAt), LastUsedAt: moment(k.LastUsedAt),
	}
	if k.ReplacedBy != "" {
		by := penstock.ViewKey.Format(k.ReplacedBy)
		v.ReplacedBy, v.Status = &by, "rotated"
	}
	switch {
	case !k.RevokedAt.IsZero():
		v.Status = "revoked"
	case !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(now):
		v.Status = "expired"
	}
	return v
}

// moment is a time unless it is zero.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func (a *app) keyRoutes(operate operates) {
	operate("GET /admin/v1/keys", a.listKeys, "tenant", "limit", "after")
	operate("POST /admin/v1/keys", a.createKey, changeQuery...)
	operate("PATCH /admin/v1/keys/{key}", a.changeKey, changeQuery...)
	operate("POST /admin/v1/keys/{key}/rotate", a.rotateKey, changeQuery...)
	operate("DELETE /admin/v1/keys/{key}", a.revokeKey, changeQuery...)
}

// listKeys lists keys, oldest first: ?tenant=, ?limit= and ?after=. The first page of one tenant begins with the
// keys that the file gives it.
func (a *app) listKeys(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	filter := store.KeyFilter{Tenant: penstock.TenantID(query.Get("tenant"))}
	limit, err := pageLimit(r)
	if after := query.Get("after"); err == nil && after != "" {
		filter.After, err = keyID(after)
	}
	var all []store.APIKey
	if err == nil {
		filter.Limit = limit + 1
		all, err = a.store.ListKeys(r.Context(), filter)
	}
	if err != nil {
		a.adminError(w, r, err)
		return
	}
	data := []keyView{}
	if filter.After == "" {
		for _, k := range a.live.Current().KeysOf(filter.Tenant) {
			data = append(data, keyView{Object: "key", ID: ofFile + string(filter.Tenant) + ":" + k.Name, Tenant: filter.Tenant, Name: k.Name,
				Source: store.SourceFile, Status: "active", Scopes: k.Scopes, Limits: k.Limits, Budget: k.Budget})
		}
	}
	now := time.Now()
	for _, k := range all[:min(limit, len(all))] {
		data = append(data, newKeyView(k, now))
	}
	adminJSON(w, http.StatusOK, map[string]any{"object": "list", "data": data, "has_more": len(all) > limit})
}

// keyFields is what an operator says about a new key.
type keyFields struct {
	Tenant    penstock.TenantID `json:"tenant"`
	Name      string            `json:"name"`
	Scopes    []penstock.Scope  `json:"scopes"`
	ExpiresAt time.Time         `json:"expires_at"`
	ExpiresIn *duration         `json:"expires_in"`
	keyAllowance
}

// expiry is when a new key ends. Codes: invalid_request.
func (f keyFields) expiry(now time.Time) (time.Time, error) {
	at := f.ExpiresAt
	if f.ExpiresIn != nil {
		if !at.IsZero() {
			return at, penstock.InvalidParam("expires_in", "Give either expires_at or expires_in.")
		}
		at = now.Add(time.Duration(*f.ExpiresIn))
	}
	if !at.IsZero() && !at.After(now) {
		return at, penstock.InvalidParam("expires_at", "A key must expire in the future.")
	}
	return at.UTC().Truncate(time.Microsecond), nil
}

// check completes and checks a new key. Codes: invalid_request.
func (f *keyFields) check() error {
	if f.Tenant == "" {
		return penstock.InvalidParam("tenant", "tenant is missing; say whose key it shall be.")
	}
	if err := config.CheckName("name", f.Name); err != nil {
		return err
	}
	if len(f.Scopes) == 0 {
		f.Scopes = slices.Clone(penstock.Scopes)
	}
	for _, scope := range f.Scopes {
		if !slices.Contains(penstock.AllScopes, scope) {
			return penstock.InvalidParam("scopes", "There is no scope %q; the scopes are %v.", scope, penstock.AllScopes)
		}
	}
	slices.Sort(f.Scopes)
	f.Scopes = slices.Compact(f.Scopes)
	return nil
}

// drawnKey is a key with its secret, which nobody has seen yet.
type drawnKey struct {
	store.APIKey
	secret string
}

func (a *app) drawKey(now time.Time) drawnKey {
	secret := newSecret()
	digest, ok := config.Digest(secret)
	if !ok {
		panic("app: a drawn secret is not within the bounds of secrets")
	}
	return drawnKey{store.APIKey{ID: a.ids.New(now), Hash: digest, Prefix: secret[:recognizable]}, secret}
}

func (a *app) createKey(w http.ResponseWriter, r *http.Request) {
	key, c, err := a.newKey(r)
	a.answerKey(w, r, keyOutcome{key, c, err, http.StatusCreated})
}

// newKey makes the key that a call asks for. Codes: invalid_request, not_found, conflict.
func (a *app) newKey(r *http.Request) (key drawnKey, c store.Condition, err error) {
	var said keyFields
	if c, err = condition(r); err != nil {
		return key, c, err
	}
	if err := adminBody(r, &said); err != nil {
		return key, c, err
	}
	if err := said.check(); err != nil {
		return key, c, err
	}
	for _, k := range a.live.Current().KeysOf(said.Tenant) {
		if k.Name == said.Name {
			return key, c, penstock.Errorf(penstock.CodeConflict, "The configuration file gives tenant %s a key %q; choose another name.", said.Tenant, said.Name)
		}
	}
	now := time.Now()
	key = a.drawKey(now)
	key.Tenant, key.Name, key.Scopes = said.Tenant, said.Name, said.Scopes
	if key.ExpiresAt, err = said.expiry(now); err != nil {
		return key, c, err
	}
	if err := said.apply(&key.APIKey); err != nil {
		return key, c, err
	}
	key.APIKey, err = a.store.CreateKey(r.Context(), store.NewKey{Key: key.APIKey, Condition: c})
	return key, c, err
}

// keyID reads the id of a key that is kept. Codes: not_found, managed_by_file.
func keyID(text string) (penstock.ID, error) {
	if strings.HasPrefix(text, ofFile) {
		return "", penstock.Errorf(penstock.CodeManagedByFile, "This key is declared in the configuration file; change it there and reload.")
	}
	id, err := penstock.ViewKey.Parse(text)
	if err != nil {
		return "", penstock.Errorf(penstock.CodeNotFound, "There is no key %q; its id begins with key_, \"penstock keys list\" shows it.", text)
	}
	return id, nil
}

// rotation is how an operator wants a key replaced.
type rotation struct {
	Overlap   *duration `json:"overlap"`
	ExpiresAt time.Time `json:"expires_at"`
	ExpiresIn *duration `json:"expires_in"`
}

func (a *app) rotateKey(w http.ResponseWriter, r *http.Request) {
	key, c, err := a.nextKey(r)
	a.answerKey(w, r, keyOutcome{key, c, err, http.StatusCreated})
}

// nextKey makes the key that replaces another. Codes: invalid_request, not_found, conflict, managed_by_file.
func (a *app) nextKey(r *http.Request) (key drawnKey, c store.Condition, err error) {
	id, err := keyID(r.PathValue("key"))
	if err != nil {
		return key, c, err
	}
	if c, err = condition(r); err != nil {
		return key, c, err
	}
	var said rotation
	if err := adminBody(r, &said); err != nil {
		return key, c, err
	}
	overlap := defaultOverlap
	assign(&overlap, (*time.Duration)(said.Overlap))
	if overlap < 0 || overlap > maxOverlap {
		return key, c, penstock.InvalidParam("overlap", "overlap must be from 0s to %v.", maxOverlap)
	}
	now := time.Now()
	key = a.drawKey(now)
	if key.ExpiresAt, err = (keyFields{ExpiresAt: said.ExpiresAt, ExpiresIn: said.ExpiresIn}).expiry(now); err != nil {
		return key, c, err
	}
	key.APIKey, err = a.store.RotateKey(r.Context(), store.KeyRotation{ID: id, Next: key.APIKey, Overlap: overlap, Condition: c})
	return key, c, err
}

func (a *app) revokeKey(w http.ResponseWriter, r *http.Request) {
	var key drawnKey
	id, err := keyID(r.PathValue("key"))
	var c store.Condition
	if err == nil {
		c, err = condition(r)
	}
	if err == nil {
		key.APIKey, err = a.store.RevokeKey(r.Context(), store.KeyRevocation{ID: id, Condition: c})
	}
	a.answerKey(w, r, keyOutcome{key, c, err, http.StatusOK})
}

// keyOutcome is what became of a change.
type keyOutcome struct {
	key    drawnKey
	by     store.Condition
	err    error
	status int
}

// answerKey tells every process of a change and answers with the key as it is now, or would be. A secret that was
// drawn is shown here and nowhere else.
func (a *app) answerKey(w http.ResponseWriter, r *http.Request, o keyOutcome) {
	if o.err != nil {
		a.adminError(w, r, o.err)
		return
	}
	a.callersChanged(r.Context(), o.by)
	view := newKeyView(o.key.APIKey, time.Now())
	if view.DryRun = o.by.DryRun; view.DryRun {
		adminJSON(w, http.StatusOK, view)
		return
	}
	a.log.InfoContext(r.Context(), "key changed", "tenant", view.Tenant, "key", view.ID, "status", view.Status, "actor", o.by.Actor)
	view.Secret = o.key.secret
	w.Header().Set("ETag", view.ETag)
	w.Header().Set("Cache-Control", "no-store")
	adminJSON(w, o.status, view)
}
