package dial

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Host is the host that a URL names: a name in lower case without a final dot, or an address.
type Host struct {
	Name string     // "" for an address
	Addr netip.Addr // not valid for a name
}

func (h Host) String() string {
	if h.Addr.IsValid() {
		return h.Addr.String()
	}
	return h.Name
}

var (
	errNotURL  = errors.New("is not a plain http or https URL")
	errUser    = errors.New("has a user or an @ before its host")
	errHost    = errors.New("names its host in an unusual form: write it in ASCII, an international name in punycode")
	errAddress = errors.New("names an address in an unusual form: write an IPv4 address as four decimal numbers")
	errPort    = errors.New("has an invalid port")
)

// HostOf is the host of an http or https URL. It takes plain URLs alone: what two libraries could read as two hosts is an error.
func HostOf(url string) (Host, error) {
	if i := strings.IndexFunc(url, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }); i >= 0 {
		return Host{}, errNotURL
	}
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return Host{}, errNotURL
	}
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	if strings.Contains(authority, "@") {
		return Host{}, errUser
	}
	return hostOf(authority)
}

// hostOf reads a host and a port.
func hostOf(authority string) (Host, error) {
	if bracketed, ok := strings.CutPrefix(authority, "["); ok {
		inside, port, ok := strings.Cut(bracketed, "]")
		if !ok || (port != "" && !isPort(strings.TrimPrefix(port, ":"))) || (port != "" && port[0] != ':') {
			return Host{}, errHost
		}
		addr, err := netip.ParseAddr(inside)
		if err != nil || !addr.Is6() || addr.Zone() != "" {
			return Host{}, errAddress
		}
		return Host{Addr: plain(addr)}, nil
	}
	name, port, hasPort := strings.Cut(authority, ":")
	if hasPort && !isPort(port) {
		return Host{}, errPort
	}
	return ParseHost(name)
}

func isPort(text string) bool {
	return text != "" && len(text) <= len("65535") && strings.Trim(text, "0123456789") == ""
}

// plain is the address that another one is only a form of.
func plain(addr netip.Addr) netip.Addr {
	if inner, ok := embedded(addr); ok && !addr.IsLoopback() && !addr.IsUnspecified() {
		return inner
	}
	return addr
}

// ParseHost reads the name of a host, or an IPv4 address as four decimal numbers, or an IPv6 address.
func ParseHost(text string) (Host, error) {
	if strings.Contains(text, ":") {
		addr, err := netip.ParseAddr(text)
		if err != nil || addr.Zone() != "" {
			return Host{}, errAddress
		}
		return Host{Addr: plain(addr)}, nil
	}
	name := strings.TrimSuffix(strings.ToLower(text), ".")
	const maxName, maxLabel = 253, 63
	if name == "" || len(name) > maxName {
		return Host{}, errHost
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > maxLabel || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
			return Host{}, errHost
		}
	}
	// Libraries take a name that ends in a number for an address, in any of several forms.
	if last := labels[len(labels)-1]; last[0] >= '0' && last[0] <= '9' {
		addr, err := netip.ParseAddr(name)
		if err != nil {
			return Host{}, errAddress
		}
		return Host{Addr: addr}, nil
	}
	return Host{Name: name}, nil
}

// localEnds are the ends of names that are not public: a resolver of the local network answers for them.
var localEnds = []string{
	"localhost", "local", "localdomain", "internal", "intranet", "private", "corp", "home", "lan", "arpa", "test", "invalid", "onion", "svc", "cluster", "consul",
}

// CheckPublic says why a host is not public, nil if it may be. A name that looks public may still resolve to a private
// address: only the process that connects can see that.
func (h Host) CheckPublic() error {
	if h.Addr.IsValid() {
		return Policy{}.Check(h.Addr)
	}
	labels := strings.Split(h.Name, ".")
	if len(labels) == 1 {
		return fmt.Errorf("%s is a name of the local network", h.Name)
	}
	for _, end := range localEnds {
		if labels[len(labels)-1] == end {
			return fmt.Errorf("%s is a name of the local network", h.Name)
		}
	}
	return nil
}

// Matches says whether a host is the one that a pattern names: a host, or *. and the name of a domain for all hosts below it.
func (h Host) Matches(pattern string) bool {
	if domain, ok := strings.CutPrefix(pattern, "*."); ok {
		of, err := ParseHost(domain)
		return err == nil && of.Name != "" && strings.HasSuffix(h.Name, "."+of.Name)
	}
	one, err := ParseHost(pattern)
	return err == nil && one == h
}
