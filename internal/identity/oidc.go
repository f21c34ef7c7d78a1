package identity

import "net/http"

// issuer is an OpenID Connect issuer.
type issuer struct{}

// EndURL is where the browser ends its session at the issuer; "" if the issuer offers none.
func (s *Service) EndURL(*http.Request, Session) string { return "" }

func newIssuers(Deps) []*issuer { return nil }
