package token

import (
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4/jwt"

	"penstock"
)

// claims are all claims of a token.
type claims map[string]any

// words are the words of a claim that is a text with spaces, or a list of texts.
func (c claims) words(name string) (words []string, present bool) {
	switch v := c[name].(type) {
	case string:
		return strings.Fields(v), true
	case []any:
		for _, one := range v {
			if text, ok := one.(string); ok {
				words = append(words, text)
			}
		}
		return words, true
	}
	return nil, false
}

// maxSubject bounds a subject, which is part of a name in records, limits and usage.
const maxSubject = 200

func isSubject(s string) bool {
	return s != "" && len(s) <= maxSubject && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// describe maps the claims of a token to its principal. Codes: invalid_key.
func (i *issuer) describe(std *jwt.Claims, all claims) (*entry, error) {
	if !isSubject(std.Subject) {
		return nil, refused(refusedSubject, nil)
	}
	value, ok := i.tenantValue(all)
	if !ok {
		return nil, refused(refusedTenant, nil)
	}
	return &entry{
		issuer: i.Issuer, name: NamePrefix + i.name + "/" + std.Subject, tenant: i.tenantOf(value), tenantValue: value,
		scopes: i.scopesOf(all), limits: i.LimitsOf(std.Subject), expires: std.Expiry.Time().Add(i.Skew),
	}, nil
}

// tenantValue is the value of the claim that chooses the tenant, "" if the configuration chooses it. A list must name
// exactly one tenant: the order of a list means nothing.
func (i *issuer) tenantValue(all claims) (value string, ok bool) {
	if i.Tenant != "" {
		return "", true
	}
	values, isList := all[i.TenantClaim].([]any)
	if !isList {
		values = []any{all[i.TenantClaim]}
	}
	for _, one := range values {
		text, isText := one.(string)
		if !isText || i.Tenants[text] == "" {
			continue
		}
		if ok && i.Tenants[text] != i.Tenants[value] {
			return "", false
		}
		value, ok = text, true
	}
	return value, ok
}

// tenantOf is the tenant of a value, "" for none.
func (i *issuer) tenantOf(value string) penstock.TenantID {
	if i.Tenant != "" {
		return penstock.TenantID(i.Tenant)
	}
	return penstock.TenantID(i.Tenants[value])
}

// scopesOf are the scopes that a token asks for and may have.
func (i *issuer) scopesOf(all claims) []penstock.Scope {
	words, present := all.words("scope")
	if !present {
		words, present = all.words("scp")
	}
	asked := i.DefaultScopes
	if present {
		asked = nil
		for _, word := range words {
			if len(i.ScopeNames) == 0 {
				asked = append(asked, penstock.Scope(word))
			} else {
				asked = append(asked, i.ScopeNames[word]...)
			}
		}
	}
	var granted []penstock.Scope
	for _, scope := range i.Scopes { // the configuration was checked: it never has the scope admin
		if slices.Contains(asked, scope) {
			granted = append(granted, scope)
		}
	}
	return granted
}

func (i *issuer) accepts(algorithm string) bool { return slices.Contains(i.Algorithms, algorithm) }
