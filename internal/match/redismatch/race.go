package redismatch

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
)

const (
	// guardTTLMS is how long a guard is stored. A race takes much less time.
	guardTTLMS = 60 * 1000
	// maxRaceTries limits how often a race runs because a watched key changed. The
	// keys first and guard change a few times at most. Only the team's
	// lockout can cause more restarts.
	maxRaceTries = 8
	// raceRetryTimeout limits the search for the outcome of an EXEC without a
	// reply.
	raceRetryTimeout = 2 * time.Second
	// replicaTimeout is how long a first right answer waits for a replica.
	replicaTimeout = 100 * time.Millisecond
)

var errRaceContended = errors.New("the watched keys kept changing")

// CommitIfFirst accepts a right answer if it is the first one, see match.AnswerStore.
// After an error it runs the race once more, as the client
// library does with scripts. A transaction without a reply may have been
// executed, or may be executed later. The second run finds its result, or
// changes a key that the first run watches.
func (as *Answers) CommitIfFirst(ctx context.Context, attempt match.Attempt) (match.Outcome, error) {
	racer, err := as.newRace(attempt)
	if err != nil {
		return match.Outcome{}, wrap("race for", attempt.Match, err)
	}
	outcome, err := racer.run(ctx)
	if err != nil && !errors.Is(err, match.ErrAbandoned) {
		retry, cancel := context.WithTimeout(context.WithoutCancel(ctx), raceRetryTimeout)
		defer cancel()
		outcome, err = racer.run(retry)
	}
	if err != nil && !errors.Is(err, match.ErrAbandoned) {
		return match.Outcome{}, wrap("race for", attempt.Match, err)
	}
	return outcome, err
}

// race is one attempt to be the first right answer.
type race struct {
	match.Attempt
	answers       *Answers
	keys          keys
	record, first []byte // JSON
}

func (as *Answers) newRace(attempt match.Attempt) (*race, error) {
	attempt.Record.First = true
	racer := &race{Attempt: attempt, answers: as, keys: newKeys(attempt.Match), record: appendPoints(encodeRecord(attempt.ID, attempt.Record), attempt.Record.Points)}
	var err error
	racer.first, err = json.Marshal(match.First{
		Question: attempt.Record.Question, Player: attempt.Record.Player, Nickname: attempt.Seat.Nickname, Team: attempt.Seat.Team,
		ArrivedAt: attempt.Record.ArrivedAt, ElapsedMS: attempt.Record.ElapsedMS, Node: attempt.Record.Node,
	})
	return racer, err
}

func (r *race) run(ctx context.Context) (outcome match.Outcome, err error) {
	watched := []string{r.keys.first(r.Record.Question), r.keys.guard(r.Record.Player)}
	if lockoutMS(&r.Attempt) > 0 {
		watched = append(watched, r.lockout())
	}
	for range maxRaceTries {
		err = r.answers.client.Watch(ctx, func(tx *redis.Tx) error {
			outcome, err = r.tryTransaction(ctx, tx)
			return err
		}, watched...)
		if !errors.Is(err, redis.TxFailedErr) {
			return outcome, err
		}
	}
	return match.Outcome{}, errRaceContended
}

func (r *race) lockout() string { return r.keys.lockout(r.Record.Question, r.Seat.Team) }

func (r *race) tryTransaction(ctx context.Context, tx *redis.Tx) (match.Outcome, error) {
	snap, err := r.readSnapshot(ctx, tx)
	if err != nil {
		return match.Outcome{}, err
	}
	outcome, err := r.decideOutcome(snap)
	if err == nil && outcome.Verdict == match.VerdictLate && snap.state.Phase == match.PhaseOpen && r.Record.ArrivedAt > snap.state.ClosesAt {
		return outcome, r.refuse(ctx, tx, snap)
	}
	if err != nil || outcome.Verdict != match.VerdictAccepted {
		return outcome, err
	}
	if attemptID(snap.record) == r.ID { // the reply to its transaction was lost; a wait needs a write of this connection
		err = r.expireFirst(ctx, tx).Err()
	} else {
		outcome, err = r.commitFirst(ctx, tx, snap)
	}
	if err == nil {
		r.waitForReplica(ctx, tx)
	}
	return outcome, err
}

