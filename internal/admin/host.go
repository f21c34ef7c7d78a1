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

// ownHosts refuses calls for a host that the admin API does not have. A web page whose host name resolves to the
// operator's machine can make a browser call the admin API under that name and read the answer (DNS rebinding). Such a
// call is recognised by the name. IP addresses are allowed, since a page cannot have the address of this server as its
// origin.
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

// reach is the network from which a call came.
type reach bool

// The networks.
const (
	overNetwork  reach = false
	overLoopback reach = true
)

// isLocal reports whether a call came over the loopback interface, so from this machine.
func isLocal(r *http.Request) reach {
	at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if at == nil {
		return overNetwork
	}
	address, err := netip.ParseAddrPort(at.String())
	return reach(err == nil && address.Addr().Unmap().IsLoopback())
}

// isOwnHost reports whether the admin API answers for a host name. Old health checks send no name, and browsers always
// send one, so an empty name is allowed.
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

// local admits calls over loopback without a key.
func local(c *rest.Call) bool { return isLocal(c.R) == overLoopback }

// scraper admits calls over loopback, and calls with the metrics key, without an operator's key.
func scraper(c *rest.Call) bool {
	if local(c) {
		return true
	}
	want, configured := config.Digest(callOf(c).MetricsKey.Reveal())
	digest, ok := config.Digest(rest.PresentedKey(c.R))
	return ok && configured && subtle.ConstantTimeCompare(digest[:], want[:]) == 1
}
