package telemetry

import (
	"regexp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// catalogue is a registry that remembers the names of what it was given: a vector without children shows
// nothing, but alerts and dashboards may ask for it.
type catalogue struct {
	*prometheus.Registry
	names []string
}

var describedName = regexp.MustCompile(`fqName: "([^"]+)"`)

// Register implements prometheus.Registerer.
func (c *catalogue) Register(collector prometheus.Collector) error {
	descs := make(chan *prometheus.Desc)
	go func() {
		collector.Describe(descs)
		close(descs)
	}()
	for d := range descs {
		if m := describedName.FindStringSubmatch(d.String()); m != nil {
			c.names = append(c.names, m[1])
		}
	}
	return c.Registry.Register(collector)
}

// MustRegister implements prometheus.Registerer.
func (c *catalogue) MustRegister(collectors ...prometheus.Collector) {
	for _, collector := range collectors {
		if err := c.Register(collector); err != nil {
			panic(err)
		}
	}
}

// Names lists every metric that can be collected, in order, whether it has values yet or not. Histograms
// are named without _bucket, _sum and _count.
func (m *Metrics) Names() []string {
	names := slices.Clone(m.registry.names)
	slices.Sort(names)
	return slices.Compact(names)
}
