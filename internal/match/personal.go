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

// personalResults are frames for single players: the effect of the revealed
// question on each of them.
type personalResults struct {
	question int
	position int               // how many frames of the delivery come before them
	byPlayer map[string][]byte // frame by player
}

// acceptedRecords are the records of one question that this node has accepted,
// by player.
type acceptedRecords struct {
	question int
	byPlayer map[string]Record
}

// personalRecipients are the local players who get a personal result with the
// next reveal. The list is empty in a small match. It is also empty if there
// are so many players that the reveal would have to wait.
type personalRecipients struct {
	players []string
	records acceptedRecords // their records if this node accepted all of them; else they are read
}

// hasPersonalRecipients reports whether the next reveal has personal results
// for local players.
func (l *localMatch) hasPersonalRecipients(view View) bool {
	if view.Phase != PhaseSealed && !view.hasAllAnswers() || view.Players <= FullListPlayers {
		return false
	}
	localPlayers := len(l.playerSessions())
	return 0 < localPlayers && localPlayers <= personalChunkSize
}

// claimRecipients returns the recipients of the next reveal. It returns the locally
// accepted records of a question only once and then forgets them.
func (l *localMatch) claimRecipients(view View) (recipients personalRecipients) {
	if !l.hasPersonalRecipients(view) {
		return personalRecipients{}
	}
	recipients.players = slices.Collect(maps.Keys(l.playerSessions()))
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, player := range recipients.players {
		if _, ok := l.records.byPlayer[player]; !ok || l.records.question != view.Question {
			return recipients
		}
	}
	recipients.records, l.records = l.records, acceptedRecords{}
	return recipients
}

// isOutdated reports whether the records belong to another question than the
// view.
func (recipients personalRecipients) isOutdated(view View) bool {
	return recipients.records.byPlayer != nil && recipients.records.question != view.Question
}

// storeRecord keeps the record of an answer accepted at this node, if its player
// will get a personal result. The caller holds mu.
func (l *localMatch) storeRecord(record Record) {
	if l.state.Players <= FullListPlayers || len(l.sessions) > personalChunkSize || record.Question < l.records.question {
		return
	}
	if l.records.byPlayer == nil || record.Question > l.records.question {
		l.records = acceptedRecords{question: record.Question, byPlayer: make(map[string]Record, len(l.sessions))}
	}
	l.records.byPlayer[record.Player] = record
}

// addPersonal adds the personal results that belong to the reveal just added.
// They come from the view of the step, except for records that the recipients
// carry.
func (d *delivery) addPersonal(plan *Plan, view View, recipients personalRecipients) {
	if len(recipients.players) == 0 {
		return
	}
	if recipients.records.byPlayer != nil {
		view.Records = recipients.records.byPlayer
	}
	view.State = *d.state
	d.personal = personalResults{question: view.Question, position: len(d.frames.encoded), byPlayer: make(map[string][]byte, len(recipients.players))}
	for _, player := range recipients.players {
		d.personal.byPlayer[player] = protocol.EncodePush(protocol.TypeOwn, personalView(plan, view, player))
	}
}

// includesPersonalResults reports whether the delivery contains the personal results
// of the last reveal, or the match is too small to have any.
func (d *delivery) includesPersonalResults(view View) bool {
	return view.Players <= FullListPlayers || d.personal.byPlayer != nil
}

// claimPersonal returns the personal results that were not sent yet. If they
// leave out a local player, it returns none, and schedulePersonal sends all of
// them separately. The caller holds mu.
func (l *localMatch) claimPersonal(results personalResults) personalResults {
	if results.byPlayer == nil || l.lastPersonalQuestion >= results.question {
		return personalResults{}
	}
	for player := range l.sessions {
		if _, listed := results.byPlayer[player]; !listed && l.members[player].Role == PlayerRole {
			return personalResults{}
		}
	}
	l.lastPersonalQuestion = results.question
	return results
}

// schedulePersonal sends the personal results of a revealed question in a large
// match, unless they were sent with the reveal.
func (e *Engine) schedulePersonal(local *localMatch) {
	local.mu.Lock()
	defer local.mu.Unlock()
	state := local.state
	if state.Players <= FullListPlayers || state.Phase != PhaseRevealed && !state.Phase.hasEnded() || local.isAbandoned() || local.lastPersonalQuestion >= state.Question {
		return
	}
	local.lastPersonalQuestion = state.Question
	e.Wheel.After(0, func() {
		e.sendPersonal(local, state.Question, slices.Collect(maps.Keys(local.playerSessions())), maxPersonalTries)
	})
}

// sendPersonal reads the personal results of players in chunks and pushes them.
// After an error it continues with the rest after storeRetryDelay.
func (e *Engine) sendPersonal(local *localMatch, question int, players []string, tries int) {
	for len(players) > 0 {
		chunk := players[:min(personalChunkSize, len(players))]
		view, err := e.readPersonal(local, chunk)
		switch {
		case err != nil && tries > 1:
			e.Wheel.After(storeRetryDelay, func() { e.sendPersonal(local, question, players, tries-1) })
			return
		case err != nil:
			e.Logger.Warn("personal results not sent; players get them with match.state", "match", local.plan.ID, "players", len(players), "error", err)
			return
		case view.Question != question:
			e.metrics.skippedPersonalResults.Inc()
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

func (e *Engine) readPersonal(local *localMatch, players []string) (View, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	return e.Store.Read(ctx, ReadQuery{Match: local.plan.ID, Players: players, WantRanks: true, AfterSeq: -1, SeenVersion: local.knownVersion()})
}
