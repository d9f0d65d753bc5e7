package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/stats"
)

// seatsPerArena is the number of players in an arena of Connections.
const seatsPerArena = 100

// measurePlaying measures the memory of players in arenas, who answer, and in duels. The
// question of all of them stays open.
func measurePlaying(ctx context.Context, o connectionsOptions, r connectionTables) error {
	for _, row := range []string{"playing, arenas", "playing, duels"} {
		c, err := o.startNodes(ctx, 1)
		if err != nil {
			return err
		}
		before, after, err := o.playOpenQuestion(ctx, c, row == "playing, arenas")
		if err := errors.Join(err, c.stop()); err != nil {
			return fmt.Errorf("%s: %w", row, err)
		}
		r.addMemory(row, o.playing, before, after)
	}
	return nil
}

// playOpenQuestion returns the memory of the node before it has players, and while all have
// an open question.
func (o connectionsOptions) playOpenQuestion(ctx context.Context, c *cluster, inArenas bool) (before, after memory, err error) {
	if before, err = c.steadyMemory(ctx, o.heapFile("before")); err != nil {
		return before, after, err
	}
	m := &openMatches{urls: c.urls}
	defer m.close()
	if err := m.play(ctx, o.playing, inArenas, c.urls[0]); err != nil {
		return before, after, err
	}
	after, err = c.steadyMemory(ctx, o.heapFile("after"))
	return before, after, err
}

// measureKill stops one of two nodes during a question. It measures how long its players
// take to return to their matches on the other node.
func measureKill(ctx context.Context, o connectionsOptions, r connectionTables) (err error) {
	c, err := o.startNodes(ctx, 2)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	m := &openMatches{urls: c.urls}
	defer m.close()
	if err := m.play(ctx, o.playing, true, c.urls[1]); err != nil {
		return err
	}
	before, err := c.nodes[1].Metrics(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := c.nodes[0].Kill(); err != nil {
		return err
	}
	returnedAt, err := m.await(ctx, "returned", (o.playing+1)/2)
	if err != nil {
		return err
	}
	after, err := c.nodes[1].Metrics(ctx)
	if err != nil {
		return err
	}
	took := time.Since(start)
	times := stats.New(time.Hour)
	for _, at := range returnedAt {
		times.Add(served, at.Sub(start))
	}
	r.addServeTimes("death of a node", times, took, int(refusals(after)-refusals(before)))
	return nil
}

// refusals returns how many connections a node has closed by itself.
func refusals(m testenv.Metrics) float64 {
	const name = "laststand_ws_closes_total"
	return m.Sum(name) - m.Sum(name, `code="gone"`)
}
