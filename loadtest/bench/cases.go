package bench

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/players"
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
func (o *options) run(ctx context.Context, parts func(*players.Report) []part) (err error) {
	if o.runs < 1 {
		return fmt.Errorf("-runs is %d; use at least 1", o.runs)
	}
	if o.server, err = testenv.BuildServer(ctx, o.server); err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(collectRarely))
	r := players.NewReport(o.title)
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

// playCase is something to measure on a cluster of its own.
type playCase struct {
	name    string
	cluster clusterOptions
	decide  decideFunc // measured in place of players; nil: players play
	play    playOptions
	prepare func(context.Context, *cluster) (check func(context.Context) error, err error) // before the players connect; check is called after the measurement; nil: nothing
	check   func(*answeringPlayers) error                                                  // after all arenas are over; nil: none

	duration time.Duration  // of each measurement; 0: until all arenas are over
	warmUp   time.Duration  // play before each measurement
	rest     time.Duration  // of a measurement without players; 0: none
	rates    []playRate     // measured one after another, unless duration is 0
	costs    *costTables    // measure the work by part instead; nil: do not
	traces   *players.Table // measure the time of an answer by part instead; nil: do not
}

// playRate is how fast players answer.
type playRate struct {
	row      string // the end of the row's name
	maxDelay time.Duration
}

// costParts returns the measurement of the work in a case by its parts.
func costParts(r *players.Report, k playCase) []part {
	k.costs = newCostTables(r)
	return caseParts(r, []playCase{k})
}

// caseParts returns the measurements of all cases.
func caseParts(r *players.Report, cases []playCase) (parts []part) {
	tables := newAnswerTables(r)
	for _, k := range cases {
		parts = append(parts, part{k.name, func(ctx context.Context) error { return measureCase(ctx, tables, k) }})
	}
	return parts
}

func measureCase(ctx context.Context, t answerTables, k playCase) (err error) {
	c, err := startCluster(ctx, k.cluster)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	if k.decide != nil {
		m, err := decideAnswers(ctx, c, k.play, k.decide)
		if err != nil {
			return err
		}
		t.add(k.name, m)
		return nil
	}
	if k.prepare != nil {
		check, failed := k.prepare(ctx, c)
		if failed != nil {
			return failed
		}
		defer func() { err = cmp.Or(err, check(ctx)) }()
	}
	empty, err := c.measureRest(ctx, k.rest)
	if err != nil {
		return err
	}
	if k.rest > 0 {
		t.add(k.name+" at rest", empty)
	}
	return measurePlayers(ctx, t, k, c, empty.to)
}

// measurePlayers measures players at each rate. The memory of Redis counts from the given
// usage.
func measurePlayers(ctx context.Context, t answerTables, k playCase, c *cluster, empty usage) error {
	p, err := seatPlayers(ctx, c, k.play)
	if err != nil {
		return err
	}
	defer p.close()
	if k.costs != nil {
		p.start()
		return c.measureCosts(ctx, k, p)
	}
	if k.traces != nil {
		p.start()
		return c.measureTrace(ctx, k, p)
	}
	if k.duration == 0 {
		m, err := c.measureAll(ctx, p)
		if err != nil {
			return err
		}
		t.add(k.name, m)
		return k.check(p)
	}
	p.maxDelay.Store(int64(k.rates[0].maxDelay))
	p.start()
	for _, rate := range k.rates {
		p.maxDelay.Store(int64(rate.maxDelay))
		m, err := c.measurePlay(ctx, p, k.warmUp, k.duration, empty)
		if err != nil {
			return err
		}
		t.add(k.name+rate.row, m)
	}
	return nil
}
