package main

import (
	"cmp"
	"log/slog"
	"maps"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"laststand/internal/cli"
	"laststand/internal/testenv"
)

// metricInfo is a metric as the reference shows it.
type metricInfo struct {
	name, kind, help string
	labels           []string
}

// metricsReference returns the text of docs/reference/metrics.md.
func metricsReference(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Metrics\n\n" + generatedNotice + "\n" +
		"`GET /metrics` on the operations address shows these metrics, and the usual ones of the Go runtime (`go_…`) and of the process (`process_…`). A histogram has the series `…_bucket`, `…_sum` and `…_count`.\n\n")
	b.WriteString(tableRow("metric", "type", "labels", "meaning") + tableRow("---", "---", "---", "---"))
	for _, m := range registeredMetrics(t) {
		b.WriteString(tableRow(codeText(m.name), m.kind, codeText(strings.Join(m.labels, ", ")), m.help))
	}
	return b.String()
}

// recordingRegistry records the collectors that are registered.
type recordingRegistry struct {
	*prometheus.Registry
	mu         sync.Mutex
	collectors []prometheus.Collector
}

func (r *recordingRegistry) Register(c prometheus.Collector) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.collectors = append(r.collectors, c)
	return r.Registry.Register(c)
}

func (r *recordingRegistry) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if err := r.Register(c); err != nil {
			panic(err)
		}
	}
}

// registeredMetrics returns all metrics by name, from a node with TLS and a webhook, which
// registers the metrics of every package.
func registeredMetrics(t *testing.T) []metricInfo {
	t.Helper()
	registry := &recordingRegistry{Registry: prometheus.NewRegistry()}
	openMeasuredNode(t, registry)
	found := make(map[string]metricInfo)
	for _, collector := range registry.collectors {
		for _, m := range describeMetrics(t, collector) {
			if strings.HasPrefix(m.name, "laststand_") {
				found[m.name] = m
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b metricInfo) int { return strings.Compare(a.name, b.name) })
}

// openMeasuredNode opens a node that registers its metrics with registry.
func openMeasuredNode(t *testing.T, registry *recordingRegistry) {
	t.Helper()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	testenv.WriteCertificate(t, cert, key, 1, time.Hour)
	redisURL := testenv.Redis(t).URL // an embedded Redis has no metrics of the clock
	flags := cli.Flags{Data: &dir, Redis: &redisURL, TLSCert: &cert, TLSKey: &key, Config: configFile(t, "games: {demo: {webhooks: [{name: w, url: \"https://x.example\"}]}}\n")}
	c := testenv.Need(flags.Load())(t)
	opened := testenv.Need(openWithMetrics(t.Context(), c, slog.New(slog.DiscardHandler), registry))(t)
	t.Cleanup(opened.close)
	listener := testenv.Need(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = listener.Close() })
	opened.limitConnections(listener)
}

var descParts = regexp.MustCompile(`fqName: "([^"]*)", help: "(.*)", unit: "[^"]*", constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)

// describeMetrics returns the metrics of a collector.
func describeMetrics(t *testing.T, c prometheus.Collector) (all []metricInfo) {
	t.Helper()
	descs := make(chan *prometheus.Desc)
	go func() { defer close(descs); c.Describe(descs) }() // ends with the range below
	kinds := metricKinds(t, c)
	for desc := range descs {
		parts := descParts.FindStringSubmatch(desc.String())
		if parts == nil {
			t.Fatalf("unexpected description %s", desc)
		}
		m := metricInfo{name: parts[1], help: parts[2], kind: kinds[desc.String()]}
		for _, label := range append(strings.Split(parts[3], ","), strings.Split(parts[4], ",")...) {
			if name, _, _ := strings.Cut(label, "="); name != "" {
				m.labels = append(m.labels, name)
			}
		}
		m.kind = cmp.Or(m.kind, kindWithoutValue(m.name, c))
		all = append(all, m)
	}
	return all
}

// kindWithoutValue returns the type of a metric that has no value yet.
func kindWithoutValue(name string, c prometheus.Collector) string {
	switch c.(type) {
	case *prometheus.CounterVec:
		return "counter"
	case *prometheus.HistogramVec:
		return "histogram"
	}
	if strings.HasSuffix(name, "_total") {
		return "counter"
	}
	return "gauge"
}

// metricKinds returns the types of the metrics of a collector, by description.
func metricKinds(t *testing.T, c prometheus.Collector) map[string]string {
	t.Helper()
	collected := make(chan prometheus.Metric)
	go func() { defer close(collected); c.Collect(collected) }() // ends with the range below
	kinds := make(map[string]string)
	for m := range collected {
		var value dto.Metric
		testenv.NoError(t, m.Write(&value))
		switch {
		case value.Counter != nil:
			kinds[m.Desc().String()] = "counter"
		case value.Gauge != nil:
			kinds[m.Desc().String()] = "gauge"
		case value.Histogram != nil:
			kinds[m.Desc().String()] = "histogram"
		}
	}
	return kinds
}
