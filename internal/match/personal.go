package match

import (
	"context"
	"maps"
	"slices"

	"laststand/internal/protocol"
)

const (
	// personalChunk is how many players one read covers.
	personalChunk = 200
	// maxPersonalTries limits how often a node tries a read that fails.
	personalTries = 3
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
func (l *localMatch) hasPersonalRecipients(v View) bool {
	if v.Phase != Sealed && !v.hasAllAnswers() || v.Players <= FullView {
		return false
	}
	here := len(l.playerSessions())
	return 0 < here && here <= personalChunk
}

// claimRecipients returns the recipients of the next reveal. It returns the locally
// accepted records of a question only once and then forgets them.
func (l *localMatch) claimRecipients(v View) (d personalRecipients) {
	if !l.hasPersonalRecipients(v) {
		return personalRecipients{}
	}
	d.players = slices.Collect(maps.Keys(l.playerSessions()))
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, player := range d.players {
		if _, ok := l.records.byPlayer[player]; !ok || l.records.question != v.Question {
			return d
		}
	}
	d.records, l.records = l.records, acceptedRecords{}
	return d
}

// isOutdated reports whether the records belong to another question than the
// view.
func (d personalRecipients) isOutdated(v View) bool {
	return d.records.byPlayer != nil && d.records.question != v.Question
}

// storeRecord keeps the record of an answer accepted at this node, if its player
// will get a personal result. The caller holds mu.
func (l *localMatch) keepRecord(r Record) {
	if l.state.Players <= FullView || len(l.subs) > personalChunk || r.Question < l.records.question {
		return
	}
	if l.records.byPlayer == nil || r.Question > l.records.question {
		l.records = acceptedRecords{question: r.Question, byPlayer: make(map[string]Record, len(l.subs))}
	}
	l.records.byPlayer[r.Player] = r
}

// addPersonal adds the personal results that belong to the reveal just added.
// They come from the view of the step, except for records that the recipients
// carry.
func (d *delivery) addPersonal(p *Plan, v View, recipients personalRecipients) {
	if len(recipients.players) == 0 {
		return
	}
	if recipients.records.byPlayer != nil {
		v.Records = recipients.records.byPlayer
	}
	v.State = *d.state
	d.personal = personalResults{question: v.Question, position: len(d.frames.bytes), byPlayer: make(map[string][]byte, len(recipients.players))}
	for _, player := range recipients.players {
		d.personal.byPlayer[player] = protocol.EncodePush(protocol.TypeOwn, personalView(p, v, player))
	}
}

// includesPersonalResults reports whether the delivery contains the personal results
// of the last reveal, or the match is too small to have any.
func (d *delivery) hasPersonalFor(v View) bool {
	return v.Players <= FullView || d.personal.byPlayer != nil
}

// claimPersonal returns the personal results that were not sent yet. If they
// leave out a local player, it returns none, and schedulePersonal sends all of
// them separately. The caller holds mu.
func (l *localMatch) claimPersonal(o personalResults) personalResults {
	if o.byPlayer == nil || l.personalQuestion >= o.question {
		return personalResults{}
	}
	for player := range l.subs {
		if _, listed := o.byPlayer[player]; !listed && l.members[player].Role == AsPlayer {
			return personalResults{}
		}
	}
	l.personalQuestion = o.question
	return o
}

// schedulePersonal sends the personal results of a revealed question in a large
// match, unless they were sent with the reveal.
func (e *Engine) schedulePersonal(l *localMatch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.state
	if s.Players <= FullView || s.Phase != Revealed && !s.Phase.hasEnded() || l.isAbandoned() || l.personalQuestion >= s.Question {
		return
	}
	l.personalQuestion = s.Question
	e.Wheel.After(0, func() {
		e.sendPersonal(l, s.Question, slices.Collect(maps.Keys(l.playerSessions())), personalTries)
	})
}

// sendPersonal reads the personal results of players in chunks and pushes them.
// After an error it continues with the rest after storeRetryDelay.
func (e *Engine) sendPersonal(l *localMatch, question int, players []string, tries int) {
	for len(players) > 0 {
		chunk := players[:min(personalChunk, len(players))]
		v, err := e.readPersonal(l, chunk)
		switch {
		case err != nil && tries > 1:
			e.Wheel.After(retryAfter, func() { e.sendPersonal(l, question, players, tries-1) })
			return
		case err != nil:
			e.Logger.Warn("personal results not sent; players get them with match.state", "match", l.plan.ID, "players", len(players), "error", err)
			return
		case v.Question != question:
			e.metrics.personalSkipped.Inc()
			return
		}
		sessions := l.playerSessions()
		for _, player := range chunk {
			if sub, ok := sessions[player]; ok {
				sub.Push(l.plan.ID, protocol.EncodePush(protocol.TypeOwn, personalView(l.plan, v, player)))
			}
		}
		players = players[len(chunk):]
	}
}

func (e *Engine) readPersonal(l *localMatch, players []string) (View, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	return e.Store.Read(ctx, ReadQuery{Match: l.plan.ID, Players: players, WantRanks: true, After: -1, SeenVersion: l.knownVersion()})
}
