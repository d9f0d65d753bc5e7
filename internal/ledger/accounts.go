package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"laststand/internal/identity"
)

var _ identity.Accounts = (*Ledger)(nil)

const selectAccount = `SELECT player FROM accounts WHERE game = $1 AND sub IN ($2, $3) ORDER BY player LIMIT 1`

// rowQuerier is a transaction, or the connections that read.
type rowQuerier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// accountPlayer says whom a subject speaks for, "" for one who has been erased.
func (l *Ledger) accountPlayer(ctx context.Context, q rowQuerier, game, sub string) (player string, found bool, err error) {
	err = q.QueryRowContext(ctx, selectAccount, game, sub, l.hashKey.hash(game, sub)).Scan(&player)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	return player, err == nil, err
}

// Known gives the player whom a token's subject speaks for, by its own id or as
// an account. identity.ErrNotFound where there is none yet, identity.ErrErased
// where there is none any more.
func (l *Ledger) Known(ctx context.Context, game, subject string) (identity.Player, error) {
	id := subject
	for range maxSubjectChanges {
		p, err := l.Player(ctx, game, id)
		if !errors.Is(err, identity.ErrNotFound) {
			return p, err
		}
		player, found, err := l.accountPlayer(ctx, l.read, game, subject)
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
	return identity.Player{}, fmt.Errorf("ledger: account %s of %s speaks for %s, who is not there", subject, game, id)
}

// maxSubjectChanges is how often a subject is looked up while it changes: it is nobody,
// then a player, then a guest's account, then erased, and never goes back.
const maxSubjectChanges = 5

const (
	insertAccount       = `INSERT INTO accounts (game, sub, player, at) VALUES ($1, $2, $3, {now}) ON CONFLICT (game, sub) DO NOTHING`
	moveAccount         = `UPDATE accounts SET player = $3, at = {now} WHERE game = $1 AND sub = $2`
	selectLinkedAccount = `SELECT sub FROM accounts WHERE game = $1 AND player = $2`

	lockPlayers  = `SELECT id, device_hash IS NOT NULL, matches, rated FROM players WHERE game = $1 AND id IN ($2, $3) ORDER BY id {lock}`
	deletePlayer = `DELETE FROM players WHERE game = $1 AND id = $2`

	// A player of an operator's speaks for itself.
	selectSelf = `
SELECT EXISTS (SELECT 1 FROM accounts a WHERE a.game = p.game AND a.sub = p.id AND a.player = p.id)
FROM players p WHERE p.game = $1 AND p.id = $2`
	selectSeated = `SELECT EXISTS (SELECT 1 FROM seats WHERE game = $1 AND player = $2)`
)

// accountLink is a guest and the account that it is to have.
type accountLink struct {
	*change
	ledger               *Ledger
	game, guest, account string
}

// Tie implements identity.Accounts.
func (l *Ledger) Tie(ctx context.Context, game, guest, account string) error {
	err := l.inChange(ctx, func(c *change) error {
		return accountLink{c, l, game, guest, account}.run(ctx)
	})
	if err != nil && !errors.Is(err, errAlreadyLinked) {
		return fmt.Errorf("ledger: tie: %w", err)
	}
	return nil
}

// errAlreadyLinked undoes a change that has nothing to change.
var errAlreadyLinked = errors.New("tied already")

func (t accountLink) run(ctx context.Context) error {
	player, known, err := t.ledger.accountPlayer(ctx, t.tx, t.game, t.account)
	switch {
	case err != nil:
		return err
	case known && player == t.guest && t.account != t.guest:
		return errAlreadyLinked
	case known && player == "":
		return fmt.Errorf("%w: %w", identity.ErrBadAccount, identity.ErrErased)
	case known && player != t.account:
		return fmt.Errorf("%w: it is another guest's", identity.ErrAccountTaken)
	}
	wasPlayer, err := t.checkAccount(ctx)
	if err != nil {
		return err
	}
	isRaced, err := t.claimAccount(ctx, known)
	switch {
	case err != nil:
		return err
	case isRaced:
		return t.run(ctx) // once: it is known now
	}
	if err := t.endUnlinkBan(ctx); err != nil || !wasPlayer {
		return err
	}
	return t.retirePlayer(ctx)
}

// endUnlinkBan ends what keeps out an account that was untied a moment ago.
func (t accountLink) endUnlinkBan(ctx context.Context) error {
	done, err := t.tx.ExecContext(ctx, endBar, t.game, string(identity.BarUntied), t.account, t.at, "", t.seq)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return err
	}
	return t.nextRevision(ctx, t.ledger)
}

