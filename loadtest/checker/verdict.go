package checker

import (
	"encoding/json"
	"fmt"

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
	case sent != nil && sent.accepted != nil:
		return r.accept(sent.accepted, sent.reply.ElapsedMS)
	case sent == nil && hasSeenAll, sent != nil && sent.isLate && !r.isExtended():
		return verdict{}
	case sent != nil && hasSeenAll && !sent.isUnsure && !sent.isLate: // the server never accepted it
		return verdict{}
	}
	published := j.published(r, p)
	for _, result := range published {
		if result.ElapsedMS == nil {
			continue
		}
		if sent != nil && !sent.has(result.Given) {
			j.violation("question %d: %s sent %s, and %s counts", r.asked.Question, p.player, sent.sent, result.Given)
		}
		return r.accept(result.Given, *result.ElapsedMS)
	}
	return verdict{isUnsure: len(published) == 0}
}

func (r *round) accept(given json.RawMessage, elapsedMS int64) verdict {
	return verdict{isAccepted: true, isCorrect: r.right.IsCorrect(given), given: given, elapsedMS: elapsedMS}
}

// published returns the player's results that the server sent to all players and to this
// player alone.
func (j *judgement) published(r *round, p *part) (all []protocol.QuestionResult) {
	for _, result := range r.closed.Results {
		if result.Player == p.player {
			all = append(all, result)
		}
	}
	if o, ok := p.own[r.asked.Question]; ok {
		all = append(all, protocol.QuestionResult{
			Player: p.player, Given: o.Given, Correct: o.Correct, ElapsedMS: o.ElapsedMS, Points: o.Points, Score: o.Score, Out: o.Out,
		})
	}
	return all
}

// checkTimes checks the stamp and the time of an accepted answer.
func (j *judgement) checkTimes(r *round, p *part) {
	sent := p.answers[r.asked.Question]
	if sent == nil || sent.accepted == nil {
		return
	}
	if at, closesAt := sent.reply.At, r.closesAtFor(p.extra); at > closesAt || sent.reply.ElapsedMS != elapsedMS(r.asked, at, p.extra) {
		j.violation("question %d from %d to %d: an answer got %s", r.asked.Question, r.asked.OpensAt, closesAt, sent.replyData)
	}
	if r.asked.ReadsUntil != nil && sent.reply.At < *r.asked.ReadsUntil {
		j.violation("question %d has a reading time up to %d, and an answer got %s", r.asked.Question, *r.asked.ReadsUntil, sent.replyData)
	}
	if sent.isEarly && sent.reply.At < r.asked.OpensAt {
		j.violation("question %d opened at %d, and an answer before that got %s", r.asked.Question, r.asked.OpensAt, sent.replyData)
	}
	if sent.isLate && !r.isExtended() {
		j.violation("question %d was closed to an answer that got %s", r.asked.Question, sent.replyData)
	}
}

// maxEarlyMS is how far the stamp of an answer may lie before the opening, because the
// clocks of two nodes differ.
const maxEarlyMS = 50

// elapsedMS returns the elapsed_ms of an accepted answer from its stamp. It is 0 for a
// stamp up to maxEarlyMS before the opening, and the limit for an earlier stamp. With extra
// time, in percent, it is scaled to the limit of the others.
func elapsedMS(q protocol.Question, at, extra int64) int64 {
	if at < q.OpensAt-maxEarlyMS {
		return q.ClosesAt - readsUntil(q)
	}
	return max(at-readsUntil(q), 0) * 100 / (100 + extra)
}

// verdictCounts sums up the verdicts on a question.
type verdictCounts struct {
	players, accepted, right int64
	newestMS                 int64 // elapsed time of the last answer
	isUnsure                 bool
}

func countVerdicts(verdicts map[string]verdict) (t verdictCounts) {
	for _, v := range verdicts {
		t.players++
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

// maxFullView is the largest match in which the server sends every result to every
// player.
const maxFullView = 50

// judgement compares one match with the rules.
type judgement struct {
	*match
	checker   *Checker
	firsts    map[string]int64 // by team: questions that a player of the team answered first
	lateMS    []int64          // see Summary
	isPartial bool             // some players are unknown
}

func (j *judgement) violation(format string, args ...any) {
	j.checker.Violations.Add("%s (%s): %s", j.id, j.log.found.Mode, fmt.Sprintf(format, args...))
}

// isUnsure reports whether something about a player is unknown.
func (j *judgement) isUnsure() bool {
	for _, t := range j.final {
		if t.isUnsure {
			return true
		}
	}
	return j.isPartial
}

// maxClockSkewMS is how far the clocks of two nodes may differ.
const maxClockSkewMS = 100

// lastClosesAt is when a question had to close at the latest, for the players still in. One
// who has left without a trace counts as without extra time.
func (j *judgement) lastClosesAt(r *round, verdicts map[string]verdict) int64 {
	extra := int64(0)
	for player := range verdicts {
		if !j.checker.Leavers {
			extra = max(extra, j.parts[player].extra)
		}
	}
	return r.closesAtFor(extra)
}
