package redismatch

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/lua"
	"laststand/internal/match"
)

// raceSnapshot is the part of a match that decides a race. It is read in one round
// trip under WATCH.
type snapshot struct {
	state       match.State
	first       string // "1" while nobody has answered right
	holder      string // id of the attempt that holds the player's lock
	record      string // the player's accepted answer, JSON
	sums        match.Totals
	seated      bool
	lockoutLeft time.Duration // remaining lockout of the team
	ttl         time.Duration // remaining time to live of the match
	nodes       []string
}

func (r *race) readSnapshot(ctx context.Context, tx *redis.Tx) (snapshot, error) {
	k, rec := r.keys, r.Record
	var first, holder, record, sums, left *redis.StringCmd
	var seated *redis.BoolCmd
	var lockoutLeft, ttl *redis.DurationCmd
	var hash *redis.SliceCmd
	var nodes *redis.StringSliceCmd
	_, err := tx.Pipelined(ctx, func(p redis.Pipeliner) error {
		hash = p.HMGet(ctx, k.match(), snapshotFields...)
		first, holder = p.Get(ctx, k.first(rec.Question)), p.Get(ctx, r.lock())
		record = p.HGet(ctx, k.answers(), answerField(rec.Question, rec.Player))
		seated, left = p.HExists(ctx, k.seats(), rec.Player), p.HGet(ctx, k.totals(), leftField(rec.Player))
		sums = p.HGet(ctx, k.totals(), rec.Player)
		lockoutLeft, ttl = p.PTTL(ctx, r.lockout()), p.PTTL(ctx, k.match())
		nodes = p.SMembers(ctx, k.nodes())
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return snapshot{}, err
	}
	l := snapshot{
		first: first.Val(), holder: holder.Val(), record: record.Val(), seated: seated.Val(),
		sums:        totalsOf(sums.Val(), left.Val()),
		lockoutLeft: lockoutLeft.Val(), ttl: ttl.Val(), nodes: nodes.Val(),
	}
	found, values := make(fields, len(snapshotFields)), lua.Reply(hash.Val())
	for i, name := range snapshotFields {
		found[name] = values.Text(i)
	}
	l.state, err = found.state()
	return l, err
}

// snapshotFields are the fields of the match that a race needs.
var snapshotFields = []string{"phase", "question", "opens_at", "closes_at", "answered", "alive", "version"}

// decide returns the outcome of a race. The checks have the same order as in
// judge_answers.lua. VerdictAccepted means that the attempt may be
// committed as first, or that this attempt is already committed.
func (r *race) decide(l snapshot) (match.Outcome, error) {
	s, rec := l.state, r.Record
	switch {
	case s.Phase == "":
		return match.Outcome{Verdict: match.Gone}, nil
	case s.Version < r.SeenVersion:
		return match.Outcome{}, match.ErrAbandoned
	case l.holder == r.ID:
		return l.existingOutcome(match.Accepted)
	case !l.seated || l.sums.Left:
		return match.Outcome{Verdict: match.Gone}, nil
	case rec.Question > s.Question:
		return match.Outcome{Verdict: match.Early}, nil
	case l.holder != "":
		return l.existingOutcome(match.Duplicate)
	case l.first != "1" || s.Phase != match.Open || s.Question != rec.Question || rec.At > s.ClosesAt:
		return match.Outcome{Verdict: match.Late}, nil
	case s.OpensAt != r.OpensAt:
		return match.Outcome{Verdict: match.Stale}, nil
	case l.lockoutLeft > 0:
		return match.Outcome{Verdict: match.LockedOut, RetryMS: l.lockoutLeft.Milliseconds()}, nil
	}
	return match.Outcome{Verdict: match.Accepted}, nil
}

// existingOutcome is the outcome if the player's answer exists already.
func (l snapshot) existingOutcome(v match.Verdict) (match.Outcome, error) {
	out := match.Outcome{
		Verdict: v, Sealed: v == match.Accepted,
		Answered: l.state.Answered, Alive: l.state.Alive, Version: l.state.Version, Nodes: l.nodes,
	}
	var err error
	out.Record, err = recordOf(l.record)
	return out, err
}
