package match

import (
	"context"
	"maps"
	"slices"

	"laststand/internal/protocol"
)

const (
	// ownChunk is how many players are read at once to be told their own.
	personalChunk = 200
	// ownTries bounds how often a node reads them where the store fails.
	personalTries = 3
)

// personalResults are frames that tell players here what the question did to them that is
// revealed with them.
type personalResults struct {
	question int
	position int               // how many frames of the delivery come before them
	byPlayer map[string][]byte // by player
}

// acceptedRecords are those of a question, by player, as this node has accepted them.
type acceptedRecords struct {
	question int
	byPlayer map[string]Record
}

// personalRecipients are the players here who are to be told their own with the reveal that
// follows: none in a match of few, and none where there are so many that it
// would wait for them.
type personalRecipients struct {
	players []string
	records acceptedRecords // theirs, where this node has accepted all of them; else they are read
}

// hasPersonalRecipients says whether there are some, for what a view says.
func (l *localMatch) hasPersonalRecipients(v View) bool {
	if v.Phase != Sealed && !v.hasAllAnswers() || v.Players <= FullView {
		return false
	}
	here := len(l.playerSessions())
	return 0 < here && here <= personalChunk
}

// claimRecipients takes the debt over. The records of a question are given out once.
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

// isOutdated says whether a view is of another question than the records.
func (d personalRecipients) isOutdated(v View) bool {
	return d.records.byPlayer != nil && d.records.question != v.Question
}

// keepRecord keeps the record of an answer that was accepted here, where its player
// will be told their own with others. The caller holds mu.
func (l *localMatch) keepRecord(r Record) {
	if l.state.Players <= FullView || len(l.subs) > personalChunk || r.Question < l.records.question {
		return
	}
	if l.records.byPlayer == nil || r.Question > l.records.question {
		l.records = acceptedRecords{question: r.Question, byPlayer: make(map[string]Record, len(l.subs))}
	}
	l.records.byPlayer[r.Player] = r
}

// addPersonal adds what players are told of their own with the reveal that was just
// added; they are in the view that it was taken by, but for the records of a debt.
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

// hasPersonalFor says whether nobody is to be told their own aside between the last step
// and the next.
func (d *delivery) hasPersonalFor(v View) bool {
	return v.Players <= FullView || d.personal.byPlayer != nil
}

// claimPersonal are those that nobody has told yet. Where somebody is here whom they leave
// out all are told aside, by noteOwn. The caller holds mu.
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

// schedulePersonal has the players here of a match of many told what a question did to
// them, once it is revealed to them.
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

// sendPersonal reads what a question did to players, some at a time, and tells those
// who are here. Where that fails it goes on from there a little later.
func (e *Engine) sendPersonal(l *localMatch, question int, players []string, tries int) {
	for len(players) > 0 {
		chunk := players[:min(personalChunk, len(players))]
		v, err := e.readPersonal(l, chunk)
		switch {
		case err != nil && tries > 1:
			e.Wheel.After(retryAfter, func() { e.sendPersonal(l, question, players, tries-1) })
			return
		case err != nil:
			e.Logger.Warn("players could not be told their own; match.state says it", "match", l.plan.ID, "players", len(players), "error", err)
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
