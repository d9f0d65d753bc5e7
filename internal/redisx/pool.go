package redisx

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

// poolCollector collects metrics of the connection pools of both clients. The values are
// sums of all nodes of a cluster. The library's counters have 32 bits and can overflow,
// which looks like a restart of the counter.
type poolCollector struct {
	client      redis.UniversalClient
	bulk        redis.UniversalClient // client for bulk work; may equal client
	connections *prometheus.Desc
	waits       *prometheus.Desc
	waitSeconds *prometheus.Desc
	timeouts    *prometheus.Desc
	stale       *prometheus.Desc
}

func newPoolCollector(client, bulk redis.UniversalClient) *poolCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("laststand_redis_pool_"+name, help, labels, nil)
	}
	return &poolCollector{
		client:      client,
		bulk:        bulk,
		connections: desc("connections", "Open connections to Redis, by pool and state.", "pool", "state"),
		waits:       desc("waits_total", "Commands that waited for a connection.", "pool"),
		waitSeconds: desc("wait_seconds_total", "Time that commands waited for a connection.", "pool"),
		timeouts:    desc("timeouts_total", "Commands that got no connection in time.", "pool"),
		stale:       desc("stale_connections_total", "Connections that the pool closed because they were broken or old.", "pool"),
	}
}

// Describe implements prometheus.Collector.
func (p *poolCollector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{p.connections, p.waits, p.waitSeconds, p.timeouts, p.stale} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (p *poolCollector) Collect(out chan<- prometheus.Metric) {
	p.collectClient(out, p.client, "commands", "pipelines")
	if p.bulk != p.client {
		p.collectClient(out, p.bulk, "bulk", "bulk_pipelines")
	}
}

// collectClient reports the two pools that a client may have, under the given names.
func (p *poolCollector) collectClient(out chan<- prometheus.Metric, client redis.UniversalClient, commands, pipelines string) {
	stats := client.PoolStats()
	p.collect(out, commands, stats)
	if stats.PipelineStats != nil {
		p.collect(out, pipelines, (*redis.PoolStats)(stats.PipelineStats))
	}
}

func (p *poolCollector) collect(out chan<- prometheus.Metric, pool string, stats *redis.PoolStats) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, append([]string{pool}, labels...)...)
	}
	counter := func(desc *prometheus.Desc, value float64) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, value, pool)
	}
	// The library reads the two numbers one after the other, so IdleConns may exceed
	// TotalConns.
	gauge(p.connections, float64(stats.IdleConns), "idle")
	gauge(p.connections, max(0, float64(stats.TotalConns)-float64(stats.IdleConns)), "busy")
	counter(p.waits, float64(stats.WaitCount))
	counter(p.waitSeconds, float64(stats.WaitDurationNs)/1e9)
	counter(p.timeouts, float64(stats.Timeouts))
	counter(p.stale, float64(stats.StaleConns))
}
