package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"laststand/internal/arena"
	"laststand/internal/identity"
	"laststand/internal/ledger"
	"laststand/internal/lobby"
	"laststand/internal/match"
	"laststand/internal/nickname"
	"laststand/internal/protocol"
	"laststand/internal/redisx"
	"laststand/internal/ws/redissession"
)

const kindBarred = "barred"

// barring is how players and tokens are kept out: in the ledger first, then at
// this node and, by their inboxes, at the others, which find it within a second
// by themselves where the word is lost. It implements ops.Bars and Keys, and
// httpapi.Accounts.
type barring struct {
	*ledger.Ledger
	identity *identity.Registry
	engine   *match.Engine
	lobby    *lobby.Lobby
	arenas   *arena.Service
	forget   func(ctx context.Context, game, player string) error // what Redis keeps of a player for days
	inbox    *redisx.Inbox
	alive    func() []string // all nodes
	log      *slog.Logger
}

func (n *node) barring() barring {
	forget := func(ctx context.Context, game, player string) error {
		return errors.Join(n.played.ForgetSeen(ctx, game, player), redissession.New(n.redis.Client, n.id, n.now).Forget(ctx, game, player))
	}
	return barring{n.ledger, n.identity, n.engine, n.lobby, n.arenas, forget, n.inbox, func() []string {
		_, alive := n.reporting.Duty()
		return alive
	}, n.log}
}

// wireBars has what changes of bars reach the sessions and names here.
func (n *node) wireBars() {
	n.identity.Bars.OnChange(func(bars []identity.Bar) {
		for _, b := range bars {
			if b.Kind == identity.BarErased {
				n.display.Renamed(b.Game, b.ID)
			}
		}
		n.recheck()
	})
	n.inbox.Handle(kindBarred, func([]byte) { n.identity.Bars.Wake() })
}

// recheck ends what lasts here of who may not go on: websockets and polls.
func (n *node) recheck() {
	n.sessions.Recheck()
	n.standing.Recheck()
}

// barredWithin bounds what follows on a change that has been committed.
const barredWithin = 5 * time.Second

// after is the context of what follows on a change, whether or not who asked for
// it has gone.
func after(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), barredWithin)
}

// spread has what has changed take effect, here at once. Where the store cannot
// be read this moment the next second's reading does it.
func (b barring) spread(ctx context.Context) {
	ctx, cancel := after(ctx)
	defer cancel()
	_ = b.identity.Bars.Refresh(ctx) // it has logged
	b.inbox.Send(ctx, b.alive(), kindBarred, nil)
}

// SetBar implements ops.Bars. A player who is banned forfeits.
func (b barring) SetBar(ctx context.Context, bar identity.Bar) (identity.Bar, error) {
	set, err := b.Ledger.SetBar(ctx, bar)
	if err != nil {
		return set, err
	}
	b.spread(ctx)
	if set.Kind == identity.BarBan {
		b.forfeit(ctx, set.Game, set.ID)
	}
	return set, nil
}

// LiftBar implements ops.Bars.
func (b barring) LiftBar(ctx context.Context, bar identity.Bar) error {
	err := b.Ledger.LiftBar(ctx, bar)
	if err == nil {
		b.spread(ctx)
	}
	return err
}

// Erase implements ops.Bars and httpapi.Accounts. The player forfeits. What
// Redis keeps for days goes at once, or else when it expires.
func (b barring) Erase(ctx context.Context, game, player string) error {
	if err := b.Ledger.Erase(ctx, game, player); err != nil {
		return err
	}
	b.spread(ctx)
	b.forfeit(ctx, game, player)
	ctx, cancel := after(ctx)
	defer cancel()
	if err := errors.Join(b.forget(ctx, game, player), b.lobby.Release(ctx, game, player)); err != nil {
		b.log.WarnContext(ctx, "Redis keeps keys of an erased player until they expire", "game", game, "error", err)
	}
	return nil
}

