package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"penstock"
	"penstock/client"
	"penstock/internal/config"
	"penstock/internal/directory"
)

const (
	adminTimeout   = 15 * time.Second
	maxAdminAnswer = 4 << 20
)

// admin calls the admin API of a server. Which process of several it is does not matter: what is done
// there holds for all of them.
type admin struct {
	base *url.URL
	key  string
	http *http.Client
}

// connectAdmin takes the address from a flag, else from the environment, else the default of a server.
func (sh *shell) connectAdmin(flag string) (*admin, error) {
	at := cmp.Or(flag, sh.server.url, sh.variable("PENSTOCK_ADMIN_URL"), "http://"+config.DefaultAdminListen)
	base, err := url.Parse(at)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, usageError{fmt.Sprintf("--admin-url must be an http or https URL, not %q", at)}
	}
	key, err := sh.adminKey(at)
	if err != nil {
		return nil, err
	}
	hc, err := sh.httpClient()
	if hc == nil {
		hc = http.DefaultClient
	}
	return &admin{base, key, hc}, err
}

// adminKey is the key to call with. The one that a server drew is used without being asked for, but only on this
// machine; without any the server says where to find one.
func (sh *shell) adminKey(at string) (string, error) {
	if key := cmp.Or(sh.server.key, sh.variable("PENSTOCK_ADMIN_KEY")); key != "" || !isLocal(at) {
		return key, nil
	}
	text, err := os.ReadFile(filepath.Join(cmp.Or(sh.variable("PENSTOCK_DATA"), config.DefaultData), directory.AdminKeyFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("reading the admin key: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// adminCall is one call of the admin API.
type adminCall struct {
	method string
	path   []string // escaped on the way
	query  url.Values
	whole  bool   // of a list: it has no pages
	body   any    // nil for none
	match  string // If-Match; "" for whatever is there
}

// do makes a call and decodes its answer.
func (a *admin) do(ctx context.Context, c adminCall, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	var body io.Reader
	if c.body != nil {
		text, err := json.Marshal(c.body)
		if err != nil {
			return fmt.Errorf("encoding a call: %w", err)
		}
		body = bytes.NewReader(text)
	}
	at := a.base.JoinPath(escaped(c.path)...)
	at.RawQuery = c.query.Encode()
	req, err := http.NewRequestWithContext(ctx, c.method, at.String(), body)
	if err != nil {
		return fmt.Errorf("calling the admin API: %w", err)
	}
	if a.key != "" {
		req.Header.Set("Authorization", "Bearer "+a.key)
	}
	req.Header.Set("penstock-version", client.APIVersion)
	if c.match != "" {
		req.Header.Set("If-Match", c.match)
	}
	resp, err := a.http.Do(req)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("no server listens on %s; set --admin-url or PENSTOCK_ADMIN_URL to the admin_listen of a server", a.base.Redacted())
	}
	if err != nil {
		return fmt.Errorf("calling the admin API: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAdminAnswer))
	if err != nil {
		return fmt.Errorf("reading the answer of the admin API: %w", err)
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusCreated {
		return adminError(resp, text)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("%s does not answer like an admin API: %w", a.base.Redacted(), err)
	}
	return nil
}

// escaped lets a name hold a slash, as those of models do.
func escaped(path []string) []string {
	words := make([]string, len(path))
	for i, word := range path {
		words[i] = strings.ReplaceAll(url.PathEscape(word), "%2F", "/")
	}
	return words
}

func adminError(resp *http.Response, text []byte) error {
	var envelope struct {
		Error struct {
			Code    penstock.Code `json:"code"`
			Message string        `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(text, &envelope) != nil || envelope.Error.Code == "" {
		return fmt.Errorf("the admin API answered %s; is --admin-url the admin_listen of a server?", resp.Status)
	}
	refusal := &client.Error{Status: resp.StatusCode, Code: envelope.Error.Code, Message: envelope.Error.Message}
	said := strings.TrimSuffix(refusal.Error(), ".")
	switch refusal.Code {
	case penstock.CodeInvalidKey:
		return fmt.Errorf("%s; set PENSTOCK_ADMIN_KEY to an admin key of %s: admin.key in its configuration, or else the file %s in its data directory",
			said, resp.Request.URL.Host, directory.AdminKeyFile)
	case penstock.CodeScopeMissing:
		return fmt.Errorf("%s; use another key in PENSTOCK_ADMIN_KEY", said)
	}
	return refusal
}
