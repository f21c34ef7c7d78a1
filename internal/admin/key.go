package admin

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/directory"
	"penstock/internal/rest"
	"penstock/internal/store"
)

// ofFile begins the id of a key that the configuration file declares: file:tenant:name.
const ofFile = "file:"

// keyView is a key as operators see it.
type keyView struct {
	Object     string             `json:"object"`
	ID         string             `json:"id"`
	Tenant     penstock.TenantID  `json:"tenant"`
	Name       string             `json:"name"`
	Source     store.TenantSource `json:"source"`
	Prefix     string             `json:"prefix" about:"The first characters of its secret, to recognise it by."`
	Status     string             `json:"status" about:"active, rotated (works until it expires), expired or revoked."`
	Scopes     []penstock.Scope   `json:"scopes"`
	Limits     penstock.Limits    `json:"limits" about:"With all keys of this name together."`
	Budget     config.Budget      `json:"budget"`
	Secret     string             `json:"secret,omitzero" about:"Only in the answer that creates the key."`
	ETag       string             `json:"etag,omitzero"`
	CreatedAt  *time.Time         `json:"created_at"`
	ExpiresAt  *time.Time         `json:"expires_at"`
	RevokedAt  *time.Time         `json:"revoked_at"`
	LastUsedAt *time.Time         `json:"last_used_at"`
	ReplacedBy *string            `json:"replaced_by"`
	DryRun     bool               `json:"dry_run,omitzero" about:"Nothing was changed: this is the result that the change would have."`
}

