package ledger

import (
	"context"
)

// Position says how far a ledger has got. A position that does not follow an earlier one shows
// that the ledger was restored, or that a standby that was behind became the database.
type Position struct {
	Epoch    string `json:"epoch"`    // of the ledger; `server restore` changes it
	Timeline string `json:"timeline"` // of PostgreSQL: a promotion or a recovery to a point in time changes it
	Entries  int64  `json:"entries"`  // of all games
	Access   int64  `json:"access"`   // last change of revocations
	Banks    int64  `json:"banks"`    // last change of question banks
}

// Follows reports whether a ledger at the earlier position can have grown to p. Every position
// follows the zero value.
func (p Position) Follows(earlier Position) bool {
	if earlier == (Position{}) {
		return true
	}
	return p.Epoch == earlier.Epoch && p.Timeline == earlier.Timeline &&
		p.Entries >= earlier.Entries && p.Access >= earlier.Access && p.Banks >= earlier.Banks
}

const selectPosition = `
SELECT i.epoch, {timeline}, CAST((SELECT COALESCE(SUM(pos), 0) FROM ledger_heads) AS BIGINT), a.revision, i.bank_revision
FROM ledger_info i, access_revision a WHERE i.id = 1 AND a.id = 1`

// Position reads the position of the ledger. If the epoch has changed, Epoch returns the new one
// from then on.
func (l *Ledger) Position(ctx context.Context) (p Position, err error) {
	defer describe(&err, "position")
	err = l.queryRow(ctx, selectPosition).Scan(&p.Epoch, &p.Timeline, &p.Entries, &p.Access, &p.Banks)
	if err == nil {
		l.epoch.Store(&p.Epoch)
	}
	return p, err
}