// RotateDevice implements httpapi.Accounts.
func (b barring) RotateDevice(ctx context.Context, c identity.DeviceChange) error {
	return b.identity.RotateDevice(ctx, c)
}

// ResetDevice implements ops.Bars.
func (b barring) ResetDevice(ctx context.Context, game, id string) (player, device string, err error) {
	return b.identity.ResetDevice(ctx, game, id)
}

// Untie implements ops.Bars.
func (b barring) Untie(ctx context.Context, game, id string) (account string, err error) {
	if account, err = b.Ledger.Untie(ctx, game, id); err == nil {
		b.spread(ctx)
	}
	return account, err
}

// PlayerNamed implements ops.Bars. Lists of words do not matter: who is called by
// what none may hold any more can be found by it.
func (b barring) PlayerNamed(ctx context.Context, game, name string) (identity.Player, error) {
	n, err := nickname.ParseHeld(name)
	if err != nil {
		return identity.Player{}, err
	}
	return b.Ledger.PlayerNamed(ctx, game, n.Skeleton)
}

// forfeit ends what a player is in, as leaving it does. What cannot be ended
// just now goes on without the player, who does not come back to it.
func (b barring) forfeit(ctx context.Context, game, player string) {
	ctx, cancel := after(ctx)
	defer cancel()
	if err := b.leave(ctx, game, player); err != nil {
		b.log.WarnContext(ctx, "a match goes on without a player who is barred", "game", game, "player", player, "error", err)
	}
}

func (b barring) leave(ctx context.Context, game, player string) error {
	if err := b.lobby.Leave(ctx, game, player); err != nil {
		return err
	}
	playing, err := b.lobby.Playing(ctx, game, player)
	switch {
	case err != nil || playing == nil:
		return err
	case playing.ArenaID != "":
		return b.arenas.Leave(ctx, game, player, playing.ArenaID)
	}
	return b.engine.Leave(ctx, playing.Match, player)
}

// Tie implements httpapi.Accounts. Who plays as the account's own player is not
// tied meanwhile: the result would be nobody's.
func (b barring) Tie(ctx context.Context, t identity.Tying) (string, error) {
	account, err := b.identity.AccountOf(ctx, t)
	if err != nil {
		return "", err
	}
	game, guest := t.Guest.Game, t.Guest.Subject
	if account != guest {
		playing, err := b.lobby.Playing(ctx, game, account)
		if err == nil && playing != nil {
			err = fmt.Errorf("%w: it is playing just now", identity.ErrAccountTaken)
		}
		if err == nil {
			err = b.allSettled(ctx, game, account)
		}
		if err != nil {
			return "", err
		}
	}
	if err := b.Ledger.Tie(ctx, game, guest, account); err != nil {
		return "", err
	}
	b.spread(ctx)
	if account != guest {
		b.forfeit(ctx, game, account) // the ticket of a player who is no more
	}
	return account, nil
}

// allSettled refuses for now what would delete a player whose last result is not in
// the ledger yet.
func (b barring) allSettled(ctx context.Context, game, player string) error {
	unsettled, err := b.lobby.IsUnsettled(ctx, game, player)
	if err == nil && unsettled {
		err = protocol.RetryAfter(protocol.CodeUnavailable, 1000, "the account's last match is still being settled; try again in a second")
	}
	return err
}

// KeysOf implements ops.Keys.
func (b barring) KeysOf(game string) []identity.KeyShown { return b.identity.KeysOf(game) }

// RotateKey implements ops.Keys.
func (b barring) RotateKey(ctx context.Context, game string) (identity.KeyShown, error) {
	made, err := b.identity.RotateKey(ctx, game)
	if err == nil {
		b.spread(ctx)
	}
	return made, err
}

// RetireKey implements ops.Keys.
func (b barring) RetireKey(ctx context.Context, game, id string) error {
	err := b.identity.RetireKey(ctx, game, id)
	if err == nil {
		b.spread(ctx)
	}
	return err
}