func newKeyView(k store.APIKey, now time.Time) keyView {
	v := keyView{
		Object: "key", ID: penstock.ViewKey.Format(k.ID), Tenant: k.Tenant, Name: k.Name, Source: store.SourceAPI, Prefix: k.Prefix, Status: "active",
		Limits: k.Limits, Budget: config.BudgetOf(k.Budgets, penstock.Budget{Key: k.Name}),
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

// list lists keys, oldest first. The first page of one tenant begins with the keys that the file gives it.
func (c keys) list() error {
	query := c.R.URL.Query()
	filter := store.KeyFilter{Tenant: penstock.TenantID(query.Get("tenant"))}
	limit, err := c.PageLimit(pageSize)
	if err != nil {
		return err
	}
	if after := query.Get("after"); after != "" {
		if filter.After, err = keyID(after); err != nil {
			return err
		}
	}
	filter.Limit = limit + 1
	all, err := c.Keys.ListKeys(c.R.Context(), filter)
	if err != nil {
		return err
	}
	page := rest.Page[keyView]{Object: "list", Data: []keyView{}, HasMore: len(all) > limit}
	if filter.After == "" {
		for _, k := range c.Config.Current().KeysOf(filter.Tenant) {
			page.Data = append(page.Data, keyView{Object: "key", ID: ofFile + string(filter.Tenant) + ":" + k.Name, Tenant: filter.Tenant, Name: k.Name,
				Source: store.SourceFile, Status: "active", Scopes: k.Scopes, Limits: k.Limits, Budget: k.Budget})
		}
	}
	for _, k := range all[:min(limit, len(all))] {
		page.Data = append(page.Data, newKeyView(k, c.Clock()))
	}
	return c.JSON(http.StatusOK, page)
}

// keyFields is the body that creates a key.
type keyFields struct {
	Tenant    penstock.TenantID `json:"tenant" required:"true"`
	Name      string            `json:"name" required:"true"`
	Scopes    []penstock.Scope  `json:"scopes" about:"All but admin when not given."`
	ExpiresAt time.Time         `json:"expires_at"`
	ExpiresIn *rest.Seconds     `json:"expires_in" about:"Instead of expires_at."`
	keyAllowance
}

// expiry is when a new key ends: at a time, in a while, or never. Codes: invalid_request.
func expiry(at time.Time, in *rest.Seconds, now time.Time) (time.Time, error) {
	if in != nil {
		if !at.IsZero() {
			return at, penstock.InvalidParam("expires_in", "expires_at and expires_in are both given; give only one.")
		}
		at = now.Add(time.Duration(*in))
	}
	if !at.IsZero() && !at.After(now) {
		return at, penstock.InvalidParam("expires_at", "A key must expire in the future; give a later time.")
	}
	return at.UTC().Truncate(time.Microsecond), nil
}

// key checks and completes a new key. Codes: invalid_request.
func (f *keyFields) key(now time.Time) (k store.APIKey, err error) {
	if f.Tenant == "" {
		return k, penstock.InvalidParam("tenant", "tenant is missing; name the tenant that the key belongs to.")
	}
	if err := config.CheckName("name", f.Name); err != nil {
		return k, err
	}
	if len(f.Scopes) == 0 {
		f.Scopes = slices.Clone(penstock.Scopes)
	}
	for _, scope := range f.Scopes {
		if !slices.Contains(penstock.AllScopes, scope) {
			return k, penstock.InvalidParam("scopes", "There is no scope %q; the scopes are %v.", scope, penstock.AllScopes)
		}
	}
	slices.Sort(f.Scopes)
	k = store.APIKey{Tenant: f.Tenant, Name: f.Name, Scopes: slices.Compact(f.Scopes)}
	if k.ExpiresAt, err = expiry(f.ExpiresAt, f.ExpiresIn, now); err != nil {
		return k, err
	}
	return k, f.apply(&k)
}

func (c keys) create() error {
	var fields keyFields
	on, err := c.call.change(&fields)
	if err != nil {
		return err
	}
	k, err := fields.key(c.Clock())
	if err != nil {
		return err
	}
	key, err := c.Editor.CreateKey(c.R.Context(), k, on)
	return c.answer(http.StatusCreated, key, on, err)
}

// id reads the id of the key that the path names. Codes: not_found, managed_by_file.
func (c keys) id() (penstock.ID, error) { return keyID(c.R.PathValue("key")) }

func keyID(text string) (penstock.ID, error) {
	if strings.HasPrefix(text, ofFile) {
		return "", penstock.Errorf(penstock.CodeManagedByFile, "This key is declared in the configuration file; change it there and reload.")
	}
	id, err := penstock.ViewKey.Parse(text)
	if err != nil {
		return "", penstock.Errorf(penstock.CodeNotFound, "There is no key %q. The id of a key begins with key_; \"penstock keys list\" shows the ids.", text)
	}
	return id, nil
}

// keyRotation is the body that rotates a key.
type keyRotation struct {
	Overlap   *rest.Seconds `json:"overlap" about:"How long the old key still works; 24h when not given."`
	ExpiresAt time.Time     `json:"expires_at" about:"Of the new key."`
	ExpiresIn *rest.Seconds `json:"expires_in" about:"Instead of expires_at."`
}

func (c keys) rotate() error {
	id, err := c.id()
	if err != nil {
		return err
	}
	var asked keyRotation
	on, err := c.call.change(&asked)
	if err != nil {
		return err
	}
	r := directory.Rotation{Key: id, Overlap: directory.DefaultOverlap}
	assign(&r.Overlap, (*time.Duration)(asked.Overlap))
	if r.ExpiresAt, err = expiry(asked.ExpiresAt, asked.ExpiresIn, c.Clock()); err != nil {
		return err
	}
	key, err := c.Editor.RotateKey(c.R.Context(), r, on)
	return c.answer(http.StatusCreated, key, on, err)
}

func (c keys) change() error {
	id, err := c.id()
	if err != nil {
		return err
	}
	var fields keyAllowance
	on, err := c.call.change(&fields)
	if err != nil {
		return err
	}
	k, err := c.Editor.ChangeKey(c.R.Context(), id, fields.apply, on)
	return c.answer(http.StatusOK, directory.DrawnKey{APIKey: k}, on, err)
}

func (c keys) revoke() error {
	id, err := c.id()
	if err != nil {
		return err
	}
	on, err := c.condition()
	if err != nil {
		return err
	}
	k, err := c.Editor.RevokeKey(c.R.Context(), id, on)
	return c.answer(http.StatusOK, directory.DrawnKey{APIKey: k}, on, err)
}

// answer answers a change with the key as it is now, or would be. A new secret is shown only here.
func (c keys) answer(status int, key directory.DrawnKey, on store.Condition, err error) error {
	if err != nil {
		return err
	}
	view := newKeyView(key.APIKey, c.Clock())
	if view.DryRun = on.DryRun; view.DryRun {
		return c.JSON(http.StatusOK, view)
	}
	view.Secret = key.Secret
	c.W.Header().Set("ETag", view.ETag)
	c.W.Header().Set("Cache-Control", "no-store")
	return c.JSON(status, view)
}
