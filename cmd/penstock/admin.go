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
	"penstock/internal/dev"
	"penstock/internal/directory"
)

const (
	adminTimeout   = 15 * time.Second
	maxAdminAnswer = 4 << 20
)

// admin calls the admin API of a server. Which process of several it is does not matter: what is done
// there holds for all of them.
type admin struct {
	base     *url.URL
	key      string
	verified bool         // the server proved that it knows the key
	http     *http.Client // nil for adminClient
}

// adminClient follows no redirects: they could carry the key to another program.
var adminClient = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// connectAdmin makes a client of the admin API, with a key.
func (sh *shell) connectAdmin(flag string) (*admin, error) {
	base, err := sh.adminURL(flag)
	if err != nil {
		return nil, err
	}
	key, err := sh.adminKey(base.String())
	if err != nil {
		return nil, err
	}
	hc, err := sh.httpClient()
	if hc != nil {
		hc.CheckRedirect = adminClient.CheckRedirect
	}
	return &admin{base: base, key: key, http: hc}, err
}

// adminURL takes the address from a flag, else from the environment, else the default of a server.
func (sh *shell) adminURL(flag string) (*url.URL, error) {
	at := cmp.Or(flag, sh.server.url, sh.variable("PENSTOCK_ADMIN_URL"), sh.devAdminURL(), "http://"+config.DefaultAdminListen)
	base, err := url.Parse(at)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, usageError{fmt.Sprintf("--admin-url must be an http or https URL, not %q", at)}
	}
	return base, nil
}

// devAdminURL is where the admin API of a development server of this data directory is, "" if none runs.
func (sh *shell) devAdminURL() string {
	text, err := os.ReadFile(filepath.Join(cmp.Or(sh.variable("PENSTOCK_DATA"), config.DefaultData), dev.AdminURLFile))
	if at := strings.TrimSpace(string(text)); err == nil && isLocal(at) {
		return at
	}
	return ""
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
	if err := a.verify(ctx); err != nil {
		return err
	}
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
	resp, err := a.send(req)
	if err != nil {
		return err
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

// send makes a request and explains why it could not be made.
func (a *admin) send(req *http.Request) (*http.Response, error) {
	resp, err := cmp.Or(a.http, adminClient).Do(req)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("no server listens on %s; set --admin-url or PENSTOCK_ADMIN_URL to the admin_listen of a server", a.base.Redacted())
	}
	if err != nil {
		return nil, fmt.Errorf("calling the admin API: %w%s", err, connectionFix(err))
	}
	return resp, nil
}

// verify asks the server to prove that it knows the key, before the key is sent: another program may listen at the
// address.
func (a *admin) verify(ctx context.Context) error {
	if a.key == "" || a.verified {
		return nil
	}
	challenge, ok := directory.NewChallenge(a.key)
	if !ok {
		return fmt.Errorf("PENSTOCK_ADMIN_KEY is no key of a server: a key has %d to %d characters", config.MinKeySecretLength, config.MaxKeySecretLength)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base.JoinPath("healthz").String(), nil)
	if err != nil {
		return fmt.Errorf("calling the admin API: %w", err)
	}
	req.Header.Set(directory.HeaderChallenge, challenge.String())
	resp, err := a.send(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if a.verified = challenge.Met(resp.Header.Get(directory.HeaderProof)); !a.verified {
		return fmt.Errorf("the admin key was not sent, because the program on %s did not prove that it knows the key; if it is not your server, set --admin-url or "+
			"PENSTOCK_ADMIN_URL to the admin_listen of your server; if it is, set PENSTOCK_ADMIN_KEY to a key of it: admin.key in its configuration, or else the file %s in its data directory",
			a.base.Redacted(), directory.AdminKeyFile)
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
