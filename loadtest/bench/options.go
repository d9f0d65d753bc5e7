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

// oneOf returns the elements that the flags name, in the order of all. Without names it
// returns all. An unknown name is an error.
func oneOf[T any](o options, all []T, name func(T) string) (chosen []T, err error) {
	if o.kinds == "" {
		return all, nil
	}
	missing := strings.Split(o.kinds, ",")
	for _, one := range all {
		if i := slices.Index(missing, name(one)); i >= 0 {
			chosen, missing = append(chosen, one), slices.Delete(missing, i, i+1)
		}
	}
	if len(missing) > 0 {
		err = fmt.Errorf("there is no %q", missing)
	}
	return chosen, err
}

// collectRarely is the garbage collector's setting for clients, which must leave the
// processors to the server.
const collectRarely = 400

// run builds the server, measures into a new report, and publishes the report.
func (o *options) run(ctx context.Context, measure func(context.Context, *report.Report) error) (err error) {
	if o.runs < 1 {
		return fmt.Errorf("-runs is %d; use at least 1", o.runs)
	}
	if o.server, err = testenv.BuildServer(ctx, o.server); err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(collectRarely))
	r := report.New(o.title)
	err = measure(ctx, r)
	return errors.Join(err, r.Publish())
}
