package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"laststand/internal/identity"
	"laststand/internal/ledger"
	"laststand/internal/protocol"
	"laststand/internal/redisstore"
)

// accessControl changes bans, revocations, keys and accounts. It stores a change in the ledger, and
// applies it at this node. Other nodes read the change from the ledger within a second. accessControl
// implements ops.Revocations, ops.Players, ops.Keys and httpapi.Accounts.
type accessControl struct {
	*ledger.Revocations
	*identity.Registry
	*node
}

func newAccessControl(n *node) accessControl {
	return accessControl{n.ledger.Revocations, n.identity, n}
}

// applyRevocations makes this node apply changes of bans and revocations to its sessions and its
// cached names.
func (n *node) applyRevocations() {
	n.identity.Revocations.OnChange(func(revocations []identity.Revocation) {
		for _, revocation := range revocations {
			if revocation.Kind == identity.KindErased {
				n.display.ForgetName(revocation.Game, revocation.ID)
			}
		}
		n.closeRevoked()
	})
}

// closeRevoked closes the websockets and the waiting HTTP calls of players and services whose
// access has been revoked.
func (n *node) closeRevoked() {
	n.sessions.Recheck()
	n.revocableCalls.CancelRevoked()
}

// followUpTimeout is the timeout of the work after a committed change.
const followUpTimeout = 5 * time.Second

// followUpContext returns the context of the work after a committed change. It does not end when
// the client disconnects.
func followUpContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), followUpTimeout)
}

// applyNow applies a change that was stored without an error at this node. It returns the error of
// the change. If this node cannot read the ledger now, its next periodic read applies the change.
func (a accessControl) applyNow(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	ctx, cancel := followUpContext(ctx)
	defer cancel()
	_ = a.Registry.Revocations.Refresh(ctx) // after an error, Run reads again and logs
	return nil
}

// SetRevocation stores a ban or revocation. It implements ops.Revocations. A banned player
// forfeits the current match.
func (a accessControl) SetRevocation(ctx context.Context, revocation identity.Revocation) (identity.Revocation, error) {
	stored, err := a.Revocations.SetRevocation(ctx, revocation)
	err = a.applyNow(ctx, err)
	if err == nil && stored.Kind == identity.KindBan {
		a.forfeit(ctx, stored.Game, stored.ID)
	}
	return stored, err
}

// LiftRevocation removes a ban or revocation. It implements ops.Revocations.
func (a accessControl) LiftRevocation(ctx context.Context, revocation identity.Revocation) error {
	return a.applyNow(ctx, a.Revocations.LiftRevocation(ctx, revocation))
}

// Erase erases a player. It implements ops.Players and httpapi.Accounts. The player forfeits the
// current match. Erase also deletes the Redis keys of the player; if that fails, they expire
// later.
func (a accessControl) Erase(ctx context.Context, game, player string) error {
	if err := a.applyNow(ctx, a.ledger.Accounts.Erase(ctx, game, player)); err != nil {
		return err
	}
	a.forfeit(ctx, game, player)
	ctx, cancel := followUpContext(ctx)
	defer cancel()
	if err := errors.Join(a.matches.ForgetSeen(ctx, game, player), redisstore.NewSessions(a.redis.Client, a.id, a.now).Forget(ctx, game, player), a.lobby.ReleaseErasedPlayer(ctx, game, player)); err != nil {
		a.log.WarnContext(ctx, "Redis cleanup of an erased player failed; the keys stay until they expire", "game", game, "error", err)
	}
	return nil
}

// UnlinkAccount removes the link between a guest and its account. It implements ops.Players.
func (a accessControl) UnlinkAccount(ctx context.Context, game, id string) (account string, err error) {
	account, err = a.ledger.Accounts.UnlinkAccount(ctx, game, id)
	return account, a.applyNow(ctx, err)
}

// PlayerNamed returns the player whose nickname looks like name. It implements ops.Players. It
// also finds nicknames that the word lists now refuse.
func (a accessControl) PlayerNamed(ctx context.Context, game, name string) (identity.Player, error) {
	return findNamed(ctx, a.ledger.Players, game, name)
}

// forfeit makes a player leave the lobby, arena or match. If that fails, it logs a warning, and
// the match continues without the player.
func (a accessControl) forfeit(ctx context.Context, game, player string) {
	ctx, cancel := followUpContext(ctx)
	defer cancel()
	if err := a.leaveActivity(ctx, game, player); err != nil {
		a.log.WarnContext(ctx, "forfeit of a banned or erased player failed; the match continues without the player", "game", game, "player", player, "error", err)
	}
}

func (a accessControl) leaveActivity(ctx context.Context, game, player string) error {
	if err := a.lobby.Leave(ctx, game, player); err != nil {
		return err
	}
	playing, err := a.lobby.RunningMatch(ctx, game, player)
	switch {
	case err != nil || playing == nil:
		return err
	case playing.ArenaID != "":
		return a.arenas.Leave(ctx, game, player, playing.ArenaID)
	}
	return a.engine.Leave(ctx, playing.Match, player)
}

// LinkAccount links a guest to an account and returns the account. It implements
// httpapi.Accounts. If the account already has a player of its own, that player is deleted. So
// the link is refused while that player is in a match, whose result would have no owner.
func (a accessControl) LinkAccount(ctx context.Context, request identity.LinkRequest) (string, error) {
	account, err := a.VerifyAccount(ctx, request)
	if err != nil {
		return "", err
	}
	game, guest := request.Guest.Game, request.Guest.Subject
	if account != guest {
		if err := a.checkIdle(ctx, game, account); err != nil {
			return "", err
		}
	}
	if err := a.applyNow(ctx, a.ledger.Accounts.LinkAccount(ctx, game, guest, account)); err != nil {
		return "", err
	}
	if account != guest {
		a.forfeit(ctx, game, account) // removes the ticket of the deleted player
	}
	return account, nil
}

// checkIdle returns an error if a player is in a match, or if the last result of the player is not
// in the ledger yet.
func (a accessControl) checkIdle(ctx context.Context, game, player string) error {
	playing, err := a.lobby.RunningMatch(ctx, game, player)
	if err != nil {
		return err
	}
	if playing != nil {
		return fmt.Errorf("%w: the player of the account is in a match; retry when the match is over", identity.ErrAccountTaken)
	}
	isUnsettled, err := a.lobby.IsUnsettled(ctx, game, player)
	if err == nil && isUnsettled {
		err = protocol.RetryAfter(protocol.CodeUnavailable, 1000, "the last match of the account is not settled yet; retry after 1 s")
	}
	return err
}

// RotateKey creates a signing key. It implements ops.Keys.
func (a accessControl) RotateKey(ctx context.Context, game string) (identity.KeyInfo, error) {
	created, err := a.Registry.RotateKey(ctx, game)
	return created, a.applyNow(ctx, err)
}

// RetireKey makes all nodes refuse the tokens of a key. It implements ops.Keys.
func (a accessControl) RetireKey(ctx context.Context, game, id string) error {
	return a.applyNow(ctx, a.Registry.RetireKey(ctx, game, id))
}
