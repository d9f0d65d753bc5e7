package match

import (
	"context"
	"maps"
	"slices"

	"laststand/internal/protocol"
)

const (
	// personalChunkSize is how many players one read covers.
	personalChunkSize = 200
	// maxPersonalTries limits how often a node tries a read that fails.
	maxPersonalTries = 3
)

// personalResults sends the players of a large match the effect of each question on
// them.
type personalResults struct{ *engineBase }

// findRecipients finds the local players whose personal results are delivered with the next
// reveal. There are none in a small match, if the question is not open or sealed, or if
// one read does not cover the players; then schedulePersonal sends the results.
func findRecipients(local *localMatch) []string {
	state := local.knownState()
	if state.Players <= FullListPlayers || state.Phase != PhaseOpen && state.Phase != PhaseSealed {
		return nil
	}
	if players := slices.Collect(maps.Keys(local.playerSessions())); len(players) <= personalChunkSize {
		return players
	}
	return nil
}

// addPersonal adds the personal results of players after the frames of the reveal, of
// which there are so many. A separate push would cost each player another write. The view
// is that of the reveal, so no answer came after it.
func (d *delivery) addPersonal(plan *Plan, revealed View, frames int, players []string) {
	d.personal = personalFrames{revealed.Question, frames, make(map[string][]byte, len(players))}
	for _, player := range players {
		d.personal.byPlayer[player] = encodePersonal(plan, revealed, player)
	}
}

func encodePersonal(plan *Plan, view View, player string) []byte {
	return protocol.EncodePush(protocol.TypeOwn, personalView(plan, view, player))
}

// schedulePersonal sends the personal results of a revealed question in a large
// match, unless they were delivered with the reveal.
func (p *personalResults) schedulePersonal(local *localMatch) {
	local.mu.Lock()
	defer local.mu.Unlock()
	state, question := &local.state, local.state.Question
	if state.Players <= FullListPlayers || state.Phase != PhaseRevealed && !state.Phase.hasEnded() || local.state.isAbandoned() || local.lastPersonalQuestion >= question {
		return
	}
	local.lastPersonalQuestion = question
	p.Wheel.After(0, func() {
		p.sendPersonal(local, question, slices.Collect(maps.Keys(local.playerSessions())), maxPersonalTries)
	})
}

// sendPersonal reads the personal results of players in chunks and pushes them.
// After an error it continues with the rest after storeRetryDelay. When the next question has
// opened, it skips the rest: the store then has scores and ranks with the open answers, so a
// result would disclose whether they are right. The next result, or match.state before it,
// has the points.
func (p *personalResults) sendPersonal(local *localMatch, question int, players []string, tries int) {
	for len(players) > 0 {
		chunk := players[:min(personalChunkSize, len(players))]
		view, err := p.readPersonal(local, chunk)
		switch {
		case err != nil && tries > 1:
			p.Wheel.After(storeRetryDelay, func() { p.sendPersonal(local, question, players, tries-1) })
			return
		case err != nil:
			p.Logger.Warn("personal results not sent; players get them with match.state", "match", local.plan.ID, "players", len(players), "error", err)
			return
		case view.Question != question:
			p.metrics.skippedPersonalResults.Inc()
			return
		}
		sessions := local.playerSessions()
		for _, player := range chunk {
			if session, ok := sessions[player]; ok {
				session.Push(local.plan.ID, encodePersonal(local.plan, view, player))
			}
		}
		players = players[len(chunk):]
	}
}

func (p *personalResults) readPersonal(local *localMatch, players []string) (View, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	return p.Matches.Read(ctx, ReadQuery{Match: local.plan.ID, Players: players, WantRanks: true, AfterSeq: -1, Seen: local.knownSeen()})
}
