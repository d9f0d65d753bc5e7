package leaderboard

import "context"

// dropOldestDay drops the oldest day's boards once they are not needed. No rolling board
// may hold the day, it must not be one of the last two days, and the ledger must keep
// its sums.
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
