package redismatch

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
	"laststand/internal/redisx"
)

// Answers stores the answers of players. It implements match.AnswerStore.
type Answers struct {
	connection
	batcher       batcher
	hasReplicas   func() bool
	onUnconfirmed func()
}

func newAnswers(c connection) *Answers {
	as := &Answers{connection: c, hasReplicas: func() bool { return false }}
	as.batcher = batcher{sendAttempts: as.commitBatch, pending: make(map[string][]*pendingAttempt)}
	return as
}

// ConfirmByReplica makes the store announce a first right answer only after a replica has
// it, while hasReplicas returns true. If no replica confirms in time, the answer is
// announced anyway and onUnconfirmed is called. Call it before the first answer.
func (as *Answers) ConfirmByReplica(hasReplicas func() bool, onUnconfirmed func()) {
	as.hasReplicas, as.onUnconfirmed = hasReplicas, onUnconfirmed
}

// Commit accepts or refuses an answer, see match.AnswerStore. Concurrent answers to one match at this node
// share a script, see batcher.
func (as *Answers) Commit(ctx context.Context, attempt match.Attempt) (match.Outcome, error) {
	outcome, err := as.batcher.commit(ctx, &attempt)
	if err != nil && !errors.Is(err, match.ErrAbandoned) {
		err = wrap("commit to", attempt.Match, err)
	}
	return outcome, err
}

// commitBatch judges attempts of one match, each of another player, with one
// script.
func (as *Answers) commitBatch(ctx context.Context, all []*pendingAttempt) error {
	a := all[0]
	width := commonArgCount + len(modeArgs(a.Attempt))
	seen := a.Seen
	for _, a := range all {
		seen.Version, seen.Written = max(seen.Version, a.Seen.Version), max(seen.Written, a.Seen.Written)
	}
	k, args := newKeys(a.Match), append(make([]any, 0, 7+len(all)*width), a.Match, string(a.Mode), guardTTLMS, seen.Version, seen.Node, seen.Written, width)
	keyNames := append(make([]string, 0, 7+2*len(all)), k.match(), k.answers(), k.totals(), k.seats(), k.due(), k.seq())
	keyNames = append(keyNames, k.modeKeys(all)...)
	for _, a := range all {
		record := &a.Record
		args = append(args, a.ID, record.Player, record.Question, record.ArrivedAt, a.OpensAt, encodeRecord(a.ID, *record), record.Points, boolArg(record.Correct), record.SavedMS, a.Streak, countedValue(a.Attempt))
		args = append(args, modeArgs(a.Attempt)...)
	}
	reply, err := acceptAnswersScript.Run(ctx, as.scripts, keyNames, args...).Slice()
	if err != nil {
		return err
	}
	return setOutcomes(reply, all)
}

// commonArgCount is how many ARGV each attempt has in every mode.
const commonArgCount = 11

// countedValue is what the script counts of an answer: in arenas the normal form.
func countedValue(attempt *match.Attempt) string {
	if attempt.Mode == match.Duel {
		return ""
	}
	return attempt.Record.Normalized
}

// modeKeys are the KEYS that only one mode has.
func (k keys) modeKeys(all []*pendingAttempt) []string {
	switch all[0].Mode {
	case match.Survival, match.Race:
		return []string{k.counts(), k.rank(), k.top(), k.teams()}
	case match.Buzzer:
		names, guards := []string{k.counts()}, make([]string, len(all))
		for i, pending := range all {
			names = append(names, k.lockout(pending.Record.Question, pending.Seat.Team))
			guards[i] = k.guard(pending.Record.Player)
		}
		return append(names, guards...)
	}
	return []string{k.log()}
}

// modeArgs returns the ARGV of an attempt that only its mode has: the same number for
// each attempt of a mode.
func modeArgs(attempt *match.Attempt) []any {
	switch {
	case attempt.Mode == match.Survival || attempt.Mode == match.Race:
		return []any{attempt.Seat.Team, attempt.ExtraMS}
	case attempt.Mode == match.Buzzer:
		return []any{lockoutMS(attempt)}
	case attempt.Push == nil:
		return []any{"", ""}
	}
	return []any{attempt.Push.Head, attempt.Push.Tail}
}

