package players

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"laststand/loadtest/checker"
)

// member is a player or a host of a group, over all connections.
type member struct {
	*reconnecting
	view   *checker.View
	isLost bool      // saw a violation, or could not connect, and plays no more
	overAt time.Time // when the last match ended; zero: it is settled
}

// newMember makes a player or a host. It connects when it has something to do.
func (g *Group) newMember(ctx context.Context, role string) (*member, error) {
	n := g.number()
	p := &member{view: g.Checker.Spectator(), reconnecting: &reconnecting{
		group: g, dice: g.newDice(n), dialer: Dialer{LocalDialer: g.dialer(n), Buffer: 2048},
	}}
	var err error
	p.Guest, err = g.guest(ctx, role, fmt.Sprintf("%s_%d", role, n), p.dice)
	if role == "player" {
		p.view = g.Checker.Player(p.ID)
		g.mu.Lock()
		g.tokens[p.ID] = p.Token
		g.mu.Unlock()
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

// chance returns true with the given probability.
func (p *member) chance(share float64) bool { return p.dice.Float64() < share }

// reportEnd records why a member has ended. A nil error and the end of the group are no
// violations.
func (p *member) reportEnd(err error) {
	if err == nil || p.group.life.Err() != nil || errors.Is(err, context.Canceled) {
		return
	}
	p.isLost = true
	p.group.Checker.Violations.Add("%s %s: %v", time.Now().Format("15:04:05.000"), p.ID, err)
}

// disconnect closes the connection for good.
func (p *member) disconnect() {
	p.dropConnection()
	if p.isConnected {
		p.group.Connected.Add(-1)
	}
	p.isConnected = false
}

// checkConnection returns an error if a strict member has lost a connection.
func (p *member) checkConnection() error {
	switch {
	case !p.group.Strict:
		return nil
	case p.refusal != nil:
		return fmt.Errorf("%w: connect: %w", checker.ErrContract, p.refusal)
	case p.hasLost:
		return fmt.Errorf("%w: the connection was closed, or a reply was missing for %v", checker.ErrContract, p.group.ReplyTimeout)
	}
	return nil
}
