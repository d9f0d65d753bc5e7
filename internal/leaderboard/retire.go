package leaderboard

import "context"

// retire lets the oldest day's boards go once nobody needs them: no board of a
// window holds the day, it is not one of the last two, and SQL keeps its sums.
func (a *Applier) retire(ctx context.Context, cfg Config, state State) (retired bool, err error) {
	day := state.Oldest
	if day >= addDays(state.Mark.Day, -1) {
		return false, nil
	}
	if first := earliest(state.Rolls); first != "" && first <= day {
		return false, nil
	}
	summed, err := a.ledger.Summed(ctx, cfg.Game, day)
	if err != nil || !summed {
		return false, err
	}
	state.Oldest = addDays(day, 1)
	step := state.next(a.now())
	step.Drop = []string{day}
	return true, a.store.Commit(ctx, state.Generation, []Step{step})
}
