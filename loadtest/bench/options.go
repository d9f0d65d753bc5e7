package bench

import (
	"context"
	"flag"
	"fmt"
	"runtime/debug"

	"laststand/internal/testenv"
	"laststand/loadtest/report"
)

// options are the flags that all programs of this package have.
type options struct {
	title   string // its name and flags, for the report
	runs    int
	server  string // path of the binary
	json    string // file for the figures
	profile string // file names of profiles begin with this; "": none
}

// register registers the flags; runs is the default of -runs.
func (o *options) register(flags *flag.FlagSet, runs int) {
	flags.IntVar(&o.runs, "runs", runs, "runs of each `kind`; the report shows medians")
	flags.StringVar(&o.server, "server", "", "measure this `binary` instead of this tree")
	flags.StringVar(&o.json, "json", "", "`file` for the figures")
	flags.StringVar(&o.profile, "profile", "", "write profiles of the last node to `FILE`.profile (processor time) and FILE.allocs")
	o.title = flags.Name()
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
	return r.Publish(o.json, measure(ctx, r))
}

// startProfile profiles the first node for some seconds, if the flags ask for it. The function that
// it returns waits for the profiles.
func (o *options) startProfile(ctx context.Context, c *cluster, seconds int) (wait func() error) {
	if o.profile == "" || c.isFloor || len(c.nodes) == 0 {
		return func() error { return nil }
	}
	done := make(chan error, 1)
	go func() { done <- c.nodes[0].Profile(ctx, o.profile, seconds) }()
	return func() error { return <-done }
}
