package metric_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
)

func TestMetricsHaveThePrefixAndTheConstantLabels(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	factory := metric.For(registry, "laststand_test_").With(prometheus.Labels{"game": "demo"})
	factory.CountersOf("calls_total", "Calls.", "outcome", "ok", "failed")
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "laststand_test_calls_total" {
		t.Fatalf("got %v, %v", families, err)
	}
	for _, counter := range families[0].GetMetric() {
		if len(counter.GetLabel()) != 2 || counter.GetLabel()[0].GetValue() != "demo" || counter.GetCounter().GetValue() != 0 {
			t.Errorf("got %v", counter)
		}
	}
	if n := len(families[0].GetMetric()); n != 2 {
		t.Errorf("%d counters are visible, want 2", n)
	}
}

func TestAFactoryWithoutARegistryRegistersNothing(t *testing.T) {
	t.Parallel()
	for range 2 { // a second registration would panic
		metric.For(nil, "laststand_test_").With(prometheus.Labels{"game": "demo"}).Counter("calls_total", "Calls.").Inc()
	}
}
