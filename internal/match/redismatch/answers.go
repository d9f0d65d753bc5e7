package redismatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
	"laststand/internal/redisx"
)

// Answers stores the answers of the players of arenas. It implements match.AnswerStore.
type Answers struct {
	connection
	batchers      batchers
	hasReplicas   func() bool
	onUnconfirmed func()
}

func newAnswers(c connection) *Answers {
	as := &Answers{connection: c, hasReplicas: func() bool { return false }}
	as.batchers = batchers{send: as.commitBatch, byMatch: make(map[string]*matchBatcher)}
	return as
}

// ConfirmByReplica makes the store announce a first right answer only after a replica has
// it, while hasReplicas returns true. If no replica confirms in time, the answer is
// announced anyway and onUnconfirmed is called. Call it before the first answer.
func (as *Answers) ConfirmByReplica(hasReplicas func() bool, onUnconfirmed func()) {
	as.hasReplicas, as.onUnconfirmed = hasReplicas, onUnconfirmed
}

// Commit accepts or refuses an answer, see match.AnswerStore. Concurrent answers to one match at
// this node share a script, see batchers.
func (as *Answers) Commit(ctx context.Context, attempt match.Attempt) (match.Outcome, error) {
	outcome, err := as.batchers.commit(ctx, &attempt)
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
	keyNames := append(make([]string, 0, 7+2*len(all)), k.match(), k.answers(), k.totals(), k.seats(), k.due(), k.seq(), k.counts())
	keyNames = append(keyNames, k.modeKeys(all)...)
	for _, a := range all {
		record := &a.Record
		args = append(args, a.ID, record.Player, record.Question, record.ArrivedAt, a.OpensAt, encodeRecord(a.ID, *record), record.Points, boolArg(record.Correct), record.SavedMS, a.Streak, record.Normalized)
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

// modeKeys are the KEYS that only one mode has.
func (k keys) modeKeys(all []*pendingAttempt) []string {
	if all[0].Mode != match.Buzzer {
		return []string{k.rank(), k.top(), k.teams()}
	}
	lockouts, guards := make([]string, len(all)), make([]string, len(all))
	for i, pending := range all {
		lockouts[i], guards[i] = k.lockout(pending.Record.Question, pending.Seat.Team), k.guard(pending.Record.Player)
	}
	return slices.Concat(lockouts, guards)
}

// modeArgs returns the ARGV of an attempt that only its mode has: the same number for
// each attempt of a mode.
func modeArgs(attempt *match.Attempt) []any {
	if attempt.Mode == match.Buzzer {
		return []any{lockoutMS(attempt)}
	}
	return []any{attempt.Seat.Team, attempt.ExtraMS}
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
	for i, pending := range all {
		if err := pending.setOutcome(reply, 3+i); err != nil {
			return err
		}
	}
	return nil
}

// setOutcome reads the outcome of one attempt.
func (p *pendingAttempt) setOutcome(reply redisx.Reply, i int) (err error) {
	outcome := &p.outcome
	fields := reply.List(i)
	if fields == nil {
		outcome.Verdict, outcome.Answered = match.VerdictAccepted, reply.Number(i)
	} else {
		outcome.Verdict, outcome.RetryMS, outcome.Answered = match.Verdict(fields.Text(0)), fields.Number(2), fields.Number(3)
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
		outcome.Alive, outcome.Version = reply.Number(1), reply.Number(2)
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
