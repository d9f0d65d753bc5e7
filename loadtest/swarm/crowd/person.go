package crowd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"laststand/loadtest/player"
	"laststand/loadtest/rig"
	"laststand/loadtest/swarm/tally"
	"laststand/loadtest/swarm/truth"
)

const (
	// patience is how long a reply is waited for, until another connection is tried.
	patience = 20 * time.Second
	// giveUp is how long a player tries to connect in vain.
	giveUp = 2 * time.Minute
)

// person is a player over whatever connections it takes.
type person struct {
	*player.Roamer
	c    *Crowd
	dice *rand.Rand
	sums truth.Sums
	lost bool // was told something untrue, or could not connect: what it has is not known
	here bool // has been connected, and has not left

	over   string // the match that was over last
	overAt time.Time
	told   string // the last match whose match.over has come
	rated  bool   // that gave a rating
}

// newPerson makes a player, who connects when there is something to do.
func (c *Crowd) newPerson(ctx context.Context, role string) (*person, error) {
	c.mu.Lock()
	n := len(c.people)
	p := &person{c: c, dice: rand.New(rand.NewPCG(rand.Uint64(), uint64(n)))} //nolint:gosec // load is no secret
	c.people = append(c.people, p)
	c.mu.Unlock()
	p.Roamer = &player.Roamer{
		Patience: patience, GiveUp: giveUp, Door: player.Door{From: c.from(n), Buffer: 2048},
		Servers: func(last string) string {
			if last != "" { // the next one
				n++
			}
			return c.server(n)
		},
		Tried: p.tried,
	}
	guest, err := c.guest(ctx, role, fmt.Sprintf("%s_%s_%d", c.Name, role, n), c.server(n))
	p.Guest = guest
	return p, err
}

// guest is a player by a token of our own, or one that the server makes, as soon as
// it does: an error says that it never will, or that the crowd closes.
func (c *Crowd) guest(ctx context.Context, role, id, server string) (g player.Guest, err error) {
	if c.Mint {
		g.ID = id
		g.Token, err = rig.Token(role, id)
		return g, err
	}
	for ctx.Err() == nil {
		if g, err = player.NewGuest(ctx, server, "demo", ""); err == nil {
			return g, nil
		}
		c.tally.Count("guest "+outcome(err), 1)
		if why, ok := errors.AsType[*player.Refused](err); ok && why.Status != http.StatusTooManyRequests && why.Status < 500 {
			return g, err
		}
		c.pause(time.Second)
	}
	return g, ctx.Err()
}

func (p *person) tried(took time.Duration, err error) {
	p.c.tried(took, err)
	if err == nil && !p.here {
		p.here = true
		p.c.connected.Add(1)
	}
}

// tried takes a try to connect.
func (c *Crowd) tried(took time.Duration, err error) {
	if err != nil {
		c.tally.Count("connect "+outcome(err), 1)
		return
	}
	c.tally.Add(tally.Connect, took)
}

// outcome names what became of a call, in a few words.
func outcome(err error) string {
	why, closed := errors.AsType[*websocket.CloseError](err)
	status, refused := errors.AsType[*player.Refused](err)
	timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	switch {
	case err == nil:
		return "ok"
	case closed:
		return fmt.Sprintf("closed %d", why.Code)
	case refused:
		return fmt.Sprintf("status %d", status.Status)
	case errors.Is(err, context.Canceled):
		return "given up"
	case ok && timeout.Timeout():
		return "timeout"
	}
	return "failed"
}

// leave ends a player's connection for good.
func (p *person) leave() {
	p.Close()
	if p.here {
		p.c.connected.Add(-1)
	}
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.c.travels.Add(p.Travels)
}

// ended takes why a player has ended: nil, or the crowd's end, are in order.
func (c *Crowd) ended(p *person, err error) {
	if err == nil || c.life.Err() != nil || errors.Is(err, context.Canceled) {
		return
	}
	p.lost = true
	c.say("%s: %v", p.ID, err)
}
