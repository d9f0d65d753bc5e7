package bench

import (
	"fmt"
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

func floorLoad() load {
	return load{name: "floor", producers: few, chunk: chunk, window: *window, open: openLeast}
}

// BenchmarkBehaviourPairs measures the goal: ours takes at least 8 times as many events as the
// article's scripts, and at least 500,000 per second.
func BenchmarkBehaviourPairs(b *testing.B) {
	rdb := connect(b)
	var pair []pairRun
	for i := range *pairs {
		run := pairRun{theirs: drive(b, rdb, articleLoad()), ours: drive(b, rdb, ourLoad()), floor: drive(b, rdb, floorLoad())}
		b.Logf("pair %d: article %v", i+1, run.theirs)
		b.Logf("        ours    %v: %.1f times", run.ours, run.ratio())
		b.Logf("        floor   %v", run.floor)
		pair = append(pair, run)
	}
	b.ReportMetric(players.Median(pair, func(p pairRun) float64 { return p.theirs.rate }), "article-events/s")
	b.ReportMetric(players.Median(pair, func(p pairRun) float64 { return p.ours.rate }), "ours-events/s")
	b.ReportMetric(players.Median(pair, pairRun.ratio), "times")
	b.ReportMetric(players.Median(pair, func(p pairRun) float64 { return p.floor.rate }), "floor-events/s")
	for name, of := range map[string]func(pairRun) figures{"ours": func(p pairRun) figures { return p.ours }, "floor": func(p pairRun) figures { return p.floor }} {
		b.ReportMetric(players.Median(pair, func(p pairRun) float64 { return of(p).process }), name+"-here-us/event")
		b.ReportMetric(players.Median(pair, func(p pairRun) float64 { return of(p).redis }), name+"-redis-us/event")
	}
	b.ReportMetric(0, "ns/op") // meaningless here: left out
}

type pairRun struct{ theirs, ours, floor figures }

func (p pairRun) ratio() float64 { return p.ours.rate / p.theirs.rate }

// BenchmarkBehaviourOurs measures ours alone, for a profile.
func BenchmarkBehaviourOurs(b *testing.B) { drive(b, connect(b), ourLoad()).report(b) }

// BenchmarkBehaviourFloor measures the floor alone.
func BenchmarkBehaviourFloor(b *testing.B) { drive(b, connect(b), floorLoad()).report(b) }

// BenchmarkBehaviourOnce measures ours for events of the server's own players.
func BenchmarkBehaviourOnce(b *testing.B) {
	drive(b, connect(b), load{producers: few, chunk: chunk, window: *window, open: openOnce}).report(b)
}

func BenchmarkBehaviourStreams(b *testing.B) {
	rdb := connect(b)
	b.Run("one-by-one", func(b *testing.B) {
		drive(b, rdb, load{producers: *producers, chunk: chunk, window: *backlog, open: openStreams(false)}).report(b)
	})
	b.Run("pipelined", func(b *testing.B) {
		drive(b, rdb, load{producers: few, chunk: chunk, window: *backlog, open: openStreams(true)}).report(b)
	})
}

func BenchmarkBehaviourPosted(b *testing.B) {
	rdb := connect(b)
	for _, each := range []int{100, 1000} {
		b.Run(fmt.Sprint(each), func(b *testing.B) {
			drive(b, rdb, load{producers: few, chunk: each, window: *window, open: openPosted}).report(b)
		})
	}
}

// BenchmarkBehaviourLatency offers half as many events as each way has just taken.
func BenchmarkBehaviourLatency(b *testing.B) {
	rdb := connect(b)
	for _, l := range []load{articleLoad(), ourLoad()} {
		b.Run(l.name, func(b *testing.B) {
			l.rate = drive(b, rdb, l).rate / 2
			drive(b, rdb, l).report(b)
		})
	}
}
