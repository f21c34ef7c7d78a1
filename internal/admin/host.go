package admin

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/rest"
)

// ownHosts refuses calls for a host that the admin API does not have. A web page can make a browser call an address of the
// operator's machine under a name of the page's own, and read the answer as its own (DNS rebinding). Such a call is recognised by
// that name. An IP address is no name: a page cannot have one that is ours.
type ownHosts struct {
	server *Server
	next   http.Handler
}

func (h *ownHosts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if isOwnHost(r.Host, isLocal(r), h.server.Hosts) {
		h.next.ServeHTTP(w, r)
		return
	}
	c := rest.NewCall(h.server.table, w, r)
	c.FailWith(http.StatusMisdirectedRequest, penstock.Errorf(penstock.CodeInvalidRequest,
		"The admin API does not answer for the host %.80q: use localhost or an IP address, or add the name to admin.hosts.", hostOf(r.Host)))
}

// reach is how a call came in.
type reach bool

// The ways in.
const (
	overNetwork  reach = false
	overLoopback reach = true
)

// isLocal says whether a call came in over the loopback interface, which only this machine can do.
func isLocal(r *http.Request) reach {
	at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if at == nil {
		return overNetwork
	}
	address, err := netip.ParseAddrPort(at.String())
	return reach(err == nil && address.Addr().Unmap().IsLoopback())
}

// isOwnHost says whether the admin API may be called by a name. No name at all is what old health checks send, and no browser.
func isOwnHost(host string, over reach, named []string) bool {
	name := hostOf(host)
	if name == "" || slices.Contains(named, name) {
		return true
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		return over == overNetwork || ip.Unmap().IsLoopback()
	}
	return over == overLoopback && (name == "localhost" || strings.HasSuffix(name, ".localhost"))
}

// hostOf is the host of a Host header: without its port, the brackets of IPv6 and the dot at its end, in lower case.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// local lets a call in without a key that came over loopback.
func local(c *rest.Call) bool { return isLocal(c.R) == overLoopback }

// scraper lets a call in without an operator's key that came over loopback or has the key of metrics.
func scraper(c *rest.Call) bool {
	if local(c) {
		return true
	}
	want, configured := config.Digest(c.Of.(*call).MetricsKey.Reveal())
	digest, ok := config.Digest(rest.PresentedKey(c.R))
	return ok && configured && subtle.ConstantTimeCompare(digest[:], want[:]) == 1
}
