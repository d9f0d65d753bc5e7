package checker

import (
	"cmp"
	"slices"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// View is what one client sees of its matches, one match after another. It is not safe
// for concurrent use. Its methods return an error that wraps ErrContract if the
// server broke the contract.
type View struct {
	checker *Checker
	player  string // "" for a client that does not play

	match   *match // the current match, or the last one; nil before the first
	part    *part  // of the player in the match
	seq     int64  // number of the last push of the match
	asked   int    // questions of the match that were pushed
	isOver  bool   // match.over was pushed
	isOut   bool   // the player is eliminated
	isRated bool   // match.over has a rating for the player
}

// Player returns the view of a client that plays as the given player, or of one that does not play
// (""), such as a host.
func (c *Checker) Player(id string) *View { return &View{checker: c, player: id} }

// Match returns the id of the current match, or of the last one; "" before the first.
func (v *View) Match() string {
	if v.match == nil {
		return ""
	}
	return v.match.id
}

// Position returns the match that is being played and the number of its last push; "" and 0
// if none is.
func (v *View) Position() (match string, seq int64) {
	if !v.IsPlaying() {
		return "", 0
	}
	return v.match.id, v.seq
}

// Mode returns the mode of the match.
func (v *View) Mode() string {
	return locked(v.match, func(m *match) string { return m.log.found.Mode })
}

// IsPlaying reports whether a match has started and is not over.
func (v *View) IsPlaying() bool { return v.match != nil && !v.isOver }

// IsOut reports whether the server has told the player that it is eliminated.
func (v *View) IsOut() bool { return v.isOut }

// Question returns the newest question of the match, and its close, which is nil while
// the question is open.
func (v *View) Question() (protocol.Question, *protocol.QuestionClosed) { return v.Asked(v.asked - 1) }

// Asked returns a question of the match by its index, and its close; nil if it is open. Before
// the question was asked both are empty.
func (v *View) Asked(index int) (protocol.Question, *protocol.QuestionClosed) {
	v.match.mu.Lock()
	defer v.match.mu.Unlock()
	if r := v.match.log.round(index); r != nil {
		return r.asked, r.closed
	}
	return protocol.Question{}, nil
}

// Newest returns the newest push of the match that any client received.
func (v *View) Newest() []byte { return locked(v.match, func(m *match) []byte { return m.newest }) }

// Push takes a push or a match.state. The parameter at is the cluster time (ms) at which
// it came, at the latest; 0: unknown.
func (v *View) Push(f Frame, at int64) (err error) {
	defer testenv.Recover(&err)
	switch {
	case f.Seq > 0:
		v.takeNumbered(f, at)
	case f.Type == protocol.TypeOwn:
		v.takeOwn(f)
	case f.Type == protocol.TypeOwnDeadline:
		v.takeOwnDeadline(decode[protocol.OwnDeadline](f.Data), protocol.Question{})
	case f.Type == protocol.TypeSettled:
		v.takeSettled(f)
	case f.Type == protocol.TypeMatchState:
		v.takeState(decode[protocol.MatchState](f.Data))
	}
	return nil
}

func (v *View) takeNumbered(f Frame, at int64) {
	if f.Seq == 1 && !v.IsPlaying() {
		v.start(f.Match)
	}
	BreachIf(!v.IsPlaying() || f.Match != v.match.id || f.Seq != v.seq+1, "push %d of %s came after push %d of %q: %s", f.Seq, f.Match, v.seq, v.Match(), f.Raw)
	v.seq = f.Seq
	testenv.MustDo(v.match.push(f))
	switch f.Type {
	case protocol.TypeQuestion:
		v.asked++
		q, _ := v.Question()
		BreachIf(at != 0 && at < q.OpensAt-maxClockSkewMS, "%s: question %d opens at %d, and came at %d", v.match.id, q.Question, q.OpensAt, at)
	case protocol.TypeQuestionClosed:
		_, closed := v.Question()
		v.isOut = v.isOut || closed != nil && slices.ContainsFunc(closed.Results, func(r protocol.QuestionResult) bool { return r.Player == v.player && r.Out })
	case protocol.TypeMatchOver:
		over := decode[protocol.MatchOver](f.Data)
		v.isOver = true
		v.isRated = slices.ContainsFunc(over.Standings, func(s protocol.OverStanding) bool { return s.Player == v.player && s.Rating != nil })
	}
}

func (v *View) start(match string) {
	*v = View{checker: v.checker, player: v.player, match: v.checker.match(match)}
	if v.player != "" {
		v.part = v.match.part(v.player)
		v.part.isClient = true
	}
}

// Finish notes that the client has seen the end of its match and has no open request.
// When the clients of all players have finished, the match is judged.
func (v *View) Finish() {
	if v.part != nil && !v.part.hasEnded && v.match.finish(v.part) {
		v.checker.judge(v.match)
	}
}

// takeOwn takes the result that only this player receives.
func (v *View) takeOwn(f Frame) {
	own := decode[protocol.Own](f.Data)
	if v.part == nil || v.part.hasEnded || v.match.id != own.Match {
		return
	}
	q, _ := v.Asked(own.Question)
	BreachIf(q.Of == 0, "question %d of %s was not asked, and its player is told %s", own.Question, own.Match, f.Raw)
	v.part.own[own.Question] = own
	v.isOut = v.isOut || own.Out
}

// takeSettled checks that the final rating comes exactly if the match is rated.
func (v *View) takeSettled(f Frame) {
	s := decode[protocol.Settled](f.Data)
	BreachIf(v.isOver && s.Match == v.match.id && (s.Rating != nil) != v.isRated, "match.over has a rating: %t, and settled is %s", v.isRated, f.Raw)
}

// takeState compares the player's answer in a match.state with the reply to it. The state
// may hold an answer whose reply has not come yet.
func (v *View) takeState(s protocol.MatchState) {
	if s.OwnDeadline != nil {
		v.takeOwnDeadline(*s.OwnDeadline, *cmp.Or(s.Question, new(protocol.Question)))
	}
	if v.part == nil || s.Question == nil || v.isOver {
		return
	}
	sent := v.part.answers[s.Question.Question]
	BreachIf(sent == nil && s.YourAnswer != nil, "question %d of %s was not answered, and the state has %+v", s.Question.Question, v.match.id, s.YourAnswer)
	if sent.isAccepted() && (s.YourAnswer == nil || !sent.matches(*s.YourAnswer)) {
		BreachIf(true, "question %d of %s: the answer %s got %s, and the state has %+v", s.Question.Question, v.match.id, sent.accepted, sent.replyData, s.YourAnswer)
	}
}

// takeOwnDeadline takes the later close of a question that only a player with extra time
// receives. The extra time is the same in all questions. A state can come before pushes that it
// includes, so stated is its question; empty: own came alone, after its pushes.
func (v *View) takeOwnDeadline(own protocol.OwnDeadline, stated protocol.Question) {
	if v.match == nil || v.part != nil && (v.isOver || v.match.id != own.Match) {
		return
	}
	m := v.match
	BreachIf(v.part == nil, "a client that does not play %s is told %+v", m.id, own)
	BreachIf(!slices.Contains([]int64{25, 50, 100}, own.Extra) || v.part.extra != 0 && v.part.extra != own.Extra,
		"a player of %s with %d%% extra time is told %+v", m.id, v.part.extra, own)
	v.part.extra = own.Extra
	m.mu.Lock()
	defer m.mu.Unlock()
	m.extra = max(m.extra, own.Extra)
	r := m.log.round(own.Question)
	if r == nil {
		return
	}
	closesAt, latest := own.ClosesAt-r.limitMS()*own.Extra/100, cmp.Or(stated.ClosesAt, r.closesAt)
	BreachIf(closesAt < r.asked.ClosesAt || closesAt > latest, "question %d of %s closes at %d, and a player is told %+v", own.Question, m.id, latest, own)
}

// LastClosesAt is when a question of the match closes at the latest: for the player with the
// most extra time.
func (v *View) LastClosesAt(question int) int64 {
	return locked(v.match, func(m *match) int64 { return m.log.rounds[question].closesAtFor(m.extra) })
}
