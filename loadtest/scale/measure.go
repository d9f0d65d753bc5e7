package main

import (
	"context"
	"errors"
	"time"
)

// measure builds a stage for one kind. It measures the stage at rest, at the offered rate,
// and at the highest rate.
func (o *options) measure(ctx context.Context, store string, nodes int, kind string) (all []Run, err error) {
	s, err := build(ctx, o, store, nodes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	rest, empty, err := s.resting(ctx, o)
	if err != nil {
		return nil, err
	}
	all = append(all, rest)
	c := newClients(s)
	defer c.leave()
	c.pause.Store(int64(o.thinking(kind)))
	if err := o.seat(ctx, c, kind); err != nil {
		return nil, err
	}
	for _, offered := range []int{o.rate, 0} {
		if offered == 0 {
			c.pause.Store(0)
		}
		one, err := s.loaded(ctx, o, c, empty)
		if err != nil {
			return nil, err
		}
		one.Offered = offered
		all = append(all, one)
	}
	for i := range all {
		all[i].Store, all[i].Nodes = store, nodes
		if all[i].Kind == "" {
			all[i].Kind = kind
		}
	}
	return all, nil
}

// thinking returns the time within which players answer so that all together reach the
// rate. A question of an arena takes the whole of it. A question of a duel takes the longer
// of two thinking times, on average two thirds.
func (o *options) thinking(kind string) time.Duration {
	all := time.Duration(o.players) * time.Second / time.Duration(o.rate)
	if kind == "duels" {
		return all * 3 / 2
	}
	return all
}

func (o *options) seat(ctx context.Context, c *clients, kind string) error {
	if err := c.enter(ctx, o.players); err != nil {
		return err
	}
	if kind == "arenas" {
		return c.arenas(ctx, o.arenas)
	}
	c.duels()
	return nil
}

// resting measures nodes without players, and the memory of Redis for them.
func (s *stage) resting(ctx context.Context, o *options) (r Run, empty float64, err error) {
	nobody := newClients(s)
	if err := nobody.wait(ctx, o.warm); err != nil {
		return r, 0, err
	}
	from, err := s.read(ctx)
	if err != nil {
		return r, 0, err
	}
	if err := nobody.wait(ctx, o.rest); err != nil {
		return r, 0, err
	}
	to, err := s.read(ctx)
	if err != nil {
		return r, 0, err
	}
	r = Run{Kind: atRest, Worst: worst(from, to)}
	r.Cost, r.Use = between(from, to, to.at.Sub(from.at).Seconds())
	return r, to.memory(), nil
}

// loaded measures the nodes with players. empty is the memory of Redis without players.
func (s *stage) loaded(ctx context.Context, o *options, c *clients, empty float64) (r Run, err error) {
	if err := c.wait(ctx, o.warm); err != nil {
		return r, err
	}
	_, _ = c.taken()
	from, err := s.read(ctx)
	if err != nil {
		return r, err
	}
	if err := c.wait(ctx, o.each); err != nil {
		return r, err
	}
	latency, answers := c.taken()
	to, err := s.read(ctx)
	if err != nil {
		return r, err
	}
	if latency.TotalCount() == 0 {
		return r, errors.New("nobody could answer: give fewer -players or more -each; where arenas were over before, more -players or less -warm")
	}
	r = run(from, to, latency)
	held := to.memory() - empty
	r.Matches, r.BytesMatch, r.BytesAnswer = to.matches, held/max(to.matches, 1), held/answers
	return r, nil
}
