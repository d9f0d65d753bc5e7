package match

import (
	"context"
	"maps"
	"slices"

	"laststand/internal/protocol"
)

const (
	// ownChunk is how many players are read at once to be told their own.
	ownChunk = 200
	// ownTries bounds how often a node reads them where the store fails.
	ownTries = 3
)

// owns are frames that tell players here what the question did to them that is
// revealed with them.
type owns struct {
	question int
	behind   int               // how many frames of the delivery come before them
	of       map[string][]byte // by player
}

// records are those of a question, by player, as this node has accepted them.
type records struct {
	question int
	of       map[string]Record
}

// debt are the players here who are to be told their own with the reveal that
// follows: none in a match of few, and none where there are so many that it
// would wait for them.
type debt struct {
	players []string
	records records // theirs, where this node has accepted all of them; else they are read
}

// owes says whether there are some, for what a view says.
func (l *live) owes(v View) bool {
	if v.Phase != Sealed && !v.allAnswered() || v.Players <= FullView {
		return false
	}
	here := len(l.playersHere())
	return 0 < here && here <= ownChunk
}

// owed takes the debt over. The records of a question are given out once.
func (l *live) owed(v View) (d debt) {
	if !l.owes(v) {
		return debt{}
	}
	d.players = slices.Collect(maps.Keys(l.playersHere()))
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, player := range d.players {
		if _, ok := l.records.of[player]; !ok || l.records.question != v.Question {
			return d
		}
	}
	d.records, l.records = l.records, records{}
	return d
}

// past says whether a view is of another question than the records.
func (d debt) past(v View) bool { return d.records.of != nil && d.records.question != v.Question }

// remember keeps the record of an answer that was accepted here, where its player
// will be told their own with others. The caller holds mu.
func (l *live) remember(r Record) {
	if l.state.Players <= FullView || len(l.subs) > ownChunk || r.Question < l.records.question {
		return
	}
	if l.records.of == nil || r.Question > l.records.question {
		l.records = records{question: r.Question, of: make(map[string]Record, len(l.subs))}
	}
	l.records.of[r.Player] = r
}

// reveal adds what players are told of their own with the reveal that was just
// added; they are in the view that it was taken by, but for the records of a debt.
func (d *delivery) reveal(p *Plan, v View, owed debt) {
	if len(owed.players) == 0 {
		return
	}
	if owed.records.of != nil {
		v.Records = owed.records.of
	}
	v.State = *d.state
	d.owns = owns{question: v.Question, behind: len(d.frames.bytes), of: make(map[string][]byte, len(owed.players))}
	for _, player := range owed.players {
		d.owns.of[player] = protocol.EncodePush(protocol.TypeOwn, ownView(p, v, player))
	}
}

// whole says whether nobody is to be told their own aside between the last step
// and the next.
func (d *delivery) whole(v View) bool { return v.Players <= FullView || d.owns.of != nil }

// due are those that nobody has told yet. Where somebody is here whom they leave
// out all are told aside, by noteOwn. The caller holds mu.
func (l *live) due(o owns) owns {
	if o.of == nil || l.own >= o.question {
		return owns{}
	}
	for player := range l.subs {
		if _, told := o.of[player]; !told && l.members[player].Role == AsPlayer {
			return owns{}
		}
	}
	l.own = o.question
	return o
}

// noteOwn has the players here of a match of many told what a question did to
// them, once it is revealed to them.
func (e *Engine) noteOwn(l *live) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.state
	if s.Players <= FullView || s.Phase != Revealed && !s.Phase.ended() || l.abandoned() || l.own >= s.Question {
		return
	}
	l.own = s.Question
	e.Wheel.After(0, func() {
		e.tellOwn(l, s.Question, slices.Collect(maps.Keys(l.playersHere())), ownTries)
	})
}

// tellOwn reads what a question did to players, some at a time, and tells those
// who are here. Where that fails it goes on from there a little later.
func (e *Engine) tellOwn(l *live, question int, players []string, tries int) {
	for len(players) > 0 {
		chunk := players[:min(ownChunk, len(players))]
		v, err := e.readOwn(l, chunk)
		switch {
		case err != nil && tries > 1:
			e.Wheel.After(retryAfter, func() { e.tellOwn(l, question, players, tries-1) })
			return
		case err != nil:
			e.Logger.Warn("players could not be told their own; match.state says it", "match", l.plan.ID, "players", len(players), "error", err)
			return
		case v.Question != question:
			e.metrics.unowned.Inc()
			return
		}
		here := l.playersHere()
		for _, player := range chunk {
			if sub, ok := here[player]; ok {
				sub.Push(l.plan.ID, protocol.EncodePush(protocol.TypeOwn, ownView(l.plan, v, player)))
			}
		}
		players = players[len(chunk):]
	}
}

func (e *Engine) readOwn(l *live, players []string) (View, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	return e.Store.Read(ctx, ReadQuery{Match: l.plan.ID, Players: players, Ranks: true, After: -1, Seen: l.seen()})
}
