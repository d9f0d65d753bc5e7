package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"

	"laststand/internal/protocol"
	"laststand/loadtest/harness"
	"laststand/loadtest/player"
)

// clients are all players.
type clients struct {
	stage   *stage
	players []*player.Player
	hosts   []*player.Player
	pause   atomic.Int64  // see player.Contender
	over    chan struct{} // closed when an arena has no more questions
	ending  atomic.Bool   // connections are closing, so errors are no faults
	playing errgroup.Group
	failed  chan error // holds the first fault

	once    sync.Once
	mu      sync.Mutex
	latency *hdrhistogram.Histogram // µs
	answers float64                 // so far
}

// replyTimeout bounds the time that clients play.
const replyTimeout = time.Hour

func newClients(s *stage) *clients {
	return &clients{stage: s, over: make(chan struct{}), failed: make(chan error, 1), latency: newLatency()}
}

func newLatency() *hdrhistogram.Histogram { return hdrhistogram.New(1, 60_000_000, 3) }

// node returns the node of the nth player. All nodes have equally many.
func (c *clients) node(n int) string { return c.stage.servers[n%len(c.stage.servers)].URL }

// enter connects n players, spread over all nodes.
func (c *clients) enter(ctx context.Context, n int) error {
	c.players = make([]*player.Player, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range c.players {
		group.Go(func() error {
			g := player.Guest{ID: fmt.Sprintf("player_%d", i)}
			var err error
			if g.Token, err = harness.Token("player", g.ID); err == nil {
				c.players[i], err = player.Dialer{Lean: true}.Connect(ctx, c.node(i), g, nil)
			}
			return err
		})
	}
	return group.Wait()
}

// arenas seats all players in arenas and starts the arenas. The players of each arena are
// on all nodes.
func (c *clients) arenas(ctx context.Context, n int) error {
	var starts []func() error
	for nth := range n {
		host, made, err := harness.MakeArena(ctx, c.node(nth), protocol.NewArena{
			Mode: "survival", Name: "scale", Pace: "auto", Questions: protocol.ArenaQuestions{Count: questions, Bank: "load"},
		})
		if err != nil {
			return err
		}
		c.hosts = append(c.hosts, host)
		for _, p := range c.players[nth*len(c.players)/n : (nth+1)*len(c.players)/n] {
			if err := harness.Ask(p, protocol.TypeArenaJoin, protocol.ArenaJoin{Code: made.Code}); err != nil {
				return err
			}
		}
		starts = append(starts, func() error {
			return harness.Ask(host, protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: made.ArenaID})
		})
	}
	for _, p := range c.players {
		d := c.contender(p)
		c.begin(func() error {
			if err := errors.Join(p.SetReadTimeout(replyTimeout), d.Play()); err != nil {
				return err
			}
			c.once.Do(func() { close(c.over) })
			return nil
		})
	}
	for _, start := range starts { // after all players have seats
		c.begin(start)
	}
	return nil
}

// duels lets all players play one duel after another.
func (c *clients) duels() {
	for _, p := range c.players {
		d := c.contender(p)
		join := func() error {
			_, err := p.SendData(protocol.TypeDuelJoin, []byte(`{}`))
			return err
		}
		d.Other = func(frame []byte) error { return player.Joining(frame, join) }
		c.begin(func() error {
			err := p.SetReadTimeout(replyTimeout)
			for err == nil {
				if err = join(); err == nil {
					err = d.Play()
				}
			}
			return err
		})
	}
}

func (c *clients) contender(p *player.Player) *player.Contender {
	return &player.Contender{Player: p, Value: `"wrong"`, Pause: &c.pause, Took: c.took}
}

// begin starts work in the background. The first fault is kept.
func (c *clients) begin(work func() error) {
	c.playing.Go(func() error {
		if err := work(); err != nil && !c.ending.Load() {
			select {
			case c.failed <- err:
			default:
			}
		}
		return nil
	})
}

func (c *clients) took(r player.Reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers++
	_ = c.latency.RecordValue(min(max(r.Took.Microseconds(), 1), 60_000_000))
}

// taken returns the latencies since the last call, and the number of answers so far.
func (c *clients) taken() (latency *hdrhistogram.Histogram, answers float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	latency, c.latency = c.latency, newLatency()
	return latency, c.answers
}

// wait waits, but not after the end of an arena. It returns an error if a player could not
// continue.
func (c *clients) wait(ctx context.Context, span time.Duration) error {
	select {
	case err := <-c.failed:
		return err
	case <-ctx.Done():
	case <-c.over:
	case <-time.After(span):
	}
	select {
	case err := <-c.failed: // both channels may be ready
		return err
	default:
		return ctx.Err()
	}
}

// leave closes all connections, and waits for all players.
func (c *clients) leave() {
	c.ending.Store(true)
	for _, p := range append(c.players, c.hosts...) {
		if p != nil {
			_ = p.Close()
		}
	}
	_ = c.playing.Wait() // faults are in the channel
}
