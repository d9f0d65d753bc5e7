package ledger

import (
	"cmp"
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"time"

	"laststand/internal/identity"
	"laststand/internal/leaderboard"
	"laststand/internal/match"
)

func newOpaqueID() string { return "p_" + strings.ToLower(rand.Text()) }

// eraseTimeout limits the transaction of Erase. Half a million results take about a minute.
const eraseTimeout = 5 * time.Minute

// Erase deletes a player with its devices and account, or returns identity.ErrNotFound.
// The nickname becomes free. Results stay in the ledger. A guest's results keep the
// guest's id, which is anonymous. Results of a player of an operator's login service get a
// random id. The leaderboards follow when they apply the entries that Erase adds. All
// this is one transaction, which does not stop when ctx ends.
func (a *Accounts) Erase(ctx context.Context, game, player string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), eraseTimeout)
	defer cancel()
	return inAccessChange(ctx, a.database, func(c *accessChange) error {
		var isOwnAccount bool // results may have the id
		if !c.get(ctx, into(&isOwnAccount), selectIsOwnAccount, game, player) {
			return identity.ErrNotFound
		}
		opaque, lastMove := "", int64(0)
		if isOwnAccount {
			opaque = newOpaqueID()
			lastMove = renameResults(ctx, c.transaction, game, player, opaque)
		}
		c.exec(ctx, deletePlayer, game, player)
		account := c.linkedAccount(ctx, game, player)
		c.eraseSubject(ctx, game, player, opaque, lastMove)
		if account != "" {
			c.nextRevision(ctx)
			c.eraseSubject(ctx, game, account, "", 0)
		}
		return nil
	})
}

// eraseSubject replaces a subject by its hash, and ends its sessions. In results, opaque
// has replaced the subject; it is "" if results keep the id or have none. An id that this
// server made for a guest stays in results, because it is anonymous.
func (c *accessChange) eraseSubject(ctx context.Context, game, subject, opaque string, lastMove int64) {
	c.exec(ctx, `
INSERT INTO accounts (game, subject, player, changed_at, opaque_id) VALUES ($1, $2, '', {now}, $3) ON CONFLICT (game, subject) DO NOTHING`,
		game, c.db.hashKey.hashSubject(game, subject), opaque)
	c.exec(ctx, `DELETE FROM accounts WHERE game = $1 AND subject = $2`, game, subject)
	c.exec(ctx, eraseHost, game, subject)
	c.exec(ctx, `
INSERT INTO erasures (game, subject, opaque_id, last_move_pos, erased_at) VALUES ($1, $2, $3, $4, {now})
ON CONFLICT (game, subject) DO NOTHING`, game, subject, opaque, lastMove)
	c.save(ctx, identity.Revocation{
		Game: game, Kind: identity.KindErased, ID: subject, EndsAt: c.now + identity.SessionEndWindow.Milliseconds(), Reason: "erased",
	})
}

const (
	renameEntries = `UPDATE entries SET holder = $3 WHERE game = $1 AND holder_kind = 'player' AND holder = $2`
	renameSums    = `UPDATE day_sums SET holder = $3 WHERE game = $1 AND holder_kind = 'player' AND holder = $2`
	renameSeats   = `UPDATE seats SET player = $3 WHERE game = $1 AND player = $2`

	// renameFirsts renames a player in the JSON of match records. Those of buzzer matches
	// have players: match.First. An id needs no escapes in JSON.
	renameFirsts = `
UPDATE matches SET summary = replace(summary, '"player":"' || $2 || '"', '"player":"' || $3 || '"')
WHERE game = $1 AND id IN (SELECT s.match_id FROM seats s WHERE s.game = $1 AND s.player = $2 AND s.mode = 'buzzer')`

	// selectPlayerDays selects the days on which a player has entries. A day whose results
	// were all corrected has entries, but no sum.
	selectPlayerDays = `SELECT DISTINCT day FROM entries WHERE game = $1 AND holder_kind = 'player' AND holder = $2 ORDER BY 1`

	// updateDayVersionsFrom locks the days: see updateSummedTo.
	updateDayVersionsFrom = `UPDATE days SET version = $3 WHERE game = $1 AND day >= $2`
)

