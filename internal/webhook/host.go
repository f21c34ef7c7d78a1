package webhook

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Bounds of a host name, which are those of DNS.
const (
	maxHostBytes  = 253
	maxLabelBytes = 63
)

// hostOf is the host of a URL: an address, or a name for the resolver. ok is false for a host that is neither. Libraries
// disagree about such hosts: some read 2130706433, 0x7f.1 and fullwidth digits as 127.0.0.1, others as names. So they are
// refused here.
func hostOf(u *url.URL) (addr netip.Addr, ok bool) {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), true
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr, true
	}
	return netip.Addr{}, isName(host)
}

// isName reports whether a host is an ASCII name whose last label is not a number.
func isName(host string) bool {
	if host == "" || len(host) > maxHostBytes {
		return false
	}
	last := ""
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > maxLabelBytes || strings.ContainsFunc(label, notInName) || strings.Trim(label, "-") != label {
			return false
		}
		last = label
	}
	_, err := strconv.ParseUint(last, 0, 64) // 127, 0x7f, 0177 and 0b1
	return err != nil && strings.Trim(last, "0123456789") != "" && !strings.HasPrefix(last, "0x")
}

func notInName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

// portFits reports whether a URL names a port that can be connected to, or none.
func portFits(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && port > 0
}
