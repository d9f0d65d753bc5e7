package redismatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
)

const (
	// maxRaceTries limits how often a race runs because a watched key changed. The
	// keys first, lock and exit change only once. Only the team's
	// lockout can cause more restarts.
	raceTries = 8
	// retryTimeout limits the search for the outcome of an EXEC without a
	// reply.
	retryTimeout = 2 * time.Second
	// replicaTimeout is how long a first right answer waits for a replica.
	replicaTimeout = 100 * time.Millisecond
)

var errRaceContended = errors.New("the watched keys kept changing")

// CommitIfFirst accepts a right answer if it is the first one, see match.Store.
// After an error it runs the race once more, as the client
// library does with scripts. A transaction without a reply may have been
// executed, or may be executed later. The second run finds its result, or
// changes a key that the first run watches.
func (s *Store) Race(ctx context.Context, a match.Attempt) (match.Outcome, error) {
	r, err := s.newRace(a)
	if err != nil {
		return match.Outcome{}, fmt.Errorf("redismatch: race for %s: %w", a.Match, err)
	}
	out, err := r.run(ctx)
	if err != nil && !errors.Is(err, match.ErrAbandoned) {
		retry, cancel := context.WithTimeout(context.WithoutCancel(ctx), retryTimeout)
		defer cancel()
		out, err = r.run(retry)
	}
	if err != nil && !errors.Is(err, match.ErrAbandoned) {
		return match.Outcome{}, fmt.Errorf("redismatch: race for %s: %w", a.Match, err)
	}
	return out, err
}

// race is one attempt to be the first right answer.
type race struct {
	match.Attempt
	store         *Store
	keys          keys
	record, first []byte // JSON
}

func (s *Store) newRace(a match.Attempt) (*race, error) {
	a.Record.First = true
	r := &race{Attempt: a, store: s, keys: newKeys(a.Match), record: recordText(a.Record)}
	var err error
	r.first, err = json.Marshal(match.First{
		Question: a.Record.Question, Player: a.Record.Player, Nickname: a.Seat.Nickname, Team: a.Seat.Team,
		At: a.Record.At, ElapsedMS: a.Record.ElapsedMS, Node: a.Record.Node,
	})
	return r, err
}

func (r *race) run(ctx context.Context) (out match.Outcome, err error) {
	watched := []string{r.keys.first(r.Record.Question), r.lock(), r.keys.exit(r.Record.Player)}
	if lockoutMS(&r.Attempt) > 0 {
		watched = append(watched, r.lockout())
	}
	for range raceTries {
		err = r.store.client.Watch(ctx, func(tx *redis.Tx) error {
			out, err = r.tryOnce(ctx, tx)
			return err
		}, watched...)
		if !errors.Is(err, redis.TxFailedErr) {
			return out, err
		}
	}
	return match.Outcome{}, errRaceContended
}

func (r *race) lock() string    { return r.keys.lock(r.Record.Question, r.Record.Player) }
func (r *race) lockout() string { return r.keys.lockout(r.Record.Question, r.Seat.Team) }

func (r *race) tryOnce(ctx context.Context, tx *redis.Tx) (match.Outcome, error) {
	l, err := r.readSnapshot(ctx, tx)
	if err != nil {
		return match.Outcome{}, err
	}
	if out, err := r.decide(l); err != nil || out.Verdict != match.Accepted || l.holder == r.ID {
		return out, err
	}
	return r.commitFirst(ctx, tx, l)
}

// commitFirst accepts the first right answer in one transaction. It writes the
// lock, first, record, totals, rank and team score, and seals the match, which is
// due then.
func (r *race) commitFirst(ctx context.Context, tx *redis.Tx, l snapshot) (match.Outcome, error) {
	k, rec := r.keys, r.Record
	var answered, version *redis.IntCmd
	var nodes *redis.StringSliceCmd
	_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, r.lock(), r.ID, time.Duration(r.TTLMS)*time.Millisecond)
		p.Decr(ctx, k.first(rec.Question))
		p.PExpire(ctx, k.first(rec.Question), closedFirstMS*time.Millisecond)
		p.HSet(ctx, k.answers(), answerField(rec.Question, rec.Player), r.record)
		r.addTotals(ctx, p, l.sums)
		if l.ttl > 0 { // answers and totals may be new keys
			p.PExpire(ctx, k.answers(), l.ttl)
			p.PExpire(ctx, k.totals(), l.ttl)
		}
		answered = p.HIncrBy(ctx, k.match(), "answered", 1)
		p.HIncrBy(ctx, k.match(), "right", 1)
		version = p.HIncrBy(ctx, k.match(), "version", 1)
		p.HIncrBy(ctx, k.seq(), k.progressFields()[1], 1)
		p.HSet(ctx, k.match(), "phase", string(match.Sealed), "reason", "first_correct", "due_at", rec.At,
			firstField(rec.Question), r.first)
		p.ZAdd(ctx, k.due(), redis.Z{Score: float64(rec.At), Member: r.Match})
		nodes = p.SMembers(ctx, k.nodes())
		return nil
	})
	if err != nil {
		return match.Outcome{}, err
	}
	r.waitForReplica(ctx, tx)
	return match.Outcome{
		Verdict: match.Accepted, Record: rec, Sealed: true,
		Answered: answered.Val(), Alive: l.state.Alive, Version: version.Val(), Nodes: nodes.Val(),
	}, nil
}

// addTotals adds the record to the sums of its player and team. No other write
// changes these sums in between: an answer writes the lock, leaving writes the
// exit key, and both are watched.
func (r *race) addTotals(ctx context.Context, p redis.Pipeliner, sums match.Totals) {
	k, rec := r.keys, r.Record
	p.HSet(ctx, k.totals(), rec.Player, sumsOf(match.Totals{
		Score: sums.Score + rec.Points, Correct: sums.Correct + 1, Answered: sums.Answered + 1, SavedMS: sums.SavedMS + rec.SavedMS,
		LastCorrect: rec.Question + 1, LastAnswered: rec.Question + 1,
	}))
	p.ZIncrBy(ctx, k.rank(), float64(rec.Points)*1e9+float64(rec.SavedMS), rec.Player)
	if r.Seat.Team != "" {
		p.HIncrBy(ctx, k.teams(), "score|"+r.Seat.Team, 1)
	}
}

// waitForReplica waits until a replica has the transaction, if there are
// replicas. It uses the connection of the transaction.
func (r *race) waitForReplica(ctx context.Context, tx *redis.Tx) {
	if !r.store.replicas() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 2*replicaTimeout)
	defer cancel()
	if n, err := tx.Wait(ctx, 1, replicaTimeout).Result(); err != nil || n < 1 {
		r.store.unconfirmed()
	}
}
