package api

import (
	"penstock"
	"penstock/internal/rest"
)

// authSamples are answers about people.
func authSamples() []any {
	return []any{
		signInOptions{Object: "sign_in_options", Issuers: []signInIssuerView{{Name: "corp", Title: "Corp"}}, Key: true},
		signedInView{Object: "session", ID: "ses_01KXB3M9SGQ0VJ8ZC3X1N5T7RE", CSRF: "5f1c", ExpiresAt: sampleTime},
		signOutView{Object: "sign_out", Ended: true, NextAt: new("https://id.example.com/logout")},
		signOutView{Object: "sign_out"},
		ownSessionView{Object: "session", ID: "ses_01KXB3M9SGQ0VJ8ZC3X1N5T7RE", Issuer: "corp", CreatedAt: sampleTime, SeenAt: sampleTime, ExpiresAt: sampleTime, EndedAt: new(sampleTime)},
		rest.Page[ownSessionView]{Object: "list", Data: []ownSessionView{{Object: "session", CreatedAt: sampleTime, SeenAt: sampleTime, ExpiresAt: sampleTime}}},
		meExample,
		meView{Object: "me", Kind: penstock.PrincipalKey, Name: "app", Scopes: penstock.Scopes, Roles: []penstock.Role{}, Tenants: []meTenantView{{ID: "a", Name: "a", Roles: []penstock.Role{}}}, Everywhere: []penstock.Role{}, Features: []string{}},
	}
}
