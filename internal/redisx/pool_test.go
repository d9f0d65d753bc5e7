package redisx_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/redisx"
	"laststand/internal/testenv"
)

func TestPoolMetricsCountConnections(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", testenv.Redis(t).URL, testenv.Cluster(t)} {
		registry := prometheus.NewPedanticRegistry()
		conn, err := redisx.Open(t.Context(), redisx.Config{URL: url, Registry: registry})
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Client.Set(t.Context(), "test:metrics", 1, 0).Err(); err != nil {
			t.Fatal(err)
		}
		if err := conn.Bulk.Eval(t.Context(), "return redis.call('SET', KEYS[1], 1)", []string{"test:bulk"}).Err(); err != nil {
			t.Fatal(err)
		}
		idle := idleConnections(t, registry)
		if idle["commands"] < 1 {
			t.Errorf("%q: idle connections after a command: %v", url, idle)
		}
		if hasBulk := idle["bulk"]+idle["bulk pipelines"] >= 1; hasBulk != (url != "") {
			t.Errorf("%q: idle connections after a script in bulk: %v", url, idle)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if families, err := registry.Gather(); err != nil || len(families) != 0 {
			t.Errorf("%q: %d metrics after close, %v", url, len(families), err)
		}
	}
}

// idleConnections returns the number of idle connections of each pool.
func idleConnections(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	pools := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "laststand_redis_pool_connections" {
			continue
		}
		for _, metric := range family.GetMetric() { // its labels are sorted: pool, state
			if label := metric.GetLabel(); label[1].GetValue() == "idle" {
				pools[label[0].GetValue()] += metric.GetGauge().GetValue()
			}
		}
	}
	return pools
}
