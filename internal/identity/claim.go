package identity

import (
	"cmp"
	"strings"

	"penstock/internal/config"
)

// claims are what an issuer says about a person.
type claims map[string]any

// complete reports whether the claims name the e-mail address and the groups of a person.
func (c claims) complete(groups string) bool {
	return c.text("email") != "" && c.at(groups) != nil
}

// text returns a claim that is a text.
func (c claims) text(name string) string {
	text, _ := c[name].(string)
	return text
}

// at returns a claim by its name, or by the names on the way to it with dots between them, as in realm_access.roles.
func (c claims) at(name string) any {
	if value, ok := c[name]; ok {
		return value
	}
	first, more, ok := strings.Cut(name, ".")
	if !ok {
		return nil
	}
	inner, _ := c[first].(map[string]any)
	return claims(inner).at(more)
}

// person is the person that claims describe. An e-mail address that the issuer has not verified is left out: roles are granted
// to addresses, and anybody can claim an address.
func (c claims) person(issuer string, settings config.Issuer) Person {
	p := Person{Issuer: issuer, Subject: c.text("sub")}
	if email := NormalizeEmail(c.text("email")); CheckEmail(email) == nil && (c.verified() || settings.TrustEmail) {
		p.Email = email
	}
	p.Name = clip(cmp.Or(c.text("name"), c.text("preferred_username"), p.Email, p.Subject), maxNameBytes)
	return p
}

// verified reports whether the issuer verified the e-mail address. Some issuers write the claim as a text.
func (c claims) verified() bool {
	switch v := c["email_verified"].(type) {
	case bool:
		return v
	case string:
		return v == "true"
	}
	return false
}

// groups are the groups of a person, at most maxGroups.
func (c claims) groups(name string) []string {
	var all []string
	switch value := c.at(name).(type) {
	case string:
		all = append(all, value)
	case []any:
		for _, one := range value {
			if text, ok := one.(string); ok && len(text) <= maxGroupName && len(all) < maxGroups {
				all = append(all, text)
			}
		}
	}
	return all
}