// claimAccount has the account speak for the guest. Raced: a player of that id has been
// created this moment.
func (t accountLink) claimAccount(ctx context.Context, known bool) (isRaced bool, err error) {
	statement := insertAccount
	if known {
		statement = moveAccount
	}
	done, err := t.tx.ExecContext(ctx, t.ledger.sql(statement), t.game, t.account, t.guest)
	if breaksUnique(err) {
		return false, fmt.Errorf("%w: the guest has another account", identity.ErrAccountTaken)
	}
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n == 0, err
}

// checkAccount says whether the account has been a player, and refuses what cannot be
// tied.
func (t accountLink) checkAccount(ctx context.Context) (wasPlayer bool, err error) {
	var found, guest, another bool
	var played int64
	err = scanAll(func(rows *sql.Rows) error {
		var id string
		var device bool
		var matches, rated int64
		err := rows.Scan(&id, &device, &matches, &rated)
		if id == t.guest {
			found, guest = true, device
		} else {
			wasPlayer, another, played = true, device, matches+rated
		}
		return err
	})(t.tx.QueryContext(ctx, t.ledger.sql(lockPlayers), t.game, t.guest, t.account))
	switch {
	case err != nil:
		return false, err
	case !found:
		return false, identity.ErrNotFound
	case !guest || t.guest == t.account:
		return false, identity.ErrNotGuest
	case another: // whom an account may speak for
		return false, fmt.Errorf("%w: it is a guest itself", identity.ErrAccountTaken)
	}
	seated := false
	err = t.tx.QueryRowContext(ctx, selectSeated, t.game, t.account).Scan(&seated)
	if err == nil && (played > 0 || seated) {
		err = fmt.Errorf("%w: it is a player with results of its own", identity.ErrAccountTaken)
	}
	return wasPlayer, err
}

// linkRecordTTL is how long nodes know that sessions of a former player are to end.
const linkRecordTTL = identity.BarsKept

// retirePlayer ends the player that the account has been.
func (t accountLink) retirePlayer(ctx context.Context) error {
	if _, err := t.tx.ExecContext(ctx, deletePlayer, t.game, t.account); err != nil {
		return err
	}
	return t.save(ctx, identity.Bar{
		Game: t.game, Kind: identity.BarTied, ID: t.account, EndsAt: t.at + linkRecordTTL.Milliseconds(),
		Reason: "tied to a guest", At: t.at, Seq: t.seq,
	})
}

// Erase implements identity.Accounts. The player's name is free and the profile
// gone at once. What the player has settled stays in the ledger: under the id of a
// guest, which says nothing; under a random one for a player of an operator's, by
// steps that EraseNext takes.
func (l *Ledger) Erase(ctx context.Context, game, player string) error {
	err := l.inChange(ctx, func(c *change) error { return l.erase(ctx, c, game, player) })
	if err != nil {
		return fmt.Errorf("ledger: erase: %w", err)
	}
	return nil
}

func (l *Ledger) erase(ctx context.Context, c *change, game, player string) error {
	wasPlayer, err := l.deletePlayer(ctx, c, game, player)
	if err != nil {
		return err
	}
	account, err := c.accountOf(ctx, game, player)
	if err != nil {
		return err
	}
	if err := l.eraseSubject(ctx, c, erasedSubject{l.hashKey, game, player, wasPlayer}); err != nil || account == "" {
		return err
	}
	if err := c.nextRevision(ctx, l); err != nil {
		return err
	}
	return l.eraseSubject(ctx, c, erasedSubject{l.hashKey, game, account, false})
}

// deletePlayer deletes a player, and says whether it was one of an operator's. The head
// of the game is locked first where results will get another id, as commits do:
// corrections under way are waited for, and those that come later look.
func (l *Ledger) deletePlayer(ctx context.Context, c *change, game, player string) (wasPlayer bool, err error) {
	err = c.tx.QueryRowContext(ctx, selectSelf, game, player).Scan(&wasPlayer)
	if errors.Is(err, sql.ErrNoRows) {
		return false, identity.ErrNotFound
	}
	if err == nil && wasPlayer {
		_, err = l.lockHeadRow(ctx, c.tx, game)
	}
	if err == nil {
		_, err = c.tx.ExecContext(ctx, deletePlayer, game, player)
	}
	return wasPlayer, err
}

// eraseSubject has a subject speak for nobody any more, and its sessions end.
func (l *Ledger) eraseSubject(ctx context.Context, c *change, w erasedSubject) error {
	if err := l.replaceByHash(ctx, c.tx, w); err != nil {
		return err
	}
	return c.save(ctx, identity.Bar{
		Game: w.game, Kind: identity.BarErased, ID: w.subject, EndsAt: c.at + identity.SessionsEnd.Milliseconds(), Reason: "erased", At: c.at, Seq: c.seq,
	})
}
