package redisx_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/redisx"
	"laststand/internal/trial"
)

func TestPoolMetrics(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", trial.Redis(t).URL, trial.Cluster(t)} {
		registry := prometheus.NewPedanticRegistry()
		conn, err := redisx.Open(t.Context(), redisx.Config{URL: url, Registry: registry})
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Client.Set(t.Context(), "trial:metrics", 1, 0).Err(); err != nil {
			t.Fatal(err)
		}
		if n := idle(t, registry); n < 1 {
			t.Errorf("%q: %v idle connections after a command", url, n)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if families, err := registry.Gather(); err != nil || len(families) != 0 {
			t.Errorf("%q: %d metrics after close, %v", url, len(families), err)
		}
	}
}

func idle(t *testing.T, registry *prometheus.Registry) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() != "laststand_redis_pool_connections" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetValue() == "idle" {
					sum += metric.GetGauge().GetValue()
				}
			}
		}
	}
	return sum
}
