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
	"laststand/loadtest/report"
)

// options are the flags that all programs of this package have.
type options struct {
	title  string // its name and flags, for the report
	runs   int
	server string // path of the binary
	kinds  string
	costs  bool // show the work for an answer by its parts instead
}

// register registers the flags. runs is the default of -runs, and kinds is the name of the
// flag that chooses what to measure; "": none.
func (o *options) register(flags *flag.FlagSet, runs int, kinds string) {
	flags.IntVar(&o.runs, "runs", runs, "runs of each `kind`; the report shows medians")
	flags.StringVar(&o.server, "server", "", "measure this `binary` instead of this tree")
	if kinds != "" {
		flags.StringVar(&o.kinds, kinds, "", "measure only what has these `names`, separated by commas")
	}
	o.title = flags.Name()
}

// registerCosts registers the flag that shows the costs of a kind.
func (o *options) registerCosts(flags *flag.FlagSet, kind string) {
	flags.BoolVar(&o.costs, "costs", false, "show the work for an answer of the kind "+kind+" by its parts instead")
}

// part is one of the measurements of a program.
type part struct {
	name    string
	measure func(context.Context) error
}

// collectRarely is the garbage collector's setting for clients, which must leave the
// processors to the server.
const collectRarely = 400

// run builds the server, measures as often as runs are wanted, and publishes the report. parts
// adds tables to the report, and returns what to measure.
func (o *options) run(ctx context.Context, parts func(*report.Report) []part) (err error) {
	if o.runs < 1 {
		return fmt.Errorf("-runs is %d; use at least 1", o.runs)
	}
	if o.server, err = testenv.BuildServer(ctx, o.server); err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(collectRarely))
	r := report.New(o.title)
	chosen, err := o.choose(parts(r))
	for range o.runs {
		for _, p := range chosen {
			if failed := p.measure(ctx); failed != nil {
				return errors.Join(fmt.Errorf("%s: %w", p.name, failed), r.Publish())
			}
		}
	}
	return errors.Join(err, r.Publish())
}

// choose returns the parts that the flags name; without names, all. An unknown name is an
// error.
func (o *options) choose(all []part) (chosen []part, err error) {
	if o.kinds == "" {
		return all, nil
	}
	for _, name := range strings.Split(o.kinds, ",") {
		i := slices.IndexFunc(all, func(p part) bool { return p.name == name })
		if i < 0 {
			names := make([]string, len(all))
			for i, p := range all {
				names[i] = p.name
			}
			return nil, fmt.Errorf("there is no %q to measure; use some of %s", name, strings.Join(names, ","))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
