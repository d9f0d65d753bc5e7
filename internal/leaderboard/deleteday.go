package leaderboard

import "context"

// deleteOldestDay deletes the boards of the oldest day that has boards, and reports
// whether it did. It keeps them if the day is one of the last two days, if a rolling
// board holds the day, or if the ledger does not store the day's sums.
func (a *Applier) deleteOldestDay(ctx context.Context, cfg Config, state BoardSetState) (isDeleted bool, err error) {
	day := state.OldestDay
	if day >= addDays(state.Watermark.Day, -1) {
		return false, nil
	}
	if firstRollingDay := earliestDay(state.Rolling); firstRollingDay != "" && firstRollingDay <= day {
		return false, nil
	}
	hasSums, err := a.ledger.HasDaySums(ctx, cfg.Game, day)
	if err != nil || !hasSums {
		return false, err
	}
	state.OldestDay = addDays(day, 1)
	tx := state.nextTransaction(a.now())
	tx.DeletedDays = []string{day}
	return true, a.store.Commit(ctx, state.BoardSet, []Transaction{tx})
}
