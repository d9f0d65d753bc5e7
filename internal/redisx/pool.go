package redisx

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

// poolCollector collects metrics of the connection pools of both clients. The values are
// sums of all nodes of a cluster. The library's counters have 32 bits and can overflow,
// which looks like a restart of the counter.
type poolCollector struct {
	client redis.UniversalClient
	bulk   redis.UniversalClient // client for bulk work; may equal client
}

// Describe implements prometheus.Collector.
func (p *poolCollector) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(p, out) }

// Collect implements prometheus.Collector.
func (p *poolCollector) Collect(out chan<- prometheus.Metric) {
	collectClient(out, p.client, "commands", "pipelines")
	if p.bulk != p.client {
		collectClient(out, p.bulk, "bulk", "bulk_pipelines")
	}
}

// collectClient reports the two pools that a client may have, under the given names.
func collectClient(out chan<- prometheus.Metric, client redis.UniversalClient, commands, pipelines string) {
	stats := client.PoolStats()
	collectPool(out, commands, stats)
	if stats.PipelineStats != nil {
		collectPool(out, pipelines, (*redis.PoolStats)(stats.PipelineStats))
	}
}

func collectPool(out chan<- prometheus.Metric, pool string, stats *redis.PoolStats) {
	report := func(kind prometheus.ValueType, name, help string, value float64, labels ...string) {
		desc := prometheus.NewDesc("laststand_redis_pool_"+name, help, []string{"pool", "state"}[:1+len(labels)], nil)
		out <- prometheus.MustNewConstMetric(desc, kind, value, append([]string{pool}, labels...)...)
	}
	const connections = "Open connections to Redis, by pool and state."
	// The library reads the two numbers one after the other, so IdleConns may exceed
	// TotalConns.
	report(prometheus.GaugeValue, "connections", connections, float64(stats.IdleConns), "idle")
	report(prometheus.GaugeValue, "connections", connections, max(0, float64(stats.TotalConns)-float64(stats.IdleConns)), "busy")
	report(prometheus.CounterValue, "waits_total", "Commands that waited for a connection.", float64(stats.WaitCount))
	report(prometheus.CounterValue, "wait_seconds_total", "Time that commands waited for a connection.", float64(stats.WaitDurationNs)/1e9)
	report(prometheus.CounterValue, "timeouts_total", "Commands that got no connection in time.", float64(stats.Timeouts))
	report(prometheus.CounterValue, "stale_connections_total", "Connections that the pool closed because they were broken or old.", float64(stats.StaleConns))
}
