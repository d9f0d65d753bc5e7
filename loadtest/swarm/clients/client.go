package clients

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/testenv"
	player "laststand/loadtest/client"
	"laststand/loadtest/swarm/rules"
	"laststand/loadtest/swarm/stats"
)

const (
	// replyTimeout bounds the wait for a reply before the client tries another connection.
	replyTimeout = 20 * time.Second
	// connectTimeout bounds how long a player tries to connect.
	connectTimeout = 2 * time.Minute
)

// client is a player, over all the connections that the player uses.
type client struct {
	*player.ReconnectingPlayer
	c           *Clients
	dice        *rand.Rand
	sums        rules.Sums
	isUnsure    bool // the player saw a violation or could not connect, so its sums are unknown
	isConnected bool // the player has connected, and has not left

	over        string // the last match that ended
	overAt      time.Time
	lastOver    string // the last match whose match.over arrived
	isLastRated bool   // that match gave a rating
}

// newClient makes a player. The player connects when it has something to do.
func (c *Clients) newClient(ctx context.Context, role string) (*client, error) {
	c.mu.Lock()
	n := len(c.clients)
	p := &client{c: c, dice: rand.New(rand.NewPCG(rand.Uint64(), uint64(n)))} //nolint:gosec // load is no secret
	c.clients = append(c.clients, p)
	c.mu.Unlock()
	p.ReconnectingPlayer = &player.ReconnectingPlayer{
		ReplyTimeout: replyTimeout, ConnectTimeout: connectTimeout, Dialer: player.Dialer{From: c.dialerOf(n), Buffer: 2048},
		NextServer: func(last string) string {
			if last != "" { // use the next server
				n++
			}
			return c.server(n)
		},
		OnConnectAttempt: p.countConnect,
	}
	guest, err := c.guest(ctx, role, fmt.Sprintf("%s_%s_%d", c.Name, role, n), c.server(n))
	p.Guest = guest
	return p, err
}

// guest returns a player with a token that this process mints, or with one from the server.
// It retries while the server refuses for now. It returns an error if the refusal is final
// or the clients are closing.
func (c *Clients) guest(ctx context.Context, role, id, server string) (g player.Guest, err error) {
	if c.Mint {
		g.ID = id
		g.Token, err = testenv.Token(role, id)
		return g, err
	}
	for ctx.Err() == nil {
		if g, err = player.CreateGuest(ctx, server, "demo", ""); err == nil {
			return g, nil
		}
		c.stats.Count("guest "+outcome(err), 1)
		if refused, ok := errors.AsType[*player.StatusError](err); ok && refused.Status != http.StatusTooManyRequests && refused.Status < 500 {
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

// countConnect records an attempt to connect.
func (c *Clients) countConnect(took time.Duration, err error) {
	if err != nil {
		c.stats.Count("connect "+outcome(err), 1)
		return
	}
	c.stats.Add(stats.Connect, took)
}

// outcome describes the result of a call in a few words.
func outcome(err error) string {
	closeErr, closed := errors.AsType[*websocket.CloseError](err)
	status, refused := errors.AsType[*player.StatusError](err)
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

// disconnect closes a player's connection for good.
func (p *client) disconnect() {
	p.Close()
	if p.isConnected {
		p.c.connected.Add(-1)
	}
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.c.reconnects.Add(p.Reconnects)
}

// reportEnd records why a player has ended. A nil error and the end of the clients are no
// faults.
func (c *Clients) reportEnd(p *client, err error) {
	if err == nil || c.ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return
	}
	p.isUnsure = true
	c.addViolation("%s: %v", p.ID, err)
}
