package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"laststand/loadtest/players"
)

// seatsPerArena is the number of players in an arena of Connections.
const seatsPerArena = 100

// joinsPerSecond is how many players of matches connect per second.
const joinsPerSecond = 1000

// measurePlaying measures the memory of players in arenas and in duels while their question is
// open.
func measurePlaying(ctx context.Context, o connectionsOptions, r connectionTables) error {
	for _, row := range []string{"playing, arenas", "playing, duels"} {
		c, err := o.startNodes(ctx, 1)
		if err != nil {
			return err
		}
		before, after, err := o.measureOpenQuestion(ctx, c, row == "playing, arenas")
		if err := errors.Join(err, c.stop()); err != nil {
			return fmt.Errorf("%s: %w", row, err)
		}
		r.addMemory(row, o.playing, before, after)
	}
	return nil
}

// measureOpenQuestion returns the memory of the node before it has players, and while all have
// an open question.
func (o connectionsOptions) measureOpenQuestion(ctx context.Context, c *cluster, inArenas bool) (before, after memory, err error) {
	if before, err = c.steadyMemory(ctx); err != nil {
		return before, after, err
	}
	k, err := o.openQuestion(ctx, c, inArenas)
	if err == nil {
		after, err = c.steadyMemory(ctx)
	}
	return before, after, errors.Join(err, k.close())
}

// openQuestion lets players play until all of them have an open question. In arenas most of
// them answer it; the others keep it open. In duels nobody answers.
func (o connectionsOptions) openQuestion(ctx context.Context, c *cluster, inArenas bool) (*benchClients, error) {
	habits := players.Habits{SkipShare: 1}
	if inArenas {
		habits.SkipShare = 0.05
	}
	k := newBenchClients(ctx, c, joinsPerSecond, habits)
	if inArenas {
		for range o.playing / seatsPerArena {
			k.AddArenas(players.Arenas{Mode: "survival", MinPlayers: seatsPerArena, MaxPlayers: seatsPerArena, OwnPlayers: true})
		}
	} else {
		k.SetDuellists(o.playing)
	}
	return k, k.await(ctx, "asked", time.Duration(o.playing)*time.Second/joinsPerSecond, func() bool {
		return k.stats.All().Quantiles(players.Question).N >= int64(o.playing)
	})
}

// measureKill kills one of two nodes during a question. It measures how long its players
// take to return to their matches on the other node.
func measureKill(ctx context.Context, o connectionsOptions, r connectionTables) (err error) {
	c, err := o.startNodes(ctx, 2)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	k, err := o.openQuestion(ctx, c, true)
	defer func() { err = errors.Join(err, k.close()) }()
	if err != nil {
		return err
	}
	sessions, err := c.nodes[1].Metrics(ctx)
	if err != nil {
		return err
	}
	all, refused, start := k.Connected.Load(), k.sumCounts("connect "), time.Now()
	if err := c.nodes[0].Kill(); err != nil {
		return err
	}
	hosts := int64(o.playing / seatsPerArena) // some of them were on the other node
	lost := all - int64(sessions.Sum("laststand_ws_sessions"))
	err = k.await(ctx, "back", 0, func() bool { return k.stats.All().Quantiles(players.Resumed).N >= lost-hosts })
	if err != nil {
		return err
	}
	took := time.Since(start)
	time.Sleep(time.Second) // for the hosts' share
	r.addServeTimes("death of a node", k.stats.All().Quantiles(players.Resumed), took, k.sumCounts("connect ")-refused)
	return nil
}