// lockoutMS is how long a wrong answer locks its team out. It is 0 for a player
// without a team.
func lockoutMS(attempt *match.Attempt) int64 {
	if attempt.Seat.Team == "" {
		return 0
	}
	return attempt.LockoutMS
}

// setOutcomes decodes the reply of accept_answers.lua and sets the outcome of each
// attempt.
func setOutcomes(reply redisx.Reply, all []*pendingAttempt) error {
	switch reply.Text(0) {
	case replyAbandoned:
		return match.ErrAbandoned
	case string(match.VerdictGone):
		for _, pending := range all {
			pending.outcome.Verdict = match.VerdictGone
		}
		return nil
	}
	records, totals, err := decodeAllAnswers(reply.List(4), reply.Texts(5))
	if err != nil {
		return err
	}
	for i, pending := range all {
		if err := pending.setOutcome(reply, 6+i); err != nil {
			return err
		}
		if outcome := &pending.outcome; outcome.Verdict == match.VerdictAccepted {
			outcome.Totals = totals
			if outcome.Answered >= outcome.Alive {
				outcome.Records = records
			}
		}
	}
	return nil
}

// decodeAllAnswers decodes the totals of a duel, and its records if it has all answers.
func decodeAllAnswers(playersAndSums redisx.Reply, all []string) (records map[string]match.Record, totals map[string]match.Totals, err error) {
	if len(playersAndSums) == 0 {
		return nil, nil, nil
	}
	totals = make(map[string]match.Totals, len(playersAndSums)/2)
	for player, sums := range decodeFields(playersAndSums) {
		totals[player] = decodeTotals(sums, "")
	}
	if len(all) > 0 {
		records = make(map[string]match.Record, len(all))
	}
	for _, raw := range all {
		record, err := decodeRecord(raw)
		if err != nil {
			return nil, nil, fmt.Errorf("record: %w", err)
		}
		records[record.Player] = record
	}
	return records, totals, nil
}

// setOutcome reads the outcome of one attempt.
func (p *pendingAttempt) setOutcome(reply redisx.Reply, i int) (err error) {
	outcome := &p.outcome
	fields := reply.List(i)
	if fields == nil {
		outcome.Verdict, outcome.Answered = match.VerdictAccepted, reply.Number(i)
	} else {
		outcome.Verdict, outcome.RetryMS, outcome.Answered, outcome.Seq = match.Verdict(fields.Text(0)), fields.Number(2), fields.Number(3), fields.Number(4)
	}
	switch record := fields.Text(1); {
	case record != "":
		if outcome.Record, err = decodeRecord(record); err != nil {
			return fmt.Errorf("outcome: %w", err)
		}
	case outcome.Verdict == match.VerdictAccepted:
		outcome.Record, outcome.IsNew = p.Record, true
	}
	if outcome.Verdict == match.VerdictAccepted || outcome.Verdict == match.VerdictDuplicate {
		outcome.Alive, outcome.Version, outcome.Nodes = reply.Number(1), reply.Number(2), splitNodes(reply.Text(3))
	}
	return nil
}

// replyAbandoned is the reply of scripts if the stored version is lower than the seen one,
// or if a write of the node is missing.
const replyAbandoned = "abandoned"

// Record returns a player's accepted answer to a question, see match.AnswerStore.
func (as *Answers) Record(ctx context.Context, id, player string, question int) (match.Record, bool, error) {
	raw, err := findRecordScript.Run(ctx, as.scripts, []string{newKeys(id).answers()}, answerField(question, player)).Text()
	if errors.Is(err, redis.Nil) || isRefusal(raw) {
		return match.Record{}, false, nil
	}
	if err != nil {
		return match.Record{}, false, wrap("record of", id, err)
	}
	record, err := decodeRecord(raw)
	return record, err == nil, wrap("record of", id, err)
}

func answerField(question int, player string) string { return strconv.Itoa(question) + "|" + player }
