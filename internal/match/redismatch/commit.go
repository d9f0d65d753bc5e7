package redismatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"laststand/internal/lua"
	"laststand/internal/match"
)

// Commit implements match.Store. The answers to a match that come to this node
// at the same time share a script, see queue.
func (s *Store) Commit(ctx context.Context, a match.Attempt) (match.Outcome, error) {
	out, err := s.batcher.commit(ctx, &a)
	if err != nil && !errors.Is(err, match.ErrAbandoned) {
		err = fmt.Errorf("redismatch: commit to %s: %w", a.Match, err)
	}
	return out, err
}

// commitBatch has attempts of one match judged by one script, each of another
// player.
func (s *Store) commitBatch(ctx context.Context, all []*pendingAttempt) error {
	a := all[0]
	script, width := scriptFor(a.Mode)
	seen := int64(0)
	for _, a := range all {
		seen = max(seen, a.SeenVersion)
	}
	k, args := newKeys(a.Match), append(make([]any, 0, 5+len(all)*width), a.Match, string(a.Mode), a.TTLMS, seen, width)
	names := append(make([]string, 0, 8+2*len(all)), k.match(), k.answers(), k.totals(), k.seats(), k.nodes(), k.due(), k.seq())
	names = append(names, k.modeKeys(all)...)
	for _, a := range all {
		r := &a.Record
		names = append(names, k.lock(r.Question, r.Player))
		args = append(args, a.ID, r.Player, r.Question, r.At, a.OpensAt, recordText(*r), r.Points, boolArg(r.Correct), r.SavedMS)
		args = appendModeArgs(args, a.Attempt)
	}
	reply, err := script.Run(ctx, s.scripts, names, args...).Slice()
	if err != nil {
		return err
	}
	return setOutcomes(reply, all)
}

// commonArgs is how many ARGV every mode's script has for an attempt.
const commonArgs = 9

// scriptFor is the script that accepts answers, and how many ARGV it has for each.
func scriptFor(m match.Mode) (script *redis.Script, width int) {
	switch m {
	case match.Survival:
		return acceptSurvivalScript, commonArgs + 1
	case match.Buzzer:
		return acceptWrongScript, commonArgs + 1
	}
	return acceptDuelScript, commonArgs + 2
}

// modeKeys are the KEYS that the script of a mode has beyond those of every mode.
func (k keys) modeKeys(all []*pendingAttempt) []string {
	switch all[0].Mode {
	case match.Survival:
		return []string{k.rank(), k.top(), k.teams()}
	case match.Buzzer:
		names := make([]string, len(all))
		for i, a := range all {
			names[i] = k.lockout(a.Record.Question, a.Seat.Team)
		}
		return names
	}
	return []string{k.log()}
}

// appendModeArgs appends the ARGV that the script of a mode has for an attempt
// beyond those of every mode.
func appendModeArgs(args []any, a *match.Attempt) []any {
	switch {
	case a.Mode == match.Survival:
		return append(args, a.Seat.Team)
	case a.Mode == match.Buzzer:
		return append(args, lockoutMS(a))
	case a.Push == nil:
		return append(args, "", "")
	}
	return append(args, a.Push.Head, a.Push.Tail)
}

// lockoutMS is how long a wrong answer shuts its team out; who is in none has
// nobody to shut out.
func lockoutMS(a *match.Attempt) int64 {
	if a.Seat.Team == "" {
		return 0
	}
	return a.LockoutMS
}

// setOutcomes reads the reply of judge_answers.lua to attempts.
func setOutcomes(reply lua.Reply, all []*pendingAttempt) error {
	switch reply.Text(0) {
	case abandoned:
		return match.ErrAbandoned
	case string(match.Gone):
		for _, a := range all {
			a.out.Verdict = match.Gone
		}
		return nil
	}
	for i, a := range all {
		if err := a.setOutcome(reply, 4+i); err != nil {
			return err
		}
	}
	return nil
}

// setOutcome reads what has become of one of them.
func (w *pendingAttempt) setOutcome(reply lua.Reply, i int) (err error) {
	out := &w.out
	fields := reply.List(i)
	if fields == nil {
		out.Verdict, out.Answered = match.Accepted, reply.Number(i)
	} else {
		out.Verdict, out.RetryMS, out.Answered, out.Seq = match.Verdict(fields.Text(0)), fields.Number(2), fields.Number(3), fields.Number(4)
	}
	switch record := fields.Text(1); {
	case record != "":
		if out.Record, err = recordOf(record); err != nil {
			return fmt.Errorf("outcome: %w", err)
		}
	case out.Verdict == match.Accepted:
		out.Record = w.Record
	}
	if out.Verdict == match.Accepted || out.Verdict == match.Duplicate {
		out.Alive, out.Version, out.Nodes = reply.Number(1), reply.Number(2), reply.Texts(3)
	}
	return nil
}

// abandoned is what scripts call a version that is behind.
const abandoned = "abandoned"
