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

// ExtraTime gives a player a longer time limit: Percent is the addition in percent of the
// limit. Only the player and the host may learn of it. Therefore every record holds the
// elapsed time as scaled to the limit of the others. Points, ranks and reports follow from
// it as for everybody, and do not show who has extra time. One thing cannot be hidden: who
// sees a question stay open after its time limit knows that somebody has extra time.
type ExtraTime struct {
	Player   string `json:"player"`
	Nickname string `json:"nickname"`
	Percent  int64  `json:"percent"`
}

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

// pushOwnDeadlines tells each player with extra time and a session here when the question
// closes for that player, once after each change. The caller holds mu.
func (l *localMatch) pushOwnDeadlines() {
	if l.state.Phase != PhaseOpen || l.state.ClosesAt <= l.lastDeadline {
		return
	}
	l.lastDeadline = l.state.ClosesAt
	for _, e := range l.state.Extra {
		l.pushOwnDeadline(e.Player)
	}
}

// pushOwnDeadline pushes a player's own deadline if there is one. The caller holds mu.
func (l *localMatch) pushOwnDeadline(player string) {
	own, session := ownDeadlineView(l.plan, l.state, player), l.sessions[player]
	if own != nil && session != nil {
		session.Push(l.plan.ID, protocol.EncodePush(protocol.TypeOwnDeadline, own))
	}
}