// renameResults replaces a subject by its opaque id in all results, under the lock on the
// game's head. So a running commit has written its results before, and later commits find
// the player erased. It also adds the entries that rename the subject on leaderboards,
// and returns the position of the last one, 0 if there are none.
func renameResults(ctx context.Context, tx *transaction, game, subject, opaque string) (lastMove int64) {
	h := lockHeadRow(ctx, tx, game)
	var days []string
	tx.each(ctx, appendTo(&days, itself), selectPlayerDays, game, subject)
	for _, text := range []string{renameFirsts, renameSeats, renameSums} {
		tx.exec(ctx, text, game, subject, opaque)
	}
	if tx.exec(ctx, renameEntries, game, subject, opaque) == 0 {
		return 0
	}
	tx.exec(ctx, updateDayVersionsFrom, game, days[0], mathrand.Int64()) //nolint:gosec // a version is no secret
	addMoves(h, opaque, days)
	h.save(ctx, tx)
	return h.pos
}

// addMoves adds the entries that rename a player on leaderboards: one for leaderboards over
// several days, and one for the daily leaderboards of up to ten days.
func addMoves(h *head, opaque string, days []string) {
	addMove := func(day string) {
		h.add(&entry{Row: leaderboard.Row{Kind: leaderboard.MoveRow, HolderKind: leaderboard.Players, Holder: opaque, TargetDay: day}})
	}
	addMove("")
	last := ""
	for _, day := range days {
		if day > last {
			addMove(day)
			last = leaderboard.LastMovedDay(day)
		}
	}
}

const selectOpaque = `
WITH v (game, id, hash) AS ({rows})
SELECT v.id, a.opaque_id FROM v JOIN accounts a ON a.game = v.game AND a.subject = v.hash WHERE a.opaque_id <> ''`

// opaqueIDs returns the opaque ids of those players who were erased, by their former ids.
// An erased guest has no opaque id. The form of an id does not matter, because an
// operator's login service may create subjects that look like guests' ids. A caller that
// writes results holds the lock on the game's head.
func opaqueIDs(ctx context.Context, tx *transaction, game string, players []string) map[string]string {
	var rows [][]any
	for _, id := range players {
		rows = append(rows, []any{game, id, tx.db.hashKey.hashSubject(game, id)})
	}
	opaqueByID := map[string]string{}
	var id, opaque string
	tx.bulk(ctx, selectOpaque, rows, eachRow(func() { opaqueByID[id] = opaque }, &id, &opaque))
	return opaqueByID
}

// renameErased replaces erased players in new results by their opaque ids. It checks only
// players who do not exist, which means that they are not in stored.
func renameErased(ctx context.Context, tx *transaction, game string, items []*resultItem, stored map[string]string) {
	missing := slices.DeleteFunc(playerIDs(items), func(id string) bool {
		_, exists := stored[id]
		return exists
	})
	opaqueByID := opaqueIDs(ctx, tx, game, missing)
	if len(opaqueByID) == 0 {
		return
	}
	for _, item := range items {
		item.result = withOpaqueIDs(item.result, opaqueByID)
	}
}

// withOpaqueIDs returns a copy of a result in which opaque ids replace former ids.
func withOpaqueIDs(r *match.Result, opaqueByID map[string]string) *match.Result {
	copied := *r
	copied.Standings, copied.Firsts = slices.Clone(r.Standings), slices.Clone(r.Firsts)
	for i := range copied.Standings {
		if id := opaqueByID[copied.Standings[i].Player]; id != "" && !copied.Standings[i].Bot {
			copied.Standings[i].Player, copied.Standings[i].Nickname = id, ""
		}
	}
	for i := range copied.Firsts {
		if id := opaqueByID[copied.Firsts[i].Player]; id != "" {
			copied.Firsts[i].Player, copied.Firsts[i].Nickname = id, ""
		}
	}
	copied.Winner = cmp.Or(opaqueByID[copied.Winner], copied.Winner)
	return &copied
}
