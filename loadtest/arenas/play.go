package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"

	"laststand/internal/protocol"
	"laststand/loadtest/harness"
	"laststand/loadtest/player"
)

func answers(ctx context.Context, s *harness.Server, o options) (outcome, error) {
	return play(ctx, s, o, &contest{mode: "survival", arenas: o.arenas, answer: `"wrong"`, seat: seated, spread: o.spread()})
}

func firsts(ctx context.Context, s *harness.Server, o options) (outcome, error) {
	return play(ctx, s, o, &contest{mode: "buzzer", arenas: 1, answer: `"right"`, seat: seated})
}

// bare measures answers without a game.
func bare(ctx context.Context, s *harness.Server, o options) (outcome, error) {
	return play(ctx, s, o, &contest{mode: "survival", arenas: o.arenas, answer: `"wrong"`, seat: fillArena, spread: o.spread()})
}

// play seats the players of all arenas. It then starts the arenas and plays them to
// their end, and measures only this part.
func play(ctx context.Context, s *harness.Server, o options, c *contest) (outcome, error) {
	c.latency = hdrhistogram.New(1, 60_000_000, 3)
	var everybody errgroup.Group
	var starts []func() error
	for nth := range c.arenas {
		a, err := c.seat(ctx, s, o, venue{c.mode, nth})
		if err != nil {
			return outcome{}, err
		}
		defer a.close()
		for _, p := range a.players {
			everybody.Go(func() error { return c.contend(p, o.questions) })
		}
		starts = append(starts, a.start)
	}
	profiled, err := profile(ctx, s, o)
	if err != nil {
		return outcome{}, err
	}
	before, err := costs(ctx, s)
	if err != nil {
		return outcome{}, err
	}
	for _, start := range starts {
		everybody.Go(start)
	}
	if err := everybody.Wait(); err != nil {
		return outcome{}, err
	}
	after, err := costs(ctx, s)
	if err != nil {
		return outcome{}, err
	}
	before.machine = c.machine // leave out the countdown, in which nothing happens
	return sum(c.latency, c.ended.Sub(c.began).Seconds(), after.less(before)), errors.Join(c.blind, c.check(o), profiled())
}

// arena is an arena that waits for its start.
type arena struct {
	id      string
	host    *player.Player
	players []*player.Player
}

// venue is the number of an arena in a contest, and what is played in it.
type venue struct {
	mode string
	nth  int
}

// seating makes an arena and seats its players.
type seating func(ctx context.Context, s *harness.Server, o options, v venue) (*arena, error)

func seated(ctx context.Context, s *harness.Server, o options, v venue) (*arena, error) {
	host, made, err := harness.MakeArena(ctx, s.URL, protocol.NewArena{
		Mode: v.mode, Name: "load", Pace: "auto", Questions: protocol.ArenaQuestions{Count: o.questions, Bank: "load"},
	})
	if err != nil {
		return nil, err
	}
	a := &arena{id: made.ArenaID, host: host}
	return a, a.fill(o.players, func() (*player.Player, error) {
		guest, err := player.NewGuest(ctx, s.URL, "demo", "")
		if err != nil {
			return nil, err
		}
		return player.Dialer{Lean: true}.Connect(ctx, s.URL, guest, nil)
	}, made.Code)
}

// fillArena fills a hall of the floor: the client that starts it is its host.
func fillArena(ctx context.Context, s *harness.Server, o options, v venue) (*arena, error) {
	connect := func() (*player.Player, error) {
		return player.Dialer{Lean: true}.Connect(ctx, s.URL, player.Guest{}, nil)
	}
	host, err := connect()
	if err != nil {
		return nil, err
	}
	a := &arena{id: strconv.Itoa(v.nth), host: host}
	return a, a.fill(o.players, connect, a.id)
}

// fill connects players that join with a code. If one cannot join, fill closes the
// arena.
func (a *arena) fill(players int, connect func() (*player.Player, error), code string) error {
	for range players {
		p, err := connect()
		if err == nil {
			a.players = append(a.players, p)
			err = harness.Ask(p, protocol.TypeArenaJoin, protocol.ArenaJoin{Code: code})
		}
		if err != nil {
			a.close()
			return err
		}
	}
	return nil
}

func (a *arena) start() error {
	return harness.Ask(a.host, protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: a.id})
}

func (a *arena) close() {
	for _, p := range append(a.players, a.host) {
		_ = p.Close()
	}
}

// sum computes the outcome from the latencies (µs), the time and the cost.
func sum(latency *hdrhistogram.Histogram, seconds float64, spent cost) outcome {
	n := float64(latency.TotalCount())
	out := spent.each(n)
	out.rate = n / seconds
	out.p50, out.p99 = float64(latency.ValueAtQuantile(50))/1000, float64(latency.ValueAtQuantile(99))/1000
	return out
}
