package dev

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"penstock/internal/app"
	"penstock/internal/config"
	"penstock/internal/directory"
	"penstock/internal/identity"
	"penstock/internal/provider/preset"
)

// detected is a real provider found on this machine.
type detected struct {
	vendor   preset.Vendor
	provider config.ProviderConfig // its base_url is empty at the vendor's own address
	models   []string              // that it says it serves; nil if it was not asked
}

// detectTimeout bounds the detection of local servers, which delays the start.
const detectTimeout = 300 * time.Millisecond

// devBedrock says that AWS's general credentials in the environment are meant for Bedrock too.
const devBedrock = "PENSTOCK_DEV_BEDROCK"

// detector looks for providers.
type detector struct {
	env     config.Env
	listen  string // our own address
	vendors []preset.Vendor
	localAt func(preset.Vendor) string
}

// detect finds providers: those in the environment variables of the vendors' SDKs, and local servers on their default ports.
func detect(ctx context.Context, env config.Env, listen string) []detected {
	return detector{env, listen, preset.Vendors, preset.Vendor.LocalURL}.find(ctx)
}

func (f detector) find(ctx context.Context) []detected {
	all := make([]*detected, len(f.vendors))
	var group errgroup.Group
	for i, v := range f.vendors {
		group.Go(func() error {
			if d := f.candidate(v); d != nil && (!d.elsewhere() || d.ask(ctx) || !v.Local()) {
				all[i] = d
			}
			return nil
		})
	}
	_ = group.Wait() // a vendor that is not found is no error
	var found []detected
	for _, d := range all {
		if d != nil {
			found = append(found, *d)
		}
	}
	return found
}

// candidate is a provider that is configured in the environment, or that may listen on this machine; nil for none.
func (f detector) candidate(v preset.Vendor) *detected {
	d := &detected{vendor: v, provider: config.ProviderConfig{Kind: v.Kind, BaseURL: v.BaseURL}}
	base := f.first(v.URLVariable)
	switch {
	case v.Model == "" || !v.Chats(): // the models of penstock dev are for chats
		return nil
	case v.Local():
		d.provider.BaseURL = localURL(cmp.Or(base, f.localAt(v)), v.URLSuffix)
		if f.ours("", d.provider.BaseURL) {
			return nil
		}
		return d
	}
	key := f.first(v.KeyVariables...)
	if f.ours(key, base) {
		return nil
	}
	if key != "" {
		d.provider.APIKey = config.NewSecret(key)
	}
	if v.Kind == config.KindBedrock {
		if !f.bedrock(&d.provider) {
			return nil
		}
		return d
	}
	if base = strings.TrimSuffix(base, "/"); base != "" {
		d.provider.BaseURL = strings.TrimSuffix(base, v.URLSuffix) + v.URLSuffix
	}
	if key == "" && base == "" {
		return nil
	}
	return d
}

// first is the value of the first variable that has one.
func (f detector) first(variables ...string) string {
	for _, name := range variables {
		if value, _ := f.env(name); name != "" && value != "" {
			return value
		}
	}
	return ""
}

// ours says whether a key or an address is that of Penstock. The greeting asks the user to export variables for Penstock itself: using
// them for a provider would make Penstock call itself.
func (f detector) ours(key, base string) bool {
	return strings.HasPrefix(key, directory.KeyPrefix) || (f.listen != "" && strings.Contains(base, "//"+f.listen))
}

// bedrock completes a provider at AWS, and reports whether there is a sign that it is meant: a key that calls only Bedrock, or the
// variable of Penstock beside general credentials. Many people have such credentials for other reasons.
func (f detector) bedrock(p *config.ProviderConfig) bool {
	if p.AWS.Region = f.first(preset.AWSRegionVariables...); p.AWS.Region == "" {
		return false
	}
	if !p.APIKey.IsZero() {
		return true
	}
	id, secret := f.first(preset.AWSAccessKeyVariable), f.first(preset.AWSSecretKeyVariable)
	if asked, _ := strconv.ParseBool(f.first(devBedrock)); !asked || id == "" || secret == "" {
		return false
	}
	p.AWS.AccessKeyID, p.AWS.SecretAccessKey = id, config.NewSecret(secret)
	if token := f.first(preset.AWSSessionVariable); token != "" {
		p.AWS.SessionToken = config.NewSecret(token)
	}
	return true
}

// localURL is the address of a local server, which may be written without a scheme and a path.
func localURL(host, suffix string) string {
	host = strings.TrimSuffix(host, "/")
	if !strings.Contains(host, "://") {
		host = "http://" + host
	}
	return strings.TrimSuffix(host, suffix) + suffix
}

// elsewhere says whether the server is not the vendor's own.
func (d *detected) elsewhere() bool { return d.provider.BaseURL != d.vendor.BaseURL }

// greeting is what `penstock dev` prints for the person who started it.
type greeting struct {
	at       app.Addresses
	key      string
	adminKey string // "" when it was shown before
	link     string // the token of the one-time link, "" for none
	data     string
	sim      string
	found    []detected
	models   int // that callers can list
	postgres bool
}

func greet(out io.Writer, g greeting) {
	names := "sim (simulated, at " + g.sim + ")"
	for _, d := range g.found {
		names += ", " + d.vendor.Name
	}
	where := g.data + " (SQLite)"
	if g.postgres {
		where = "PostgreSQL, blobs in " + g.data
	}
	unknown := "sim"
	if len(g.found) > 0 {
		unknown = g.found[0].vendor.Name
	}
	fmt.Fprintf(out, `Penstock is ready.

  API        %[1]s
  Metrics    %[2]s/metrics
  Data       %[3]s
  Upstreams  %[4]s; a model name that is not configured goes to %[5]s
  Models     %[1]s/v1/models (%[7]d)
  Reference  %[1]s/openapi.json
  Tutorial   docs/tutorial/first-hour.md

Point any OpenAI SDK at it:

  export OPENAI_BASE_URL=%[1]s/v1
  export OPENAI_API_KEY=%[6]s

Or any Anthropic SDK, with ANTHROPIC_BASE_URL=%[1]s and the same key in ANTHROPIC_API_KEY. The AI SDK
(@ai-sdk/anthropic) wants ANTHROPIC_BASE_URL=%[1]s/v1.

Submit a prompt that survives a crash, and wait for its answer:

  curl -s %[1]s/v1/jobs -H "Authorization: Bearer %[6]s" -H "Prefer: wait=10" -d '{"model":"sim","input":"Hi"}'

`, g.at.API, g.at.Admin, where, names, unknown, g.key, g.models)
	if g.at.AdminInUse != "" {
		fmt.Fprintf(out, "Another program listens on %s, so the admin API is on %s. Commands in this directory find it.\n\n", g.at.AdminInUse, g.at.Admin)
	}
	if g.link != "" {
		fmt.Fprintln(out, SignInLine(g.at.API, g.link))
	}
	if g.adminKey != "" {
		fmt.Fprintf(out, `Tenants and keys are made by "penstock tenants" and "penstock keys", with the admin key. It is in
%s, readable by you alone, and shown this once:

  export PENSTOCK_ADMIN_KEY=%s

`, filepath.Join(g.data, directory.AdminKeyFile), g.adminKey)
	}
}

// SignInLine tells a person about the one-time link to the console.
func SignInLine(api, token string) string {
	return fmt.Sprintf("Sign in to the console. This link works once, for %d minutes:\n\n  %s/sign-in#token=%s\n", identity.LinkLife/time.Minute, api, token)
}
