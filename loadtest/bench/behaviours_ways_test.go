package bench

import (
	"testing"

	"laststand/loadtest/players"
)

// few is the number of producers of a way that takes many events at once.
const few = 4

func articleLoad() load {
	return load{name: "article", producers: *producers, chunk: chunk, window: *backlog, open: openArticle}
}

func ourLoad() load {
	return load{name: "ours", producers: few, chunk: chunk, window: *window, open: openOurs}
}

// BenchmarkBehaviourPairs measures the goal: ours takes at least 8 times as many events as the
// article's scripts, and at least 500,000 per second.
func BenchmarkBehaviourPairs(b *testing.B) {
	rdb := connect(b)
	var pair []pairRun
	for i := range *pairs {
		run := pairRun{theirs: drive(b, rdb, articleLoad()), ours: drive(b, rdb, ourLoad())}
		b.Logf("pair %d: article %v", i+1, run.theirs)
		b.Logf("        ours    %v: %.1f times", run.ours, run.ratio())
		pair = append(pair, run)
	}
	b.ReportMetric(players.Median(pair, func(p pairRun) float64 { return p.theirs.rate }), "article-events/s")
	b.ReportMetric(players.Median(pair, func(p pairRun) float64 { return p.ours.rate }), "ours-events/s")
	b.ReportMetric(players.Median(pair, pairRun.ratio), "times")
	b.ReportMetric(players.Median(pair, func(p pairRun) float64 { return p.ours.process }), "ours-here-us/event")
	b.ReportMetric(players.Median(pair, func(p pairRun) float64 { return p.ours.redis }), "ours-redis-us/event")
	b.ReportMetric(0, "ns/op") // meaningless here: left out
}

type pairRun struct{ theirs, ours figures }

func (p pairRun) ratio() float64 { return p.ours.rate / p.theirs.rate }

// BenchmarkBehaviourOurs measures ours alone, for a profile.
func BenchmarkBehaviourOurs(b *testing.B) { drive(b, connect(b), ourLoad()).report(b) }
