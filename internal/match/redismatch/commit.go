package redismatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"laststand/internal/lua"
	"laststand/internal/match"
)

// Commit accepts or refuses an answer, see match.Store. Concurrent answers to one match at this node
// share a script, see batcher.
func (s *Store) Commit(ctx context.Context, a match.Attempt) (match.Outcome, error) {
	out, err := s.batcher.commit(ctx, &a)
	if err != nil && !errors.Is(err, match.ErrAbandoned) {
		err = fmt.Errorf("redismatch: commit to %s: %w", a.Match, err)
	}
	return out, err
}

// commitBatch judges attempts of one match, each of another player, with one
// script.
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

// commonArgs is how many ARGV each attempt has in every mode.
const commonArgs = 9

// scriptFor returns the script that accepts answers in a mode, and the number
// of its ARGV per attempt.
func scriptFor(m match.Mode) (script *redis.Script, width int) {
	switch m {
	case match.Survival:
		return acceptSurvivalScript, commonArgs + 1
	case match.Buzzer:
		return acceptWrongScript, commonArgs + 1
	}
	return acceptDuelScript, commonArgs + 2
}

// modeKeys are the KEYS that only the script of one mode has.
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

// appendModeArgs appends the ARGV of an attempt that only the script of one
// mode has.
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

// lockoutMS is how long a wrong answer locks its team out. It is 0 for a player
// without a team.
func lockoutMS(a *match.Attempt) int64 {
	if a.Seat.Team == "" {
		return 0
	}
	return a.LockoutMS
}

// setOutcomes decodes the reply of judge_answers.lua and sets the outcome of each
// attempt.
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

// setOutcome reads the outcome of one attempt.
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

// abandoned is the reply of scripts if the stored version is lower than the
// seen one.
const abandoned = "abandoned"
