package redismatch

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
)

// Commit implements match.Store.
func (s *Store) Commit(ctx context.Context, a match.Attempt) (match.Outcome, error) {
	record, err := json.Marshal(a.Record)
	if err != nil {
		return match.Outcome{}, fmt.Errorf("redismatch: commit to %s: %w", a.Match, err)
	}
	k, r := keysOf(a.Match), a.Record
	script, names, own := byMode(k, a)
	names = append([]string{
		k.match(), k.lock(r.Question, r.Player), k.answers(), k.totals(), k.seats(), k.nodes(), k.due(), k.seq(),
	}, names...)
	args := append([]any{
		a.Match, a.ID, r.Player, r.Question, r.At, a.OpensAt, record, r.Points, bit(r.Correct), r.SavedMS,
		a.TTLMS, a.Version, string(a.Mode),
	}, own...)
	reply, err := script.Run(ctx, s.scripts, names, args...).Slice()
	if err != nil {
		return match.Outcome{}, fmt.Errorf("redismatch: commit to %s: %w", a.Match, err)
	}
	return outcomeOf(reply, r)
}

// byMode is the script that accepts an answer, with the KEYS and ARGV that it
// has beyond those of every mode.
func byMode(k keys, a match.Attempt) (script *redis.Script, names []string, args []any) {
	switch a.Mode {
	case match.Survival:
		return survivalScript, []string{k.rank(), k.top(), k.teams()}, []any{a.Seat.Team}
	case match.Buzzer:
		return wrongScript, []string{k.lockout(a.Record.Question, a.Seat.Team)}, []any{lockoutMS(a)}
	}
	if a.Seen == nil {
		return duelScript, []string{k.log()}, []any{"", ""}
	}
	return duelScript, []string{k.log()}, []any{a.Seen.Head, a.Seen.Tail}
}

// lockoutMS is how long a wrong answer shuts its team out; who is in none has
// nobody to shut out.
func lockoutMS(a match.Attempt) int64 {
	if a.Seat.Team == "" {
		return 0
	}
	return a.Lockout
}

// outcomeOf reads the reply of verdict.lua to an attempt with a record.
func outcomeOf(reply []any, given match.Record) (match.Outcome, error) {
	out := match.Outcome{Verdict: match.Verdict(text(reply, 0))}
	switch out.Verdict {
	case abandoned:
		return match.Outcome{}, match.ErrAbandoned
	case match.LockedOut:
		out.RetryMS = number(reply, 1)
		return out, nil
	case match.Accepted, match.Duplicate:
	default:
		return out, nil
	}
	out.Record = given
	if record := text(reply, 1); record != "" {
		out.Record = match.Record{}
		if err := json.Unmarshal([]byte(record), &out.Record); err != nil {
			return out, fmt.Errorf("redismatch: outcome: %w", err)
		}
	}
	out.Answered, out.Alive, out.Version = number(reply, 2), number(reply, 3), number(reply, 4)
	out.Seq, out.Nodes = number(reply, 5), texts(reply, 6)
	return out, nil
}

// abandoned is what scripts call a version that is behind.
const abandoned = "abandoned"
