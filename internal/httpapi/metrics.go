package httpapi

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	factory := promauto.With(r)
	return &metrics{
		requests: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_http_requests_total", Help: "HTTP requests by route, method and status code; code 499 means that the client closed the request.",
		}, []string{"route", "method", "code"}),
		seconds: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name: "laststand_http_request_duration_seconds", Help: "Duration of an HTTP request from its headers to the end of the answer.",
			Buckets: []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"route"}),
	}
}

func (m *metrics) observe(route, method string, status int, duration time.Duration) {
	m.requests.WithLabelValues(route, methodLabel(method), strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(duration.Seconds())
}

// methodLabel maps unknown methods to "other". The label then takes values of a closed
// set.
func methodLabel(method string) string {
	knownMethods := []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions}
	if slices.Contains(knownMethods, method) {
		return method
	}
	return "other"
}
