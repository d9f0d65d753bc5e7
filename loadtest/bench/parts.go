package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

// options are the flags that all programs of this package have.
type options struct {
	Runs   int    `default:"${runs}" help:"Runs of each kind; the report shows medians."`
	Server string `placeholder:"BINARY" help:"Measure this binary instead of this tree."`
}

// part is one of the measurements of a program, on a cluster of its own. It fails by testenv.Must.
type part struct {
	name    string // several parts can have the same
	cluster clusterOptions
	measure func(context.Context, cluster)
}

func (p part) run(ctx context.Context, server string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", p.name, err)
		}
	}()
	defer testenv.Recover(&err)
	p.cluster.node.Binary = server
	c := startCluster(ctx, p.cluster)
	defer func() { err = errors.Join(err, c.stop()) }()
	p.measure(ctx, c)
	return nil
}

// collectRarely is the garbage collector's setting for clients, which must leave the
// processors to the server.
const collectRarely = 400

// run builds the server, measures as often as runs are wanted, and publishes the report.
// names choose what to measure; none: everything. newParts adds tables to the report, and returns
// what to measure.
func (o *options) run(ctx context.Context, settings string, names []string, newParts func(*players.Report) []part) {
	if o.Runs < 1 {
		testenv.Fail("-runs is %d; use at least 1", o.Runs)
	}
	o.Server = testenv.Must(testenv.BuildServer(ctx, o.Server))
	defer debug.SetGCPercent(debug.SetGCPercent(collectRarely))
	r := players.NewReport(fmt.Sprintf("bench %s, medians of %d runs", settings, o.Runs))
	chosen, err := choose(newParts(r), names)
	for _, p := range slices.Repeat(chosen, o.Runs) {
		if err == nil {
			err = p.run(ctx, o.Server)
		}
	}
	testenv.MustDo(errors.Join(err, r.Publish()))
}

// choose returns the parts with some names; without names, all. An unknown name is an
// error.
func choose(all []part, names []string) (chosen []part, err error) {
	if len(names) == 0 {
		return all, nil
	}
	for _, name := range names {
		known, others := len(chosen), ""
		for _, p := range all {
			others += "," + p.name
			if p.name == name {
				chosen = append(chosen, p)
			}
		}
		if len(chosen) == known {
			return nil, fmt.Errorf("there is no %q to measure; use some of %s", name, strings.TrimPrefix(others, ","))
		}
	}
	return chosen, nil
}
