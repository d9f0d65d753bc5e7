package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/identity"
)

// Accounts links accounts of an operator's login service to guests, and erases players.
type Accounts struct {
	*database
	entries       *entryWriter
	emptiedBlocks prometheus.Counter
}

// Known implements identity.Players.
func (s *Players) Known(ctx context.Context, game, subject string) (identity.Player, error) {
	id := subject
	for range maxSubjectChanges {
		p, err := s.Player(ctx, game, id)
		if !errors.Is(err, identity.ErrNotFound) {
			return p, err
		}
		var player string
		found, err := s.get(ctx, into(&player), selectAccount, game, subject, s.hashKey.hashSubject(game, subject))
		switch {
		case err != nil || !found:
			return identity.Player{}, cmp.Or(err, identity.ErrNotFound)
		case player == "":
			return identity.Player{}, identity.ErrErased
		}
		id = player
	}
	return identity.Player{}, fmt.Errorf("ledger: account %s of game %s is linked to player %s, which does not exist", subject, game, id)
}

// maxSubjectChanges limits the look-ups of a subject that changes at the same time. A
// subject may be unknown, then a player, then a guest's account, then erased. It never
// returns to an earlier state.
const maxSubjectChanges = 5

const (
	insertAccount = `INSERT INTO accounts (game, subject, player, changed_at) VALUES ($1, $2, $3, {now}) ON CONFLICT (game, subject) DO NOTHING`
	moveAccount   = `UPDATE accounts SET player = $3, changed_at = {now} WHERE game = $1 AND subject = $2`

	lockPlayers  = `SELECT id, device_hash IS NOT NULL, matches, rated_matches FROM players WHERE game = $1 AND id IN ($2, $3) ORDER BY id {lock}`
	deletePlayer = `DELETE FROM players WHERE game = $1 AND id = $2`

	// A player of an operator's login service has its own id as its account.
	selectIsOwnAccount = `
SELECT EXISTS (SELECT 1 FROM accounts a WHERE a.game = p.game AND a.subject = p.id AND a.player = p.id)
FROM players p WHERE p.game = $1 AND p.id = $2`
)

// accountLink is a guest and the account to link to it.
type accountLink struct {
	*accessChange
	game, guest, account string
}

// LinkAccount links an account to a guest: tokens of the account then belong to the guest. It may
// be repeated. If the account has its own player without results, LinkAccount deletes that player.
// Errors are identity.ErrAccountTaken if the account is linked to another guest, is itself a guest
// or has results, or if the guest has another account, ErrBadAccount for an erased account,
// ErrNotGuest and ErrNotFound.
func (a *Accounts) LinkAccount(ctx context.Context, game, guest, account string) error {
	return inAccessChange(ctx, a.database, func(c *accessChange) error {
		return accountLink{c, game, guest, account}.apply(ctx)
	})
}

func (link accountLink) apply(ctx context.Context) error {
	player, accountExists := accountPlayer(ctx, link.transaction, link.game, link.account)
	switch {
	case accountExists && player == link.guest && link.account != link.guest:
		return nil
	case accountExists && player == "":
		return fmt.Errorf("%w: %w", identity.ErrBadAccount, identity.ErrErased)
	case accountExists && player != link.account:
		return fmt.Errorf("%w: it is linked to another guest", identity.ErrAccountTaken)
	}
	accountWasPlayer, err := link.checkAccount(ctx)
	if err != nil {
		return err
	}
	playerAppeared := link.claimAccount(ctx, accountExists)
	switch {
	case link.err != nil:
		return link.err
	case playerAppeared:
		return link.apply(ctx) // at most once: now the account exists
	}
	link.exec(ctx, `UPDATE arenas SET host = $3 WHERE game = $1 AND host = $2`, link.game, link.account, link.guest)
	// The revocation that UnlinkAccount has set ends, if it is still in force.
	if link.exec(ctx, endRevocation, link.game, string(identity.KindUnlinked), link.account, link.now, "", link.seq) > 0 {
		link.nextRevision(ctx)
	}
	if accountWasPlayer {
		link.retirePlayer(ctx)
	}
	return nil
}

// claimAccount writes the row that links the account to the guest. playerAppeared means
// that a player with the account's id was created at the same time; nothing was written.
func (link accountLink) claimAccount(ctx context.Context, accountExists bool) (playerAppeared bool) {
	statement := insertAccount
	if accountExists {
		statement = moveAccount
	}
	written := link.exec(ctx, statement, link.game, link.account, link.guest)
	if isUniqueViolation(link.err) {
		link.err = fmt.Errorf("%w: the guest has another account", identity.ErrAccountTaken)
	}
	return written == 0
}

// checkAccount locks the guest and the player of the account, if there is one. It
// reports whether the account was a player, and refuses what cannot be linked.
func (link accountLink) checkAccount(ctx context.Context) (accountWasPlayer bool, err error) {
	var guestExists, guestHasDevice, accountHasDevice, hasDevice, hasSeat bool
	var accountMatches, matches, rated int64
	var id string
	link.each(ctx, eachRow(func() {
		if id == link.guest {
			guestExists, guestHasDevice = true, hasDevice
		} else {
			accountWasPlayer, accountHasDevice, accountMatches = true, hasDevice, matches+rated
		}
	}, &id, &hasDevice, &matches, &rated), lockPlayers, link.game, link.guest, link.account)
	link.get(ctx, into(&hasSeat), `SELECT EXISTS (SELECT 1 FROM seats WHERE game = $1 AND player = $2)`, link.game, link.account)
	switch {
	case !guestExists:
		err = identity.ErrNotFound
	case !guestHasDevice || link.guest == link.account:
		err = identity.ErrNotGuest
	case accountHasDevice: // the account is a guest, to which other accounts may be linked
		err = fmt.Errorf("%w: it is a guest itself", identity.ErrAccountTaken)
	case accountMatches > 0 || hasSeat:
		err = fmt.Errorf("%w: it is a player with results of its own", identity.ErrAccountTaken)
	}
	return accountWasPlayer, err
}

// retirePlayer deletes the player that the account was before. It ends its sessions by a
// revocation, which lasts until all nodes have read it.
func (link accountLink) retirePlayer(ctx context.Context) {
	link.exec(ctx, deletePlayer, link.game, link.account)
	link.save(ctx, identity.Revocation{
		Game: link.game, Kind: identity.KindLinked, ID: link.account, EndsAt: link.now + identity.EndedRevocationTTL.Milliseconds(),
		Reason: "linked to a guest",
	})
}

// UnlinkAccount unlinks the account of a guest, and ends the sessions of its tokens. id is the
// guest's or the account's. The error is identity.ErrNoAccount if the guest has no account.
func (a *Accounts) UnlinkAccount(ctx context.Context, game, id string) (account string, err error) {
	err = inAccessChange(ctx, a.database, func(c *accessChange) error {
		subjects := c.subjectIDs(ctx, game, id)
		if len(subjects) < 2 {
			return identity.ErrNoAccount
		}
		account = subjects[0]
		c.exec(ctx, `DELETE FROM accounts WHERE game = $1 AND subject = $2 AND player = $3`, game, account, subjects[1])
		c.save(ctx, identity.Revocation{
			Game: game, Kind: identity.KindUnlinked, ID: account, EndsAt: c.now + identity.SessionEndWindow.Milliseconds(),
			Reason: "unlinked from a guest",
		})
		return nil
	})
	return account, err
}
