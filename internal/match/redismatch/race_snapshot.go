package redismatch

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
	"laststand/internal/redisx"
)

// raceSnapshot is the part of a match that decides a race. It is read in one round
// trip under WATCH.
type raceSnapshot struct {
	state       match.State
	firstFlag   string // "1" while nobody has answered right
	record      string // the player's accepted answer, JSON
	sums        match.Totals
	hasSeat     bool
	written     int64         // version after the newest write of the attempt's node
	lockoutLeft time.Duration // remaining lockout of the team
	ttl         time.Duration // remaining time to live of the match
}

func (r *race) readSnapshot(ctx context.Context, tx *redis.Tx) (raceSnapshot, error) {
	k, rec := r.keys, r.Record
	var first, record, sums, left *redis.StringCmd
	var seated *redis.BoolCmd
	var lockoutLeft, ttl *redis.DurationCmd
	var hash *redis.SliceCmd
	_, err := tx.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		hash = pipe.HMGet(ctx, k.match(), append(snapshotFields, writtenField(r.Seen.Node))...)
		first = pipe.Get(ctx, k.first(rec.Question))
		record = pipe.HGet(ctx, k.answers(), answerField(rec.Question, rec.Player))
		seated, left = pipe.HExists(ctx, k.seats(), rec.Player), pipe.HGet(ctx, k.totals(), leftField(rec.Player))
		sums = pipe.HGet(ctx, k.totals(), rec.Player)
		lockoutLeft, ttl = pipe.PTTL(ctx, r.lockout()), pipe.PTTL(ctx, k.match())
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return raceSnapshot{}, err
	}
	snap := raceSnapshot{
		firstFlag: first.Val(), record: record.Val(), hasSeat: seated.Val(),
		sums:        decodeTotals(sums.Val(), left.Val()),
		lockoutLeft: lockoutLeft.Val(), ttl: ttl.Val(),
	}
	found, values := make(fields, len(snapshotFields)), redisx.Reply(hash.Val())
	for i, name := range snapshotFields {
		found[name] = values.Text(i)
	}
	snap.written = values.Number(len(snapshotFields))
	snap.state, err = found.decodeState()
	return snap, err
}

// snapshotFields are the fields of the match that a race needs.
var snapshotFields = []string{"phase", "question", "opens_at", "closes_at", "answered", "alive", "version"}

// decideOutcome returns the outcome of a race. The checks have the same order as in
// accept_answers.lua. VerdictAccepted means that the attempt may be
// committed as first, or that this attempt is already committed.
func (r *race) decideOutcome(snap raceSnapshot) (match.Outcome, error) {
	state, record := snap.state, r.Record
	switch {
	case state.Phase == "":
		return match.Outcome{Verdict: match.VerdictGone}, nil
	case state.Version < r.Seen.Version || snap.written < r.Seen.Written:
		return match.Outcome{}, match.ErrAbandoned
	case attemptID(snap.record) == r.ID:
		return snap.existingOutcome(match.VerdictAccepted)
	case !snap.hasSeat || snap.sums.HasLeft:
		return match.Outcome{Verdict: match.VerdictGone}, nil
	case record.Question > state.Question:
		return match.Outcome{Verdict: match.VerdictEarly}, nil
	case snap.record != "" && !isRefusal(snap.record):
		return snap.existingOutcome(match.VerdictDuplicate)
	case snap.firstFlag != "1" || state.Phase != match.PhaseOpen || state.Question != record.Question || record.ArrivedAt > state.ClosesAt || snap.record == refusal(state.ClosesAt):
		return match.Outcome{Verdict: match.VerdictLate}, nil
	case state.OpensAt != r.OpensAt:
		return match.Outcome{Verdict: match.VerdictStale}, nil
	case snap.lockoutLeft > 0:
		return match.Outcome{Verdict: match.VerdictLockedOut, RetryMS: snap.lockoutLeft.Milliseconds()}, nil
	}
	return match.Outcome{Verdict: match.VerdictAccepted}, nil
}

// existingOutcome is the outcome if the player's answer exists already.
func (snap raceSnapshot) existingOutcome(verdict match.Verdict) (match.Outcome, error) {
	outcome := match.Outcome{
		Verdict: verdict, Sealed: verdict == match.VerdictAccepted,
		Answered: snap.state.Answered, Alive: snap.state.Alive, Version: snap.state.Version,
	}
	var err error
	outcome.Record, err = decodeRecord(snap.record)
	return outcome, err
}