// commitFirst accepts the first right answer in one transaction. It writes
// first, record, totals, rank and team score, and seals the match, which is
// due then.
func (r *race) commitFirst(ctx context.Context, tx *redis.Tx, snap raceSnapshot) (match.Outcome, error) {
	k, record := r.keys, r.Record
	var answered *redis.IntCmd
	var version *redis.Cmd
	_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Decr(ctx, k.first(record.Question)) // to 0: it was read as 1 and is watched
		r.expireFirst(ctx, pipe)
		pipe.HSet(ctx, k.answers(), answerField(record.Question, record.Player), r.record)
		r.addTotals(ctx, pipe, snap.sums)
		for _, value := range match.CountedValues(record.Normalized) {
			pipe.ZIncrBy(ctx, k.counts(), 1, value)
		}
		if snap.ttl > 0 { // answers and totals may be new keys
			pipe.PExpire(ctx, k.answers(), snap.ttl)
			pipe.PExpire(ctx, k.totals(), snap.ttl)
		}
		answered = pipe.HIncrBy(ctx, k.match(), "answered", 1)
		pipe.HIncrBy(ctx, k.match(), "right", 1)
		version = raiseVersionScript.Eval(ctx, pipe, []string{k.match()}, r.Seen.Node)
		pipe.HIncrBy(ctx, k.seq(), k.progressFields()[1], 1)
		pipe.HSet(ctx, k.match(), "phase", string(match.PhaseSealed), "reason", "first_correct", "due_at", record.ArrivedAt,
			firstField(record.Question), r.first)
		pipe.ZAdd(ctx, k.due(), redis.Z{Score: float64(record.ArrivedAt), Member: r.Match})
		return nil
	})
	if err != nil {
		return match.Outcome{}, err
	}
	newVersion, _ := version.Int64() // the script returns a number
	return match.Outcome{
		Verdict: match.VerdictAccepted, Record: record, Sealed: true, IsNew: true,
		Answered: answered.Val(), Alive: snap.state.Alive, Version: newVersion,
	}, nil
}

// refuse writes a refusal of the late answer, see refusal.
func (r *race) refuse(ctx context.Context, tx *redis.Tx, snap raceSnapshot) error {
	_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.HSet(ctx, r.keys.answers(), answerField(r.Record.Question, r.Record.Player), refusal(snap.state.ClosesAt))
		if snap.ttl > 0 { // answers may be a new key
			pipe.PExpire(ctx, r.keys.answers(), snap.ttl)
		}
		pipe.Set(ctx, r.keys.guard(r.Record.Player), 1, guardTTLMS*time.Millisecond) // another race of the player fails
		return nil
	})
	return err
}

// addTotals adds the record to the sums of its player and team. A team's score is the
// number of questions that it won, see quiz.BuzzerScoring for the player's. No other write
// changes these sums in between: another answer and leaving write the guard, which is
// watched.
func (r *race) addTotals(ctx context.Context, pipe redis.Pipeliner, sums match.Totals) {
	k, record := r.keys, r.Record
	pipe.HSet(ctx, k.totals(), record.Player, encodeTotals(match.Totals{
		Score: sums.Score + record.Points, Correct: sums.Correct + 1, Answered: sums.Answered + 1, SavedMS: sums.SavedMS + record.SavedMS,
		LastCorrect: record.Question + 1, LastAnswered: record.Question + 1,
	}))
	pipe.ZIncrBy(ctx, k.rank(), float64(record.Points)*1e9+float64(record.SavedMS), record.Player)
	if r.Seat.Team != "" {
		pipe.HIncrBy(ctx, k.teams(), "score|"+r.Seat.Team, 1)
	}
}

// expireFirst sets the time to live of the key first of a question that is closed.
func (r *race) expireFirst(ctx context.Context, on redis.Cmdable) *redis.BoolCmd {
	return on.PExpire(ctx, r.keys.first(r.Record.Question), closedFirstTTLMS*time.Millisecond)
}

// waitForReplica waits until a replica has the transaction, if there are
// replicas. It uses the connection of the transaction.
func (r *race) waitForReplica(ctx context.Context, tx *redis.Tx) {
	if !r.answers.hasReplicas() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 2*replicaTimeout)
	defer cancel()
	if n, err := tx.Wait(ctx, 1, replicaTimeout).Result(); err != nil || n < 1 {
		r.answers.onUnconfirmed()
	}
}
