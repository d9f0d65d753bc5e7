package bench

import (
	"cmp"
	"context"
	"errors"
	"time"

	"laststand/loadtest/report"
)

// playCase is something to measure on a cluster of its own.
type playCase struct {
	name    string
	cluster clusterOptions
	decide  decideFunc // measured in place of players; nil: players play
	play    playOptions
	prepare func(context.Context, *cluster) (check func(context.Context) error, err error) // before the players connect; check is called after the measurement; nil: nothing
	check   func(*answeringPlayers) error                                                  // after all arenas are over; nil: none

	duration time.Duration // of each measurement; 0: until all arenas are over
	warmUp   time.Duration // play before each measurement
	rest     time.Duration // of a measurement without players; 0: none
	rates    []playRate    // measured one after another, unless duration is 0
	costs    *costTables   // measure the work by part instead; nil: do not
	traces   *report.Table // measure the time of an answer by part instead; nil: do not
}

// playRate is how fast players answer.
type playRate struct {
	row      string // the end of the row's name
	maxDelay time.Duration
}

// costParts returns the measurement of the work in a case by its parts.
func costParts(r *report.Report, k playCase) []part {
	k.costs = newCostTables(r)
	return caseParts(r, []playCase{k})
}

// caseParts returns the measurements of all cases.
func caseParts(r *report.Report, cases []playCase) (parts []part) {
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
