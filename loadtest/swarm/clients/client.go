package clients

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"laststand/loadtest/harness"
	"laststand/loadtest/player"
	"laststand/loadtest/swarm/rules"
	"laststand/loadtest/swarm/stats"
)

const (
	// replyTimeout is how long a reply is waited for, until another connection is tried.
	replyTimeout = 20 * time.Second
	// connectTimeout is how long a player tries to connect in vain.
	connectTimeout = 2 * time.Minute
)

// client is a player over whatever connections it takes.
type client struct {
	*player.Roamer
	c           *Clients
	dice        *rand.Rand
	sums        rules.Sums
	isUnsure    bool // was told something untrue, or could not connect: what it has is not known
	isConnected bool // has been connected, and has not left

	over        string // the match that was over last
	overAt      time.Time
	lastOver    string // the last match whose match.over has come
	isLastRated bool   // that gave a rating
}

// newClient makes a player, who connects when there is something to do.
func (c *Clients) newClient(ctx context.Context, role string) (*client, error) {
	c.mu.Lock()
	n := len(c.clients)
	p := &client{c: c, dice: rand.New(rand.NewPCG(rand.Uint64(), uint64(n)))} //nolint:gosec // load is no secret
	c.clients = append(c.clients, p)
	c.mu.Unlock()
	p.Roamer = &player.Roamer{
		ReplyTimeout: replyTimeout, GiveUp: connectTimeout, Dialer: player.Dialer{From: c.dialerOf(n), Buffer: 2048},
		Servers: func(last string) string {
			if last != "" { // the next one
				n++
			}
			return c.server(n)
		},
		Tried: p.countConnect,
	}
	guest, err := c.guest(ctx, role, fmt.Sprintf("%s_%s_%d", c.Name, role, n), c.server(n))
	p.Guest = guest
	return p, err
}

// guest is a player by a token of our own, or one that the server makes, as soon as
// it does: an error says that it never will, or that the crowd closes.
func (c *Clients) guest(ctx context.Context, role, id, server string) (g player.Guest, err error) {
	if c.Mint {
		g.ID = id
		g.Token, err = harness.Token(role, id)
		return g, err
	}
	for ctx.Err() == nil {
		if g, err = player.NewGuest(ctx, server, "demo", ""); err == nil {
			return g, nil
		}
		c.stats.Count("guest "+outcome(err), 1)
		if refused, ok := errors.AsType[*player.Refused](err); ok && refused.Status != http.StatusTooManyRequests && refused.Status < 500 {
			return g, err
		}
		c.pause(time.Second)
	}
	return g, ctx.Err()
}

func (p *client) countConnect(took time.Duration, err error) {
	p.c.countConnect(took, err)
	if err == nil && !p.isConnected {
		p.isConnected = true
		p.c.connected.Add(1)
	}
}

// countConnect takes a try to connect.
func (c *Clients) countConnect(took time.Duration, err error) {
	if err != nil {
		c.stats.Count("connect "+outcome(err), 1)
		return
	}
	c.stats.Add(stats.Connect, took)
}

// outcome names what became of a call, in a few words.
func outcome(err error) string {
	closeErr, closed := errors.AsType[*websocket.CloseError](err)
	status, refused := errors.AsType[*player.Refused](err)
	timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	switch {
	case err == nil:
		return "ok"
	case closed:
		return fmt.Sprintf("closed %d", closeErr.Code)
	case refused:
		return fmt.Sprintf("status %d", status.Status)
	case errors.Is(err, context.Canceled):
		return "given up"
	case ok && timeout.Timeout():
		return "timeout"
	}
	return "failed"
}

// disconnect ends a player's connection for good.
func (p *client) disconnect() {
	p.Close()
	if p.isConnected {
		p.c.connected.Add(-1)
	}
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.c.reconnects.Add(p.Reconnects)
}

// reportEnd takes why a player has ended: nil, or the crowd's end, are in order.
func (c *Clients) reportEnd(p *client, err error) {
	if err == nil || c.ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return
	}
	p.isUnsure = true
	c.addViolation("%s: %v", p.ID, err)
}
