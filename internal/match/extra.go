package match

import (
	"slices"

	"laststand/internal/protocol"
)

// MaxExtraSeats is how many players of an arena can have extra time.
const MaxExtraSeats = 100

const maxExtraPercent = 100

// ExtraPercents are the values of ExtraTime.Percent that a host can choose; 0 takes extra
// time away.
var ExtraPercents = []int64{0, 25, 50, maxExtraPercent}

// extraPercent is the extra time of a player in percent, 0 for none.
func (s State) extraPercent(player string) int64 {
	i := slices.IndexFunc(s.Extra, func(e ExtraTime) bool { return e.Player == player })
	if i < 0 {
		return 0
	}
	return s.Extra[i].Percent
}

// extraMS is how long after ClosesAt a player can answer the current question.
func (s State) extraMS(plan *Plan, player string) int64 {
	return plan.Limit(s.Question) * s.extraPercent(player) / 100
}

// lastClosesAt is when the current question closes for the last player.
func (s State) lastClosesAt(plan *Plan) int64 {
	percent := int64(0)
	for _, e := range s.Extra {
		percent = max(percent, e.Percent)
	}
	return s.ClosesAt + plan.Limit(s.Question)*percent/100
}

// survivorsToCheck are the players with extra time whose totals the reveal of a survival
// match needs.
func (s State) survivorsToCheck(plan *Plan) (players []string) {
	if plan.Mode == Survival {
		for _, e := range s.Extra {
			players = append(players, e.Player)
		}
	}
	return players
}

// ownDeadlineView is when the open question closes for a player with extra time; nil for
// others.
func ownDeadlineView(plan *Plan, state State, player string) *protocol.OwnDeadline {
	percent := state.extraPercent(player)
	if percent == 0 || state.Phase != PhaseOpen {
		return nil
	}
	return &protocol.OwnDeadline{Match: plan.ID, Question: state.Question, ClosesAt: state.ClosesAt + state.extraMS(plan, player), Extra: percent}
}
