package dial

import "net/netip"

// metadata are the addresses at which clouds serve credentials to their machines.
var metadata = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"), // most clouds
	netip.MustParseAddr("169.254.170.2"),   // containers at Amazon
	netip.MustParseAddr("169.254.170.23"),
	netip.MustParseAddr("168.63.129.16"), // Azure, in the midst of public addresses
	netip.MustParseAddr("100.100.100.200"),
	netip.MustParseAddr("192.0.0.192"),
	netip.MustParseAddr("fd00:ec2::254"),
	netip.MustParseAddr("fd00:ec2::23"),
	netip.MustParseAddr("fd20:ce::254"),
}

func isMetadata(addr netip.Addr) bool {
	for _, m := range metadata {
		if m == addr {
			return true
		}
	}
	return false
}

// reserved are networks that are not public and that package netip has no word for.
var reserved = []struct {
	network netip.Prefix
	reason  string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "is this network's own"},
	{netip.MustParsePrefix("100.64.0.0/10"), "is shared by carriers"},
	{netip.MustParsePrefix("192.0.0.0/24"), "is reserved for protocols"},
	{netip.MustParsePrefix("192.0.2.0/24"), "is reserved for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "is a relay to IPv6"},
	{netip.MustParsePrefix("198.18.0.0/15"), "is reserved for benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "is reserved for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "is reserved for documentation"},
	{netip.MustParsePrefix("240.0.0.0/4"), "is reserved"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "is translated to IPv4 by the local network"},
	{netip.MustParsePrefix("2001::/32"), "is a Teredo tunnel"},
	{netip.MustParsePrefix("2001:db8::/32"), "is reserved for documentation"},
	{netip.MustParsePrefix("3fff::/20"), "is reserved for documentation"},
}

var (
	publicIPv6 = netip.MustParsePrefix("2000::/3")
	compatible = netip.MustParsePrefix("::/96")
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour  = netip.MustParsePrefix("2002::/16")
)

// private says why an address is not a public one, "" for one that is.
func private(addr netip.Addr) string {
	switch {
	case !addr.IsValid():
		return "is no address"
	case isMetadata(addr):
		return "serves the metadata of a cloud's machines"
	case addr.IsUnspecified():
		return "is unspecified, which means this machine"
	case addr.IsLoopback():
		return "is loopback: it means this machine"
	case addr.IsPrivate():
		return "is private"
	case addr.IsLinkLocalUnicast():
		return "is link-local"
	case addr.IsMulticast():
		return "is multicast"
	}
	for _, r := range reserved {
		if r.network.Contains(addr) {
			return r.reason
		}
	}
	if inner, ok := embedded(addr); ok {
		if reason := private(inner); reason != "" {
			return "leads to " + inner.String() + ", which " + reason
		}
		return ""
	}
	if addr.Is6() && !publicIPv6.Contains(addr) {
		return "is not public"
	}
	return ""
}

// embedded is the IPv4 address that an IPv6 address is only another form of.
func embedded(addr netip.Addr) (netip.Addr, bool) {
	if !addr.Is6() {
		return netip.Addr{}, false
	}
	b := addr.As16()
	switch {
	case addr.Is4In6(), compatible.Contains(addr), nat64.Contains(addr):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return netip.Addr{}, false
}
