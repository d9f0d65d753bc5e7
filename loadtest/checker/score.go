package checker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"laststand/internal/protocol"
)

// checkFirst checks which player the server named as first. In a buzzer match this is
// exactly the player whose answer was right.
func (j *judgement) checkFirst(r *round, verdicts map[string]verdict) {
	first := r.closed.First
	if first != nil {
		j.firsts[first.Team]++
	}
	if (first != nil) != (r.closed.Reason == "first_correct") || first != nil && j.log.found.Mode != "buzzer" {
		j.violation("question %d was closed by %s, and its first is %+v", r.asked.Question, r.closed.Reason, first)
	}
	if j.log.found.Mode != "buzzer" {
		return
	}
	for player, v := range verdicts {
		isFirst := first != nil && first.Player == player
		if !v.isUnsure && v.isCorrect != isFirst {
			j.violation("question %d: %s was right: %t, and is the first: %t", r.asked.Question, player, v.isCorrect, isFirst)
		}
		sent := j.parts[player].answers[r.asked.Question]
		if sent == nil || sent.accepted == nil {
			continue
		}
		if correct, named := sent.reply.Correct, sent.reply.First; correct == nil || named == nil || *correct != v.isCorrect || *named != isFirst {
			j.violation("question %d: %s was right: %t, is the first: %t, and got %s", r.asked.Question, player, v.isCorrect, isFirst, sent.replyData)
		}
	}
}

// checkVoid checks that a question of a survival match is void if no player survives it,
// and only then.
func (j *judgement) checkVoid(r *round, verdicts map[string]verdict) {
	t := countVerdicts(verdicts)
	survives := j.log.found.Mode != "survival" || t.right > 0
	if r.closed.Void == survives && (survives || !t.isUnsure && !j.isPartial) {
		j.violation("question %d: somebody survives: %t, void: %t", r.asked.Question, survives, r.closed.Void)
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
	want := protocol.QuestionResult{Player: t.player, Given: v.given, Correct: v.isCorrect, Points: points, Score: t.Score, Out: t.isOut}
	if v.isAccepted {
		want.ElapsedMS = &v.elapsedMS
	}
	if j.checker.KeepAnswers {
		if t.answers == nil {
			t.answers = make(map[int]storedAnswer)
		}
		t.answers[r.asked.Question] = newStoredAnswer(want)
	}
	for _, shown := range j.published(r, j.parts[t.player]) {
		if !isSame(shown, want) {
			j.violation("question %d: the server says %s, and it is %s", r.asked.Question, describeResult(shown), describeResult(want))
		}
	}
}

func isSame(a, b protocol.QuestionResult) bool {
	if (a.ElapsedMS == nil) != (b.ElapsedMS == nil) || a.ElapsedMS != nil && (*a.ElapsedMS != *b.ElapsedMS || !bytes.Equal(a.Given, b.Given)) {
		return false
	}
	return a.Correct == b.Correct && a.Points == b.Points && a.Score == b.Score && a.Out == b.Out
}

func describeResult(r protocol.QuestionResult) string {
	elapsed := "none"
	if r.ElapsedMS != nil {
		elapsed = fmt.Sprint(*r.ElapsedMS, " ms")
	}
	return fmt.Sprintf("%s: given %s in %s, correct %t, points %d, score %d, out %t",
		r.Player, r.Given, elapsed, r.Correct, r.Points, r.Score, r.Out)
}

// addTo adds a question to the totals of its player, and returns its points.
func (v verdict) addTo(t *totals, found protocol.MatchFound, r *round) (points int64) {
	limitMS := r.limitMS()
	t.isUnsure = t.isUnsure || v.isUnsure
	t.Asked++
	if v.isAccepted {
		t.Answered++
	}
	points = v.points(t, found, r)
	t.Score += points
	if !v.isCorrect {
		t.TimeMS += limitMS
		t.rightInRow = 0
		return points
	}
	t.rightInRow++
	t.Correct++
	t.TimeMS += min(v.elapsedMS, limitMS)
	return points
}

// points returns the points of a verdict, by the scoring that the match told. t is the
// player before the answer.
func (v verdict) points(t *totals, found protocol.MatchFound, r *round) int64 {
	if !v.isAccepted || v.isUnsure {
		return 0
	}
	scoring := found.Scoring
	if found.Mode != "race" { // these modes have no choice
		scoring = protocol.Scoring{Preset: "speed", Points: 100}
	}
	if found.Mode == "buzzer" {
		scoring.Preset = "accuracy"
	}
	full := scoring.Points
	if limit := r.limitMS(); scoring.Preset == "speed" {
		full += scoring.Points * (limit - min(v.elapsedMS, limit)) / limit
	}
	factor := int64(1)
	if found.Mode == "race" {
		factor = r.asked.Points
	}
	if v.isCorrect {
		return factor * (full + scoring.Streak*min(t.rightInRow, 5))
	}
	if scoring.Partial {
		if part := full * r.right.net(v.given) / int64(max(len(r.right.Choices), 1)); part > 0 {
			return factor * part
		}
	}
	return -min(factor*scoring.Penalty, t.Score)
}

// net returns how many more right choices than wrong ones an answer has; 0 for other kinds.
func (r CorrectAnswer) net(given json.RawMessage) (net int64) {
	var g protocol.Given
	_ = json.Unmarshal(given, &g) // the server accepted it
	for _, choice := range g.Choices {
		if slices.Contains(r.Choices, choice) {
			net++
		} else {
			net--
		}
	}
	return max(net, 0)
}

// checkChoices checks how many players chose each choice.
func (j *judgement) checkChoices(r *round, verdicts map[string]verdict) {
	want := make([]int64, len(r.asked.Choices))
	answered := false
	for _, v := range verdicts {
		var g protocol.Given
		_ = json.Unmarshal(v.given, &g) // the server accepted it; nothing for no answer
		if g.Choice != nil {
			g.Choices = []int{*g.Choice}
		}
		for _, choice := range g.Choices {
			want[choice]++
		}
		answered = answered || v.isAccepted
	}
	if !answered {
		want = nil
	}
	if len(r.asked.Choices) > 0 && !slices.Equal(r.closed.Counts, want) {
		j.violation("question %d: its choices were made %d times, and its close says %d", r.asked.Question, want, r.closed.Counts)
	}
}
