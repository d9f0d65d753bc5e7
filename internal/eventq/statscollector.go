package eventq

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
)

const (
	prefix = "laststand_behaviours_"

	maxLabelledGames = 1000 // games with metrics of their own; the rest counts as otherGame
	otherGame        = "other"
)

// stats are the metrics of a queue, without dropped. The first four are also of several
// games together.
var stats = []struct {
	name string
	kind prometheus.ValueType
	help string
}{
	{"offered_total", prometheus.CounterValue, "Behaviours offered to the queue, including those that the server dropped at once."},
	{"sent_total", prometheus.CounterValue, "Behaviours that the sink accepted."},
	{"queued", prometheus.GaugeValue, "Behaviours in the queue."},
	{"in_flight", prometheus.GaugeValue, "Behaviours that a node is sending."},
	{"oldest_age_seconds", prometheus.GaugeValue, "Time that the oldest behaviour in the queue has waited."},
	{"max_age_seconds", prometheus.GaugeValue, "Maximum age of a behaviour when an attempt to send it begins (max_age)."},
	{"queue_paused", prometheus.GaugeValue, "1 while the game's queue is paused, else 0."},
}

// statsCollector exports the state of the queues in the store, which is the same at
// every node. It exports nothing while the store does not answer.
type statsCollector struct {
	*shared
	descs   []*prometheus.Desc // as stats
	dropped *prometheus.Desc
}

func newStatsCollector(s *shared) *statsCollector {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prefix+name, help+" The same at every node.", append([]string{"game"}, labels...), nil)
	}
	c := &statsCollector{shared: s, dropped: describe("dropped_total", "Behaviours that the server dropped, by reason.", "reason")}
	for _, stat := range stats {
		c.descs = append(c.descs, describe(stat.name, stat.help))
	}
	return c
}

func (c *statsCollector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range c.descs {
		out <- desc
	}
	out <- c.dropped
}

func (c *statsCollector) Collect(out chan<- prometheus.Metric) {
	var games []string
	for _, policy := range c.Games {
		games = append(games, policy.Game)
	}
	var statuses []Status // none if the call fails
	_ = c.call(context.Background(), "stats", func(ctx context.Context) (err error) {
		statuses, err = c.Admin.Status(ctx, games, c.Now())
		return err
	})
	now := c.Now()
	if len(statuses) > maxLabelledGames {
		var rest Counts
		for _, s := range statuses[maxLabelledGames:] {
			rest.Add(s.Counts)
		}
		c.emit(out, otherGame, rest)
		statuses = statuses[:maxLabelledGames]
	}
	for _, s := range statuses {
		age := 0.0
		if s.OldestAt > 0 {
			age = max(float64(now-s.OldestAt)/1000, 0)
		}
		c.emit(out, s.Game, s.Counts, age, float64(c.games[s.Game].MaxAgeMS)/1000, metric.BoolValue(s.Paused != ""))
	}
}

// emit exports counts, and the stats that do not belong to the counts.
func (c *statsCollector) emit(out chan<- prometheus.Metric, game string, counts Counts, more ...float64) {
	values := append([]float64{float64(counts.Offered), float64(counts.Sent), float64(counts.Queued), float64(counts.InFlight)}, more...)
	for i, value := range values {
		out <- prometheus.MustNewConstMetric(c.descs[i], stats[i].kind, value, game)
	}
	for _, reason := range Reasons() {
		out <- prometheus.MustNewConstMetric(c.dropped, prometheus.CounterValue, float64(counts.Dropped[reason]), game, string(reason))
	}
}
