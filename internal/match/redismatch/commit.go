package redismatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
)

// Commit implements match.Store. The answers to a match that come to this node
// at the same time share a script, see queue.
func (s *Store) Commit(ctx context.Context, a match.Attempt) (match.Outcome, error) {
	out, err := s.queues.commit(ctx, &a)
	if err != nil && !errors.Is(err, match.ErrAbandoned) {
		err = fmt.Errorf("redismatch: commit to %s: %w", a.Match, err)
	}
	return out, err
}

// commitAll has attempts of one match judged by one script, each of another
// player.
func (s *Store) commitAll(ctx context.Context, all []*waiting) error {
	a := all[0]
	script, width := byMode(a.Mode)
	k, seen := keysOf(a.Match), int64(0)
	names := append([]string{k.match(), k.answers(), k.totals(), k.seats(), k.nodes(), k.due(), k.seq()}, k.ofMode(all)...)
	args := make([]any, 5, 5+len(all)*width)
	for _, a := range all {
		r := &a.Record
		names = append(names, k.lock(r.Question, r.Player))
		args = append(args, a.ID, r.Player, r.Question, r.At, a.OpensAt, recordText(*r), r.Points, bit(r.Correct), r.SavedMS)
		args = append(args, ofMode(a.Attempt)...)
		seen = max(seen, a.Version)
	}
	args[0], args[1], args[2], args[3], args[4] = a.Match, string(a.Mode), a.TTLMS, seen, width
	reply, err := script.Run(ctx, s.scripts, names, args...).Slice()
	if err != nil {
		return err
	}
	return setOutcomes(reply, all)
}

// common is how many ARGV every mode's script has for an attempt.
const common = 9

// byMode is the script that accepts answers, and how many ARGV it has for each.
func byMode(m match.Mode) (script *redis.Script, width int) {
	switch m {
	case match.Survival:
		return survivalScript, common + 1
	case match.Buzzer:
		return wrongScript, common + 1
	}
	return duelScript, common + 2
}

// ofMode are the KEYS that the script of a mode has beyond those of every mode.
func (k keys) ofMode(all []*waiting) []string {
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

// ofMode are the ARGV that the script of a mode has for an attempt beyond those
// of every mode.
func ofMode(a *match.Attempt) []any {
	switch {
	case a.Mode == match.Survival:
		return []any{a.Seat.Team}
	case a.Mode == match.Buzzer:
		return []any{lockoutMS(a)}
	case a.Seen == nil:
		return []any{"", ""}
	}
	return []any{a.Seen.Head, a.Seen.Tail}
}

// lockoutMS is how long a wrong answer shuts its team out; who is in none has
// nobody to shut out.
func lockoutMS(a *match.Attempt) int64 {
	if a.Seat.Team == "" {
		return 0
	}
	return a.Lockout
}

// setOutcomes reads the reply of verdict.lua to attempts.
func setOutcomes(reply []any, all []*waiting) error {
	switch text(reply, 0) {
	case abandoned:
		return match.ErrAbandoned
	case string(match.Gone):
		for _, a := range all {
			a.out.Verdict = match.Gone
		}
		return nil
	}
	for i, a := range all {
		if err := a.set(reply, 4+i); err != nil {
			return err
		}
	}
	return nil
}

// set reads what has become of one of them.
func (w *waiting) set(reply []any, i int) (err error) {
	out := &w.out
	told := list(reply, i)
	if told == nil {
		out.Verdict, out.Answered = match.Accepted, number(reply, i)
	} else {
		out.Verdict, out.RetryMS, out.Answered, out.Seq = match.Verdict(text(told, 0)), number(told, 2), number(told, 3), number(told, 4)
	}
	switch record := text(told, 1); {
	case record != "":
		if out.Record, err = recordOf(record); err != nil {
			return fmt.Errorf("outcome: %w", err)
		}
	case out.Verdict == match.Accepted:
		out.Record = w.Record
	}
	if out.Verdict == match.Accepted || out.Verdict == match.Duplicate {
		out.Alive, out.Version, out.Nodes = number(reply, 1), number(reply, 2), texts(reply, 3)
	}
	return nil
}

// abandoned is what scripts call a version that is behind.
const abandoned = "abandoned"
