package bench_test

import (
	"testing"

	"laststand/internal/ledger"
	"laststand/loadtest/players"
)

// BenchmarkTaskPairs compares ours with River on the same PostgreSQL.
func BenchmarkTaskPairs(b *testing.B) {
	p := startPostgres(b)
	river := buildPeers(b)
	var pair []pairRun
	for i := range *pairs {
		var run pairRun
		run.theirs = driveRiver(b, river, p)
		p.drop(b)
		run.ours = driveOurs(b, p)
		p.drop(b)
		b.Logf("pair %d: river %v", i+1, run.theirs)
		b.Logf("        ours  %v", run.ours)
		pair = append(pair, run)
	}
	for name, of := range map[string]func(figures) float64{
		"single-enqueued/s": func(f figures) float64 { return f.Single },
		"batch-enqueued/s":  func(f figures) float64 { return f.Batch },
		"worked/s":          func(f figures) float64 { return f.Work },
		"here-us/task":      func(f figures) float64 { return f.Process },
		"database-us/task":  func(f figures) float64 { return f.Database },
	} {
		b.ReportMetric(players.Median(pair, func(r pairRun) float64 { return of(r.theirs) }), "river-"+name)
		b.ReportMetric(players.Median(pair, func(r pairRun) float64 { return of(r.ours) }), "ours-"+name)
		b.ReportMetric(players.Median(pair, func(r pairRun) float64 { return of(r.ours) / of(r.theirs) }), "times-"+name)
	}
	b.ReportMetric(0, "ns/op") // meaningless here: left out
}

type pairRun struct{ theirs, ours figures }

func driveOurs(b *testing.B, p *postgres) figures {
	n := openNode(b, ledger.Config{URL: p.fresh(b)})
	defer n.Close()
	return n.drive(b, p)
}
