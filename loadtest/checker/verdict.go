package checker

import (
	"cmp"
	"encoding/json"
	"slices"

	"laststand/internal/protocol"
)

// verdict is what is known about a player's answer to a question.
type verdict struct {
	isAccepted, isCorrect bool
	isUnsure              bool // nothing is known
	given                 json.RawMessage
	elapsedMS             int64
}

// verdict returns the verdict on a player's answer. The reply to the answer decides. If
// the reply is missing, because the server refused the answer for now or because the
// player is no client, the result that the server published decides.
func (j *judgement) verdict(r *round, p *part) verdict {
	sent := p.answers[r.asked.Question]
	hasSeenAll := p.isClient && p.hasEnded
	switch {
	case sent.isAccepted():
		return r.accept(sent.accepted, sent.reply.ElapsedMS)
	case sent == nil && hasSeenAll, sent != nil && sent.isLate && !r.isExtended():
		return verdict{}
	case sent != nil && hasSeenAll && !sent.isUnsure && !sent.isLate: // the server never accepted it
		return verdict{}
	}
	published := j.published(r, p)
	for _, shown := range published {
		if shown.ElapsedMS != nil {
			j.failRoundIf(sent != nil && !sent.has(shown.Given), r, "%s sent something else than %s, which counts", p.player, shown.Given)
			return r.accept(shown.Given, *shown.ElapsedMS)
		}
	}
	return verdict{isUnsure: len(published) == 0}
}

func (r *round) accept(given json.RawMessage, elapsedMS int64) verdict {
	return verdict{isAccepted: true, isCorrect: r.right.IsCorrect(given), given: given, elapsedMS: elapsedMS}
}

// published returns the player's results that the server sent to all players and to this
// player alone.
func (j *judgement) published(r *round, p *part) (all []protocol.QuestionResult) {
	for _, shown := range r.closed.Results {
		if shown.Player == p.player {
			all = append(all, shown)
		}
	}
	if o, ok := p.own[r.asked.Question]; ok {
		all = append(all, protocol.QuestionResult{Given: o.Given, Correct: o.Correct, ElapsedMS: o.ElapsedMS, Points: o.Points, Score: o.Score, Out: o.Out})
	}
	return all
}

// result is a player's result of a question in a form that can be compared. What is stored has
// neither a score nor isOut.
type result struct {
	given     string
	correct   bool
	elapsedMS int64 // or noAnswer
	points    int64
	score     int64
	isOut     bool
}

const noAnswer = -1

func newResult(r protocol.QuestionResult) result {
	elapsed := int64(noAnswer)
	return result{cmp.Or(string(r.Given), "null"), r.Correct, *cmp.Or(r.ElapsedMS, &elapsed), r.Points, r.Score, r.Out}
}

// verdictCounts sums up the verdicts on a question.
type verdictCounts struct {
	accepted, right int64
	newestMS        int64 // elapsed time of the last answer
	isUnsure        bool
}

func countVerdicts(verdicts map[string]verdict) (t verdictCounts) {
	for _, v := range verdicts {
		t.isUnsure = t.isUnsure || v.isUnsure
		if v.isAccepted {
			t.accepted++
			t.newestMS = max(t.newestMS, v.elapsedMS)
		}
		if v.isCorrect {
			t.right++
		}
	}
	return t
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
	scoring, factor := found.Scoring, r.asked.Points
	if found.Mode != "race" { // these modes have no choice
		scoring, factor = protocol.Scoring{Preset: "speed", Points: 100}, 1
	}
	if found.Mode == "buzzer" {
		scoring.Preset = "accuracy"
	}
	full := scoring.Points
	if limit := r.limitMS(); scoring.Preset == "speed" {
		full += scoring.Points * (limit - min(v.elapsedMS, limit)) / limit
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
	for _, choice := range decodeGiven(given).Choices {
		if slices.Contains(r.Choices, choice) {
			net++
		} else {
			net--
		}
	}
	return max(net, 0)
}

// decodeGiven decodes an answer that the server accepted; none is empty.
func decodeGiven(given json.RawMessage) (g protocol.Given) {
	_ = json.Unmarshal(given, &g)
	return g
}
