package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"penstock/internal/config"
	"penstock/internal/identity/token"
)

// checkIssuers fetches the keys of every issuer of tokens. None can fail the doctor: Penstock starts without them.
func checkIssuers(ctx context.Context, issuers map[string]config.TokenIssuer) []finding {
	var found []finding
	for _, name := range slices.Sorted(maps.Keys(issuers)) {
		i, began := issuers[name], time.Now()
		f := finding{Check: "issuer " + name, Status: healthOK}
		if keys, err := token.Probe(ctx, i.Issuer, i.JWKSURL); err != nil {
			f.Status, f.Detail = healthWarn, err.Error()
			f.Next = "check issuer and jwks_url, and the network path to them: proxy, firewall, DNS, SSL_CERT_FILE for an authority of your own"
		} else {
			f.Detail = fmt.Sprintf("%s has %s, fetched in %v", i.Issuer, plural(keys, "key"), time.Since(began).Round(time.Millisecond))
		}
		found = append(found, f)
	}
	return found
}
