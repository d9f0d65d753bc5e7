package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"laststand/internal/identity"
)

var _ identity.Accounts = (*Accounts)(nil)

// Known returns the player of a token's subject. The subject is the player's id, or an
// account that is linked to the player. The error is identity.ErrNotFound if the subject
// has no player yet, and identity.ErrErased if the player was erased.
func (s *Players) Known(ctx context.Context, game, subject string) (identity.Player, error) {
	id := subject
	for range maxSubjectChanges {
		p, err := s.Player(ctx, game, id)
		if !errors.Is(err, identity.ErrNotFound) {
			return p, err
		}
		player, found, err := accountPlayer(ctx, s.readPool, s.hashKey, game, subject)
		switch {
		case err != nil:
			return identity.Player{}, fmt.Errorf("ledger: account: %w", err)
		case !found:
			return identity.Player{}, identity.ErrNotFound
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
	selectHasSeat = `SELECT EXISTS (SELECT 1 FROM seats WHERE game = $1 AND player = $2)`
)

// accountLink is a guest and the account to link to it.
type accountLink struct {
	*accessChange
	game, guest, account string
}

// LinkAccount links an account of an operator's login service to a guest, and may be
// repeated. A player that the account had without results is deleted. Errors are
// identity.ErrAccountTaken, ErrBadAccount with ErrErased, ErrNotGuest and ErrNotFound.
// identity.Accounts describes them.
func (a *Accounts) LinkAccount(ctx context.Context, game, guest, account string) error {
	err := inAccessChange(ctx, a.database, func(c *accessChange) error {
		return accountLink{c, game, guest, account}.apply(ctx)
	})
	if err != nil && !errors.Is(err, errAlreadyLinked) {
		return fmt.Errorf("ledger: link account: %w", err)
	}
	return nil
}

// errAlreadyLinked rolls back a change that is not needed.
var errAlreadyLinked = errors.New("the account is linked to this guest already")

func (link accountLink) apply(ctx context.Context) error {
	player, accountExists, err := accountPlayer(ctx, link.tx, link.hashKey, link.game, link.account)
	switch {
	case err != nil:
		return err
	case accountExists && player == link.guest && link.account != link.guest:
		return errAlreadyLinked
	case accountExists && player == "":
		return fmt.Errorf("%w: %w", identity.ErrBadAccount, identity.ErrErased)
	case accountExists && player != link.account:
		return fmt.Errorf("%w: it is linked to another guest", identity.ErrAccountTaken)
	}
	accountWasPlayer, err := link.checkAccount(ctx)
	if err != nil {
		return err
	}
	playerAppeared, err := link.claimAccount(ctx, accountExists)
	switch {
	case err != nil:
		return err
	case playerAppeared:
		return link.apply(ctx) // at most once: now the account exists
	}
	if err := link.endUnlinkBan(ctx); err != nil || !accountWasPlayer {
		return err
	}
	return link.retirePlayer(ctx)
}

// endUnlinkBan ends the revocation that UnlinkAccount has set, if it is still in force.
func (link accountLink) endUnlinkBan(ctx context.Context) error {
	result, err := link.tx.ExecContext(ctx, endRevocation, link.game, string(identity.KindUnlinked), link.account, link.now, "", link.seq)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return err
	}
	return link.nextRevision(ctx)
}

// claimAccount writes the row that links the account to the guest. playerAppeared means
// that a player with the account's id was created at the same time; nothing was written.
func (link accountLink) claimAccount(ctx context.Context, accountExists bool) (playerAppeared bool, err error) {
	statement := insertAccount
	if accountExists {
		statement = moveAccount
	}
	result, err := link.tx.ExecContext(ctx, link.expandSQL(statement), link.game, link.account, link.guest)
	if isUniqueViolation(err) {
		return false, fmt.Errorf("%w: the guest has another account", identity.ErrAccountTaken)
	}
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 0, err
}

// checkAccount locks the guest and the player of the account, if there is one. It
// reports whether the account was a player, and refuses what cannot be linked.
func (link accountLink) checkAccount(ctx context.Context) (accountWasPlayer bool, err error) {
	var guestExists, guestHasDevice, accountHasDevice bool
	var accountMatches int64
	err = scanAll(func(rows *sql.Rows) error {
		var id string
		var hasDevice bool
		var matches, rated int64
		err := rows.Scan(&id, &hasDevice, &matches, &rated)
		if id == link.guest {
			guestExists, guestHasDevice = true, hasDevice
		} else {
			accountWasPlayer, accountHasDevice, accountMatches = true, hasDevice, matches+rated
		}
		return err
	})(link.tx.QueryContext(ctx, link.expandSQL(lockPlayers), link.game, link.guest, link.account))
	switch {
	case err != nil:
		return false, err
	case !guestExists:
		return false, identity.ErrNotFound
	case !guestHasDevice || link.guest == link.account:
		return false, identity.ErrNotGuest
	case accountHasDevice: // the account is a guest, to which other accounts may be linked
		return false, fmt.Errorf("%w: it is a guest itself", identity.ErrAccountTaken)
	}
	hasSeat := false
	err = link.tx.QueryRowContext(ctx, selectHasSeat, link.game, link.account).Scan(&hasSeat)
	if err == nil && (accountMatches > 0 || hasSeat) {
		err = fmt.Errorf("%w: it is a player with results of its own", identity.ErrAccountTaken)
	}
	return accountWasPlayer, err
}

// linkedRevocationTTL is how long the ledger keeps the revocation of a former player, so that
// all nodes end its sessions.
const linkedRevocationTTL = identity.EndedRevocationTTL

// retirePlayer deletes the player that the account was before, and ends its sessions.
func (link accountLink) retirePlayer(ctx context.Context) error {
	if _, err := link.tx.ExecContext(ctx, deletePlayer, link.game, link.account); err != nil {
		return err
	}
	return link.save(ctx, identity.Revocation{
		Game: link.game, Kind: identity.KindLinked, ID: link.account, EndsAt: link.now + linkedRevocationTTL.Milliseconds(),
		Reason: "linked to a guest", ChangedAt: link.now, Seq: link.seq,
	})
}

// Erase deletes a player with its devices and account, or returns identity.ErrNotFound.
// The nickname becomes free and the profile is deleted immediately. Results stay in the
// ledger. A guest's results keep the guest's id, which is anonymous. Results of a player
// of an operator's login service get a random id; EraseNext renames them in steps.
func (a *Accounts) Erase(ctx context.Context, game, player string) error {
	err := inAccessChange(ctx, a.database, func(c *accessChange) error { return a.erase(ctx, c, game, player) })
	if err != nil {
		return fmt.Errorf("ledger: erase: %w", err)
	}
	return nil
}

func (a *Accounts) erase(ctx context.Context, c *accessChange, game, player string) error {
	wasPlayer, err := a.deletePlayer(ctx, c, game, player)
	if err != nil {
		return err
	}
	account, err := c.linkedAccount(ctx, game, player)
	if err != nil {
		return err
	}
	if err := a.eraseSubject(ctx, c, erasedSubject{a.hashKey, game, player, wasPlayer}); err != nil || account == "" {
		return err
	}
	if err := c.nextRevision(ctx); err != nil {
		return err
	}
	return a.eraseSubject(ctx, c, erasedSubject{a.hashKey, game, account, false})
}

// deletePlayer deletes a player, and reports whether its id was also its account. Then
// the player's results must be renamed, so deletePlayer first locks the game's head, as
// commits do. It waits for running corrections, and later ones notice the erasure.
func (a *Accounts) deletePlayer(ctx context.Context, c *accessChange, game, player string) (wasPlayer bool, err error) {
	err = c.tx.QueryRowContext(ctx, selectIsOwnAccount, game, player).Scan(&wasPlayer)
	if errors.Is(err, sql.ErrNoRows) {
		return false, identity.ErrNotFound
	}
	if err == nil && wasPlayer {
		_, err = a.entries.lockHeadRow(ctx, c.tx, game)
	}
	if err == nil {
		_, err = c.tx.ExecContext(ctx, deletePlayer, game, player)
	}
	return wasPlayer, err
}

// eraseSubject replaces a subject by its hash, and ends its sessions.
func (a *Accounts) eraseSubject(ctx context.Context, c *accessChange, erased erasedSubject) error {
	if err := a.replaceByHash(ctx, c.tx, erased); err != nil {
		return err
	}
	return c.save(ctx, identity.Revocation{
		Game: erased.game, Kind: identity.KindErased, ID: erased.subject, EndsAt: c.now + identity.SessionEndWindow.Milliseconds(), Reason: "erased", ChangedAt: c.now, Seq: c.seq,
	})
}
