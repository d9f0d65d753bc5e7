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

// schedulePersonal sends the personal results of a revealed question in a large
// match, once. They follow the reveal.
func (p *personalResults) schedulePersonal(local *localMatch) {
	if question, ok := local.claimPersonal(); ok {
		p.Wheel.After(0, func() {
			p.sendPersonal(local, question, slices.Collect(maps.Keys(local.playerSessions())), maxPersonalTries)
		})
	}
}

// sendBeforeNextStep sends the personal results of a revealed question at once, if one
// read covers the players of this node. Otherwise the next step would have to wait.
func (p *personalResults) sendBeforeNextStep(local *localMatch) {
	players := slices.Collect(maps.Keys(local.playerSessions()))
	if len(players) > personalChunkSize {
		return
	}
	if question, ok := local.claimPersonal(); ok {
		p.sendPersonal(local, question, players, maxPersonalTries)
	}
}

// claimPersonal returns the revealed question of a large match whose personal
// results no caller has claimed to send.
func (l *localMatch) claimPersonal() (question int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	state := l.state
	if state.Players <= FullListPlayers || state.Phase != PhaseRevealed && !state.Phase.hasEnded() || l.isAbandoned() || l.lastPersonalQuestion >= state.Question {
		return 0, false
	}
	l.lastPersonalQuestion = state.Question
	return state.Question, true
}

// sendPersonal reads the personal results of players in chunks and pushes them.
// After an error it continues with the rest after storeRetryDelay.
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
				session.Push(local.plan.ID, protocol.EncodePush(protocol.TypeOwn, personalView(local.plan, view, player)))
			}
		}
		players = players[len(chunk):]
	}
}

func (p *personalResults) readPersonal(local *localMatch, players []string) (View, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	return p.Matches.Read(ctx, ReadQuery{Match: local.plan.ID, Players: players, WantRanks: true, AfterSeq: -1, SeenVersion: local.knownVersion()})
}
