package config

import (
	"slices"
	"strings"

	"penstock"
	"penstock/internal/dial"
)

// maxMediaHosts bounds the hosts of one list: each is looked at for each URL of a body.
const maxMediaHosts = 256

// mediaHosts checks the hosts that targets may fetch from.
func (c *checker) mediaHosts(at path, hosts []string) {
	if len(hosts) > maxMediaHosts {
		c.fail(at, "has %d entries; at most %d are allowed", len(hosts), maxMediaHosts)
		return
	}
	eachOnce(c, at, hosts)
	for i, host := range hosts {
		switch host {
		case penstock.MediaNone, penstock.MediaAny:
			if len(hosts) > 1 {
				c.fail(at.index(i), "is %s, which must be the only entry", host)
			}
			continue
		case penstock.MediaPublic:
			continue
		}
		name := strings.TrimPrefix(host, "*.")
		if h, err := dial.ParseHost(name); err != nil || (name != host && h.Addr.IsValid()) {
			c.fail(at.index(i), "%s must be a host such as cdn.example.com, *.example.com for all below a domain, an address, or public, any or none", quote(host))
		}
	}
}

// network checks where a provider runs.
func (c *checker) network(at path, network string) {
	if all := []string{NetworkPublic, NetworkPrivate}; network != "" && !slices.Contains(all, network) {
		c.fail(at, "must be public or private, not %s", quote(network))
	}
}
