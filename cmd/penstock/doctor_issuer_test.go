package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"penstock/internal/config"
)

// The doctor fetches the keys of each issuer, and says what to do about one that has none.
func TestDoctorChecksIssuers(t *testing.T) {
	t.Parallel()
	const key = `{"kty":"OKP","crv":"Ed25519","kid":"1","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/keys":
			fmt.Fprintf(w, `{"keys":[%s]}`, key)
		case "/.well-known/openid-configuration":
			fmt.Fprintf(w, `{"issuer":"http://%s","jwks_uri":"http://%s/keys"}`, r.Host, r.Host)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	found := checkIssuers(t.Context(), map[string]config.TokenIssuer{
		"direct": {Issuer: "https://x", JWKSURL: server.URL + "/keys"}, "discovered": {Issuer: server.URL}, "other": {Issuer: server.URL + "/"}, "wrong": {Issuer: server.URL, JWKSURL: server.URL + "/x"},
	})
	var got []string
	for _, f := range found {
		got = append(got, f.Check+" "+string(f.Status))
		if f.Status == healthOK != strings.Contains(f.Detail, "has 1 key") || f.Status == healthOK != (f.Next == "") {
			t.Errorf("%+v", f)
		}
	}
	if all := strings.Join(got, ", "); all != "issuer direct ok, issuer discovered ok, issuer other warn, issuer wrong warn" {
		t.Error(all)
	}
}
