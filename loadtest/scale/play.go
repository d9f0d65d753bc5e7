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

// clients is all who play.
type clients struct {
	stage   *stage
	players []*player.Player
	hosts   []*player.Player
	pause   atomic.Int64  // see player.Contender
	over    chan struct{} // closed when an arena has none left to ask
	ending  atomic.Bool   // connections are closed: what fails now is in order
	playing errgroup.Group
	failed  chan error // holds the first fault

	once    sync.Once
	mu      sync.Mutex
	latency *hdrhistogram.Histogram // µs
	answers float64                 // so far
}

// replyTimeout bounds how long a crowd plays.
const replyTimeout = time.Hour

func newClients(s *stage) *clients {
	return &clients{stage: s, over: make(chan struct{}), failed: make(chan error, 1), latency: newLatency()}
}

func newLatency() *hdrhistogram.Histogram { return hdrhistogram.New(1, 60_000_000, 3) }

// node is the one that a number comes to: all have as many.
func (c *clients) node(n int) string { return c.stage.servers[n%len(c.stage.servers)].URL }

// enter connects as many players, over all nodes.
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

// arenas seats all in as many arenas, of which each is on all nodes, and starts
// these.
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
	for _, start := range starts { // once all are seated
		c.begin(start)
	}
	return nil
}

// duels has all meet in duels, one after another.
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

// begin does something beside the rest; the first fault is told.
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

// taken is what answers took since it was called last, and how many there were so far.
func (c *clients) taken() (latency *hdrhistogram.Histogram, answers float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	latency, c.latency = c.latency, newLatency()
	return latency, c.answers
}

// wait waits, at most until an arena is over; an error says that a player could
// not go on.
func (c *clients) wait(ctx context.Context, span time.Duration) error {
	select {
	case err := <-c.failed:
		return err
	case <-ctx.Done():
	case <-c.over:
	case <-time.After(span):
	}
	select {
	case err := <-c.failed: // as well
		return err
	default:
		return ctx.Err()
	}
}

// leave ends all connections, and waits for all who played.
func (c *clients) leave() {
	c.ending.Store(true)
	for _, p := range append(c.players, c.hosts...) {
		if p != nil {
			_ = p.Close()
		}
	}
	_ = c.playing.Wait() // faults are told otherwise
}
