package telemetry

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type httpMetrics struct {
	routes   *Labels
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	children *children[httpKey, httpChild]
}

type httpKey struct {
	route, method string
	status        int
}

type httpChild struct {
	requests prometheus.Counter
	duration prometheus.Observer
}

func newHTTPMetrics(factory promauto.Factory) httpMetrics {
	h := httpMetrics{
		routes: NewLabels(DefaultMaxLabels),
		requests: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "penstock_http_requests_total",
			Help: "Requests answered, by status.",
		}, []string{"route", "method", "status"}),
		duration: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "penstock_http_request_duration_seconds",
			Help:    "Time from a request's arrival to the end of its answer, streams included.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300},
		}, []string{"route", "method"}),
	}
	h.children = newChildren(h.bound, h.child)
	return h
}

// HTTPRequest counts an answered request. The route is the pattern that matched, never the path.
func (m *Metrics) HTTPRequest(route, method string, status int, d time.Duration) {
	child := m.http.children.of(httpKey{route, method, status})
	child.requests.Inc()
	observe(child.duration, d)
}

func (h httpMetrics) bound(key httpKey) httpKey {
	key.route = h.routes.Value(key.route)
	key.method = methodLabel(key.method)
	if key.status < 100 || key.status > 599 {
		key.status = 0
	}
	return key
}

func (h httpMetrics) child(key httpKey) httpChild {
	status := LabelOther
	if key.status != 0 {
		status = strconv.Itoa(key.status)
	}
	return httpChild{
		requests: h.requests.WithLabelValues(key.route, key.method, status),
		duration: h.duration.WithLabelValues(key.route, key.method),
	}
}

// methodLabel returns constants only: a method is whatever the client wrote.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet:
		return http.MethodGet
	case http.MethodPost:
		return http.MethodPost
	case http.MethodPut:
		return http.MethodPut
	case http.MethodPatch:
		return http.MethodPatch
	case http.MethodDelete:
		return http.MethodDelete
	case http.MethodHead:
		return http.MethodHead
	case http.MethodOptions:
		return http.MethodOptions
	}
	return LabelOther
}
