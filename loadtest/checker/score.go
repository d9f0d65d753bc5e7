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

// maxNamed is how many players of a larger match the pushes to every player name.
const maxNamed = 10

func (j *judgement) end() {
	over := j.log.over
	rank(j.log.found.Mode, j.final)
	if over.Reason != "finished" {
		j.endEarly()
		return
	}
	if n := len(j.log.rounds); n > 0 && j.log.rounds[n-1].closed == nil {
		j.violation("it ended while question %d was open", n-1)
	}
	j.checkLength()
	want := j.log.found.Players
	if want > maxFullView {
		want = maxNamed
	}
	if len(over.Standings) != want {
		j.violation("its end names %d players, not %d", len(over.Standings), want)
	}
	for _, s := range over.Standings {
		t := j.final[s.Player]
		if t == nil && !j.isPartial || t != nil && !j.isUnsure() && s != t.standing(s) {
			j.violation("its end says %+v, and it is %+v", s, t)
		}
	}
	j.checkWinner()
}

// endEarly checks the scores of a match that a player left or that the server gave up.
// Ranks then depend on who left, which clients do not learn.
func (j *judgement) endEarly() {
	over := j.log.over
	if !j.checker.Leavers {
		j.violation("it ended as %s", over.Reason)
	}
	for _, s := range over.Standings {
		if t := j.final[s.Player]; t != nil && !t.isUnsure && s.Score != t.Score {
			j.violation("it ended as %s, and its end says %+v, and it is %+v", over.Reason, s, t)
		}
	}
	for _, t := range j.final {
		t.isUnsure = true
	}
}

// checkLength checks that all questions were asked. A survival match may end when one
// player is left.
func (j *judgement) checkLength() {
	alive := 0
	for _, t := range j.final {
		if !t.isOut {
			alive++
		}
	}
	n, isSurvival := len(j.log.rounds), j.log.found.Mode == "survival"
	if n < j.log.found.Questions && (!isSurvival || alive > 1 && !j.isUnsure()) {
		j.violation("it ended after %d of %d questions with %d players in it", n, j.log.found.Questions, alive)
	}
}

// checkWinner checks the winner and the teams. Without exactly one leader there is no
// winner.
func (j *judgement) checkWinner() {
	var leaders []string
	for _, s := range j.log.over.Standings {
		if s.Rank == 1 {
			leaders = append(leaders, s.Player)
		}
	}
	switch {
	case len(j.log.found.Teams) > 0 && j.log.found.Mode == "race" && (j.isUnsure() || j.log.found.Players > maxFullView):
		return // the points of a team are unknown
	case len(j.log.found.Teams) > 0:
		leaders = j.checkTeams()
	}
	want := ""
	if len(leaders) == 1 {
		want = leaders[0]
	}
	if j.log.over.Winner != want {
		j.violation("its winner is %q, and the leaders are %q", j.log.over.Winner, leaders)
	}
}

// checkTeams checks the scores and ranks of the teams, and returns those at rank 1.
func (j *judgement) checkTeams() (leaders []string) {
	if len(j.log.over.Teams) != len(j.log.found.Teams) {
		j.violation("it ends with the teams %+v", j.log.over.Teams)
	}
	scores := j.firsts
	if j.log.found.Mode == "race" {
		scores = j.sums
		for _, s := range j.log.over.Standings {
			scores[s.Team] += j.final[s.Player].Score
		}
	}
	for _, t := range j.log.over.Teams {
		rank := 1
		for _, other := range j.log.found.Teams {
			if scores[other.ID] > scores[t.ID] {
				rank++
			}
		}
		if t.Score != scores[t.ID] || t.Rank != rank {
			j.violation("its end says %+v of a team with %d points, at rank %d", t, scores[t.ID], rank)
		}
		if rank == 1 {
			leaders = append(leaders, t.ID)
		}
	}
	slices.Sort(leaders)
	return leaders
}
