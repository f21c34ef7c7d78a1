package telemetry

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// catalogue is a registry that remembers what it was given: a vector without children exports nothing, but
// alerts, dashboards and the reference page name it.
type catalogue struct {
	*prometheus.Registry
	metrics []Description
}

// Description is a metric as the reference page shows it.
type Description struct {
	Name, Type, Help string
	Labels           []string
}

// described reads a description; the client library has no other way to ask for its parts.
var described = regexp.MustCompile(`fqName: "([^"]+)", help: ("(?:[^"\\]|\\.)*"),.* constLabels: \{.*\}, variableLabels: \{([^}]*)\}`)

// Register implements prometheus.Registerer.
func (c *catalogue) Register(collector prometheus.Collector) error {
	descs := make(chan *prometheus.Desc)
	go func() {
		collector.Describe(descs)
		close(descs)
	}()
	for d := range descs {
		if m := described.FindStringSubmatch(d.String()); m != nil {
			help, err := strconv.Unquote(m[2])
			if err != nil {
				return err
			}
			labels := slices.DeleteFunc(strings.Split(m[3], ","), func(s string) bool { return s == "" })
			c.metrics = append(c.metrics, Description{Name: m[1], Type: typeOf(collector, m[1]), Help: help, Labels: labels})
		}
	}
	return c.Registry.Register(collector)
}

// typeOf is the type of a metric. Collectors of our own export counters and gauges, and name them by the convention.
func typeOf(collector prometheus.Collector, name string) string {
	switch collector.(type) {
	case prometheus.Histogram, *prometheus.HistogramVec:
		return "histogram"
	}
	if strings.HasSuffix(name, "_total") {
		return "counter"
	}
	return "gauge"
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
	var names []string
	for _, d := range m.Describe() {
		names = append(names, d.Name)
	}
	return slices.Compact(names)
}

// Describe lists the descriptions of every metric, by name.
func (m *Metrics) Describe() []Description {
	return slices.SortedStableFunc(slices.Values(m.registry.metrics), func(a, b Description) int { return strings.Compare(a.Name, b.Name) })
}
