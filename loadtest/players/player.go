package players

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"laststand/loadtest/checker"
)

// player is a player or a host, over all connections.
type player struct {
	*ReconnectingPlayer
	group       *Group
	view        *checker.View
	dice        *rand.Rand
	offer       *seat     // the seat to take next; nil for none
	isConnected bool      // has connected, and has not disconnected for good
	isLost      bool      // saw a violation, or could not connect, and plays no more
	overAt      time.Time // when the last match ended; zero: it is settled
	refusal     error     // of the last attempt to connect; nil: it succeeded
}

// newPlayer makes a player or a host. It connects when it has something to do.
func (g *Group) newPlayer(ctx context.Context, role string) (*player, error) {
	n := g.number()
	p := &player{group: g, dice: g.newDice(n), view: g.Checker.Spectator()}
	p.ReconnectingPlayer = &ReconnectingPlayer{
		ReplyTimeout: g.ReplyTimeout, ConnectTimeout: g.ConnectTimeout, Dialer: Dialer{LocalDialer: g.dialer(n), Buffer: 2048},
		NextServer:       func(last string) string { return g.server(p.dice, last) },
		OnConnectAttempt: p.countConnect,
	}
	guest, err := g.guest(ctx, role, fmt.Sprintf("%s_%d", role, n), p.dice)
	p.Guest = guest
	if role == "player" {
		p.view = g.Checker.Player(guest.ID)
	}
	return p, err
}

// guest returns a player with a token that this program mints, or with one from the
// server. It tries again while the server refuses for now. An error says that the
// refusal is final or that ctx has ended.
func (g *Group) guest(ctx context.Context, role, id string, dice *rand.Rand) (guest Guest, err error) {
	if g.Token != nil {
		guest.ID = id
		if guest.Token, err = g.Token(role, id); guest.Token != "" || err != nil {
			return guest, err
		}
	}
	for ctx.Err() == nil {
		if guest, err = CreateGuest(ctx, g.server(dice, ""), "demo", ""); err == nil {
			return guest, nil
		}
		g.Stats.Count("guest "+outcome(err), 1)
		if !isTemporary(err) {
			return guest, err
		}
		g.pause(time.Second)
	}
	return guest, ctx.Err()
}

// isTemporary reports whether an HTTP request may succeed later.
func isTemporary(err error) bool {
	refused, ok := errors.AsType[*StatusError](err)
	return !ok || refused.Status == http.StatusTooManyRequests || refused.Status >= 500
}

// countConnect records an attempt to connect.
func (p *player) countConnect(took time.Duration, err error) {
	p.group.countConnect(took, err)
	p.refusal = err
	if err == nil && !p.isConnected {
		p.isConnected = true
		p.group.Connected.Add(1)
	}
}

func (g *Group) countConnect(took time.Duration, err error) {
	if err != nil {
		g.Stats.Count("connect "+outcome(err), 1)
		return
	}
	g.Stats.Add(Connecting, took)
}

// outcome describes the result of a call in a few words.
func outcome(err error) string {
	closeErr, closed := errors.AsType[*websocket.CloseError](err)
	status, refused := errors.AsType[*StatusError](err)
	timeout, ok := errors.AsType[net.Error](err)
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

// chance returns true with the given probability.
func (p *player) chance(share float64) bool { return p.dice.Float64() < share }

// reportEnd records why a player has ended. A nil error and the end of the group are no
// violations.
func (p *player) reportEnd(err error) {
	if err == nil || p.group.life.Err() != nil || errors.Is(err, context.Canceled) {
		return
	}
	p.isLost = true
	p.group.Checker.Violations.Add("%s %s: %v", time.Now().Format("15:04:05.000"), p.ID, err)
}

// disconnect closes the player's connection for good.
func (p *player) disconnect() {
	p.Disconnect()
	if p.isConnected {
		p.group.Connected.Add(-1)
	}
	p.isConnected = false
	p.group.mu.Lock()
	defer p.group.mu.Unlock()
	p.group.reconnects.Add(p.Reconnects)
	p.Reconnects = Reconnects{}
}

// checkConnection returns an error if a strict player has lost a connection.
func (p *player) checkConnection() error {
	if p.group.Strict && p.refusal != nil {
		return fmt.Errorf("%w: connect: %w", checker.ErrContract, p.refusal)
	}
	if r := p.Reconnects; p.group.Strict && r.Lost+r.Silent+r.Drained > 0 {
		return fmt.Errorf("%w: the connection was closed, or a reply was missing for %v: %+v", checker.ErrContract, p.group.ReplyTimeout, r)
	}
	return nil
}

// hasOffer reports whether an arena offers a seat to a player of duels.
func (p *player) hasOffer() bool {
	for p.offer == nil || p.offer.arena.isStarted.Load() {
		select {
		case p.offer = <-p.group.offers:
		default:
			p.offer = nil
			return false
		}
	}
	return true
}

// takeSeat returns the seat that is offered to the player, nil for none.
func (p *player) takeSeat() *seat {
	if !p.hasOffer() {
		return nil
	}
	s := p.offer
	p.offer = nil
	return s
}
