package checker

import "slices"

// maxFullView is the largest match in which the server sends every result to every
// player.
const maxFullView = 50

func (j *judgement) checkCounts(r *round, t verdictCounts, players int64) {
	j.failRoundIf(r.closed.Answered != t.accepted || r.closed.Right != t.right, r,
		"%d answers were accepted and %d right, and its close says %d and %d", t.accepted, t.right, r.closed.Answered, r.closed.Right)
	j.failRoundIf(r.closed.Reason == "all_answered" && t.accepted != players, r,
		"it was closed by all_answered when %d of %d had answered", t.accepted, players)
	j.failRoundIf(j.log.found.Players <= maxFullView && int64(len(r.closed.Results)) != players, r,
		"its close names %d of %d players", len(r.closed.Results), players)
}

// checkChoices checks how many players of an arena chose each choice.
func (j *judgement) checkChoices(r *round, verdicts map[string]verdict) {
	if j.log.found.ArenaID == "" || len(r.asked.Choices) == 0 {
		return
	}
	var want []int64 // nil if nobody answered
	for _, v := range verdicts {
		if v.isAccepted && want == nil {
			want = make([]int64, len(r.asked.Choices))
		}
		for _, choice := range v.choices() {
			want[choice]++
		}
	}
	j.failRoundIf(!slices.Equal(r.closed.Counts, want), r, "its choices were made %d times, and its close says %d", want, r.closed.Counts)
}

// checkFirst checks which player the server named as first. In a buzzer match this is
// exactly the player whose answer was right.
func (j *judgement) checkFirst(r *round, verdicts map[string]verdict) {
	first, isBuzzer := r.closed.First, j.log.found.Mode == "buzzer"
	if first != nil {
		j.firsts[first.Team]++
	}
	j.failRoundIf((first != nil) != (r.closed.Reason == "first_correct") || first != nil && !isBuzzer, r,
		"it was closed by %s, and its first is %+v", r.closed.Reason, first)
	if !isBuzzer {
		return
	}
	for player, v := range verdicts {
		isFirst := first != nil && first.Player == player
		j.failRoundIf(!v.isUnsure && v.isCorrect != isFirst, r, "%s was right: %t, and is the first: %t", player, v.isCorrect, isFirst)
		if sent := j.parts[player].answers[r.asked.Question]; sent.isAccepted() {
			correct, named := sent.reply.Correct, sent.reply.First
			j.failRoundIf(correct == nil || named == nil || *correct != v.isCorrect || *named != isFirst, r,
				"%s was right: %t, is the first: %t, and got %s", player, v.isCorrect, isFirst, sent.replyData)
		}
	}
}

// score adds a question to the totals of a player, and compares the player's results
// with them.
func (j *judgement) score(r *round, t *totals, v verdict) {
	points := int64(0)
	if !r.closed.Void {
		points = v.addTo(t, j.log.found, r)
		t.isOut = j.log.found.Mode == "survival" && !v.isCorrect && !v.isUnsure
	}
	if v.isCorrect {
		t.lastRight = r.asked.Question
	}
	if t.isUnsure {
		return
	}
	want := result{given: "null", correct: v.isCorrect, elapsedMS: noAnswer, points: points}
	if v.isAccepted {
		want.given, want.elapsedMS = string(v.given), v.elapsedMS
	}
	if j.checker.KeepAnswers {
		if t.answers == nil {
			t.answers = make(map[int]result)
		}
		t.answers[r.asked.Question] = want
	}
	want.score, want.isOut = t.Score, t.isOut
	for _, shown := range j.published(r, j.parts[t.player]) {
		got := newResult(shown)
		j.failRoundIf(got != want, r, "the server says %s: %+v, and it is %+v", t.player, got, want)
	}
}

// maxEarlyMS is how far the stamp of an answer may lie before the opening, because the
// clocks of two nodes differ. maxClockSkewMS is how far they may differ.
const (
	maxEarlyMS     = 50
	maxClockSkewMS = 100
)

// checkTimes checks the stamp and the time of an accepted answer.
func (j *judgement) checkTimes(r *round, p *part) {
	sent := p.answers[r.asked.Question]
	if !sent.isAccepted() {
		return
	}
	at, closesAt := sent.reply.At, r.closesAtFor(p.extra)
	j.failRoundIf(at > closesAt || sent.reply.ElapsedMS != r.elapsedMS(at, p.extra), r, "open from %d to %d: an answer got %s", r.asked.OpensAt, closesAt, sent.replyData)
	j.failRoundIf(r.asked.ReadsUntil != nil && at < r.readsUntil(), r, "it has a reading time up to %d, and an answer got %s", r.readsUntil(), sent.replyData)
	j.failRoundIf(sent.isEarly && at < r.asked.OpensAt, r, "it opened at %d, and an answer before that got %s", r.asked.OpensAt, sent.replyData)
	j.failRoundIf(sent.isLate && !r.isExtended(), r, "it was closed to an answer that got %s", sent.replyData)
}

// elapsedMS returns the elapsed_ms of an accepted answer from its stamp. It is 0 for a
// stamp up to maxEarlyMS before the opening, and the limit for an earlier stamp. With extra
// time, in percent, it is scaled to the limit of the others.
func (r *round) elapsedMS(at, extra int64) int64 {
	if at < r.asked.OpensAt-maxEarlyMS {
		return r.limitMS()
	}
	return max(at-r.readsUntil(), 0) * 100 / (100 + extra)
}

// choices returns the chosen choices.
func (v verdict) choices() []int {
	g := decodeGiven(v.given)
	if g.Choice != nil {
		return []int{*g.Choice}
	}
	return g.Choices
}
