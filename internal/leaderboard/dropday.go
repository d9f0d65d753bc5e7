package leaderboard

import "context"

// deleteOldestDay deletes the boards of the oldest day that has boards, and reports
// whether it did. It keeps them if the day is one of the last two days, if a rolling
// board holds the day, or if the ledger does not store the day's sums.
func (a *Applier) dropOldestDay(ctx context.Context, cfg Config, state State) (retired bool, err error) {
	day := state.Oldest
	if day >= addDays(state.Mark.Day, -1) {
		return false, nil
	}
	if first := earliestDay(state.Rolling); first != "" && first <= day {
		return false, nil
	}
	summed, err := a.ledger.HasDaySums(ctx, cfg.Game, day)
	if err != nil || !summed {
		return false, err
	}
	state.Oldest = addDays(day, 1)
	step := state.nextStep(a.now())
	step.DroppedDays = []string{day}
	return true, a.store.Commit(ctx, state.Generation, []Step{step})
}
