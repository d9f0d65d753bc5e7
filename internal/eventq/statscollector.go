package eventq

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	prefix = "laststand_behaviours_"

	maxLabelledGames = 1000 // games with metrics of their own; the rest counts as otherGame
	otherGame        = "other"
	statsInterval    = time.Second
	statsTimeout     = time.Second
)

// statsCollector exports the counts of the store, which are the same at every
// node. It exports nothing while the store does not answer.
type statsCollector struct {
	shared *shared
	games  []string

	offered, sent, dropped, queued, inFlight, oldest, maxAge, paused *prometheus.Desc

	mu       sync.Mutex
	loadedAt time.Time
	statuses []Status
	totals   Counts
	valid    bool
}

func newStatsCollector(s *shared) *statsCollector {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prefix+name, help+" The same at every node.", append([]string{"game"}, labels...), nil)
	}
	c := &statsCollector{
		shared:   s,
		offered:  describe("offered_total", "Behaviours offered to the queue, including those that the server dropped at once."),
		sent:     describe("sent_total", "Behaviours that the sink accepted."),
		dropped:  describe("dropped_total", "Behaviours that the server dropped, by reason.", "reason"),
		queued:   describe("queued", "Behaviours in the queue."),
		inFlight: describe("in_flight", "Behaviours that a node is sending."),
		oldest:   describe("oldest_age_seconds", "Time that the oldest behaviour in the queue has waited."),
		maxAge:   describe("max_age_seconds", "Maximum age of a behaviour when an attempt to send it begins (max_age)."),
		paused:   describe("queue_paused", "1 while the game's queue is paused, else 0."),
	}
	for _, t := range s.Games[:min(len(s.Games), maxLabelledGames)] {
		c.games = append(c.games, t.Game)
	}
	return c
}

func (c *statsCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.offered, c.sent, c.dropped, c.queued, c.inFlight, c.oldest, c.maxAge, c.paused} {
		out <- d
	}
}

func (c *statsCollector) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.loadedAt) >= statsInterval {
		c.valid = c.load() == nil
		c.loadedAt = time.Now()
	}
	if !c.valid {
		return
	}
	for _, t := range c.shared.Games[:len(c.games)] {
		out <- prometheus.MustNewConstMetric(c.maxAge, prometheus.GaugeValue, float64(min(t.MaxAgeMS, MaxAgeMS))/1000, t.Game)
	}
	rest := c.totals
	rest.Dropped = maps.Clone(c.totals.Dropped)
	now := c.shared.Now()
	for _, status := range c.statuses {
		c.emit(out, status.Game, status.Counts)
		c.emitQueue(out, status, now)
		rest.subtract(status.Counts)
	}
	if len(c.shared.Games) > maxLabelledGames {
		c.emit(out, otherGame, rest)
	}
}

// load reads the counts from the store.
func (c *statsCollector) load() error {
	ctx, cancel := context.WithTimeout(context.Background(), statsTimeout)
	defer cancel()
	statuses, err := c.shared.Admin.Status(ctx, c.games, c.shared.Now())
	if err == nil {
		c.totals, err = c.shared.Admin.Totals(ctx)
	}
	c.statuses = statuses
	c.shared.recordError("stats", err)
	return err
}

func (c *statsCollector) emit(out chan<- prometheus.Metric, game string, counts Counts) {
	add := func(d *prometheus.Desc, kind prometheus.ValueType, n int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, kind, float64(max(n, 0)), append([]string{game}, labels...)...)
	}
	add(c.offered, prometheus.CounterValue, counts.Offered)
	add(c.sent, prometheus.CounterValue, counts.Sent)
	add(c.queued, prometheus.GaugeValue, counts.Queued)
	add(c.inFlight, prometheus.GaugeValue, counts.InFlight)
	for _, reason := range Reasons() {
		add(c.dropped, prometheus.CounterValue, counts.Dropped[reason], string(reason))
	}
}

func (c *statsCollector) emitQueue(out chan<- prometheus.Metric, s Status, now int64) {
	age, paused := 0.0, 0.0
	if s.OldestAt > 0 {
		age = max(float64(now-s.OldestAt)/1000, 0)
	}
	if s.Paused != "" {
		paused = 1
	}
	out <- prometheus.MustNewConstMetric(c.oldest, prometheus.GaugeValue, age, s.Game)
	out <- prometheus.MustNewConstMetric(c.paused, prometheus.GaugeValue, paused, s.Game)
}

// subtract takes away counts that are shown under another label. The two may
// have been read at different moments.
func (c *Counts) subtract(other Counts) {
	c.Offered -= other.Offered
	c.Sent -= other.Sent
	c.Queued -= other.Queued
	c.InFlight -= other.InFlight
	for reason, n := range other.Dropped {
		c.Dropped[reason] -= n
	}
}
