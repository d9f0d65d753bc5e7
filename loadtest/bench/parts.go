package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

// options are the flags that all programs of this package have.
type options struct {
	program string
	runs    int
	server  string // path of the binary
	kinds   string
	costs   bool // show the work for an answer by its parts instead
}

// register registers the flags. runs is the default of -runs, and kinds is the name of the
// flag that chooses what to measure; "": none.
func (o *options) register(flags *flag.FlagSet, runs int, kinds string) {
	flags.IntVar(&o.runs, "runs", runs, "runs of each `kind`; the report shows medians")
	flags.StringVar(&o.server, "server", "", "measure this `binary` instead of this tree")
	if kinds != "" {
		flags.StringVar(&o.kinds, kinds, "", "measure only what has these `names`, separated by commas")
	}
	o.program = flags.Name()
}

// registerCosts registers the flag that shows the costs of a kind.
func (o *options) registerCosts(flags *flag.FlagSet, kind string) {
	flags.BoolVar(&o.costs, "costs", false, "show the work for an answer of the kind "+kind+" by its parts instead")
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
// newParts adds tables to the report, and returns what to measure.
func (o *options) run(ctx context.Context, settings string, newParts func(*players.Report) []part) {
	if o.runs < 1 {
		testenv.Fail("-runs is %d; use at least 1", o.runs)
	}
	o.server = testenv.Must(testenv.BuildServer(ctx, o.server))
	defer debug.SetGCPercent(debug.SetGCPercent(collectRarely))
	r := players.NewReport(fmt.Sprintf("%s, %s, medians of %d runs", o.program, settings, o.runs))
	chosen, err := o.choose(newParts(r))
	for _, p := range slices.Repeat(chosen, o.runs) {
		if err == nil {
			err = p.run(ctx, o.server)
		}
	}
	testenv.MustDo(errors.Join(err, r.Publish()))
}

// choose returns the parts that the flags name; without names, all. An unknown name is an
// error.
func (o *options) choose(all []part) (chosen []part, err error) {
	if o.kinds == "" {
		return all, nil
	}
	for name := range strings.SplitSeq(o.kinds, ",") {
		known, names := len(chosen), ""
		for _, p := range all {
			names += "," + p.name
			if p.name == name {
				chosen = append(chosen, p)
			}
		}
		if len(chosen) == known {
			return nil, fmt.Errorf("there is no %q to measure; use some of %s", name, strings.TrimPrefix(names, ","))
		}
	}
	return chosen, nil
}
