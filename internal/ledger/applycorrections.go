package ledger

import (
	"context"
	"fmt"
	"math/rand/v2"

	"laststand/internal/leaderboard"
)

const (
	insertCorrection = `
WITH v (game, pos, reason, corrected_by) AS ({rows})
INSERT INTO corrections (game, pos, reason, corrected_by) SELECT game, pos, reason, corrected_by FROM v WHERE true`

	// updateDayVersion locks the day: see updateSummedTo.
	updateDayVersion = `UPDATE days SET version = $3 WHERE game = $1 AND day = $2 RETURNING summed_to`

	deleteEmptySums = `
WITH v (game, holder_kind, holder, day) AS ({rows})
DELETE FROM day_sums WHERE (game, holder_kind, holder, day) IN (SELECT game, holder_kind, holder, day FROM v) AND matches = 0`
)

var correctSums = `
WITH v (game, holder_kind, holder, day, newest, ` + aggregateColumns + `) AS ({rows})
UPDATE day_sums SET
    newest = v.newest,
    committed_at = COALESCE((SELECT e.committed_at FROM entries e WHERE e.game = v.game AND e.pos = v.newest), day_sums.committed_at),
    ` + eachAggregate("@ = day_sums.@ + v.@") + `
FROM v WHERE day_sums.game = v.game AND day_sums.holder_kind = v.holder_kind AND day_sums.holder = v.holder AND day_sums.day = v.day`

// applyCorrections writes what follows from corrections of one day: the players' totals, and
// the day's sums if there are any.
func (c *Corrections) applyCorrections(ctx context.Context, tx *transaction, game string, corrections []*entry) error {
	day := corrections[0].TargetDay
	var summedTo int64
	err := tx.queryRow(ctx, updateDayVersion, game, day, rand.Int64()).Scan(&summedTo) //nolint:gosec // a version is no secret
	if err != nil {
		return fmt.Errorf("day: %w", err)
	}
	var players, sums, keys [][]any
	for _, c := range corrections {
		if c.HolderKind == leaderboard.Players {
			players = append(players, (&playerChange{aggregates: c.Aggregates}).row(game, c.Holder))
		}
		key := []any{game, string(c.HolderKind), c.Holder, day}
		keys = append(keys, key)
		var sumChange leaderboard.Aggregates
		if max(c.correctedPos, c.adjustedPos) <= summedTo {
			sumChange = c.Aggregates
		}
		sums = append(sums, append(append(key[:4:4], c.NewestOfTargetDay), aggregateValues(sumChange)...))
	}
	return tx.bulkSteps(ctx,
		bulkStep{"players", updatePlayer, players},
		bulkStep{"sums", correctSums, sums},
		bulkStep{"empty sums", deleteEmptySums, keys},
	)
}
