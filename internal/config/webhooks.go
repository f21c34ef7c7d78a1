package config

import (
	"net/netip"
	"time"
)

const maxWebhookTimeout = 30 * time.Second

// Networks are those of Allow. A single address is a network of its own.
func (w Webhooks) Networks() []netip.Prefix {
	var networks []netip.Prefix
	for _, text := range w.Allow {
		if n, err := parseNetwork(text); err == nil { // they were checked
			networks = append(networks, n)
		}
	}
	return networks
}

func parseNetwork(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	n, err := netip.ParsePrefix(text)
	return n.Masked(), err
}

func (c *checker) webhooks(w Webhooks) {
	for i, text := range w.Allow {
		if _, err := parseNetwork(text); err != nil {
			c.fail(path("webhooks.allow").index(i), `must be a network such as "10.20.0.0/16" or an address, not %s`, quote(text))
		}
	}
	within(c, "webhooks.timeout", w.Timeout, bounds[time.Duration]{time.Second, maxWebhookTimeout})
}
