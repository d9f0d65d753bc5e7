package redisx

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

// Metrics of a connection pool.
var (
	poolConnections = poolDesc("connections", "Open connections to Redis, by pool and state.", "state")
	poolWaits       = poolDesc("waits_total", "Commands that waited for a connection.")
	poolWaitSeconds = poolDesc("wait_seconds_total", "Time that commands waited for a connection.")
	poolTimeouts    = poolDesc("timeouts_total", "Commands that got no connection in time.")
	poolStale       = poolDesc("stale_connections_total", "Connections that the pool closed because they were broken or old.")
)

func poolDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("laststand_redis_pool_"+name, help, append([]string{"pool"}, labels...), nil)
}

// poolCollector collects the metrics of the connection pools of both clients of a Conn. The
// values are sums of all nodes of a cluster. The library's counters have 32 bits and can
// overflow, which looks like a restart of the counter.
type poolCollector struct{ *Conn }

// Describe implements prometheus.Collector.
func (poolCollector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{poolConnections, poolWaits, poolWaitSeconds, poolTimeouts, poolStale} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (p poolCollector) Collect(out chan<- prometheus.Metric) {
	collectPools(out, p.Client.PoolStats(), "commands", "pipelines")
	if p.Bulk != p.Client {
		collectPools(out, p.Bulk.PoolStats(), "bulk", "bulk_pipelines")
	}
}

// collectPools reports the two pools that a client may have, under the given names.
func collectPools(out chan<- prometheus.Metric, stats *redis.PoolStats, pool, pipelinePool string) {
	send := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, kind, value, append([]string{pool}, labels...)...)
	}
	// The library reads the two numbers one after the other, so IdleConns may exceed
	// TotalConns.
	send(poolConnections, prometheus.GaugeValue, float64(stats.IdleConns), "idle")
	send(poolConnections, prometheus.GaugeValue, max(0, float64(stats.TotalConns)-float64(stats.IdleConns)), "busy")
	send(poolWaits, prometheus.CounterValue, float64(stats.WaitCount))
	send(poolWaitSeconds, prometheus.CounterValue, float64(stats.WaitDurationNs)/1e9)
	send(poolTimeouts, prometheus.CounterValue, float64(stats.Timeouts))
	send(poolStale, prometheus.CounterValue, float64(stats.StaleConns))
	if stats.PipelineStats != nil {
		collectPools(out, (*redis.PoolStats)(stats.PipelineStats), pipelinePool, "")
	}
}
