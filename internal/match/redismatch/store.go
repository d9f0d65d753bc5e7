// Package redismatch keeps matches in Redis: one hash, log and index per match
// in the slot of its partition, and a script for each atomic step. It
// implements match.Store, match.Index and the pending results of settlement.
package redismatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

// Store is safe for concurrent use. Every script is idempotent, so that the
// client library may run it again after an ambiguous error.
type Store struct {
	client  redis.UniversalClient
	scripts redis.Scripter
}

// New makes a store. Scripts run on scripts, which may share pipelines among
// its callers; everything else runs on client. Both must reach the same Redis.
func New(client redis.UniversalClient, scripts redis.Scripter) *Store {
	return &Store{client: client, scripts: scripts}
}

// createdTTLMS is how long beyond its start a match lives that nobody ends.
const createdTTLMS = 24 * 60 * 60 * 1000

// Create implements match.Store.
func (s *Store) Create(ctx context.Context, p *match.Plan, found protocol.Numbered) (bool, error) {
	plan, err := json.Marshal(p)
	if err != nil {
		return false, fmt.Errorf("redismatch: create %s: %w", p.ID, err)
	}
	k := keysOf(p.ID)
	fields := fieldsOf(match.State{Phase: match.Countdown, Question: -1, DueAt: p.StartsAt})
	fields = append(fields, "plan", plan, "form", p.Form, "game", p.Game, "answered", 0, "right", 0, "seq", 1)
	args := append([]any{p.ID, p.StartsAt, createdTTLMS, found.Frame(1)}, fields...)
	created, err := createScript.Run(ctx, s.scripts, []string{k.match(), k.log(), k.due(), k.seq()}, args...).Bool()
	if err != nil {
		return false, fmt.Errorf("redismatch: create %s: %w", p.ID, err)
	}
	return created, nil
}

// Commit implements match.Store.
func (s *Store) Commit(ctx context.Context, a match.Attempt) (match.Outcome, error) {
	record, err := json.Marshal(a.Record)
	if err != nil {
		return match.Outcome{}, fmt.Errorf("redismatch: commit to %s: %w", a.Match, err)
	}
	k, r := keysOf(a.Match), a.Record
	reply, err := commitScript.Run(ctx, s.scripts,
		[]string{k.match(), k.lock(r.Question, r.Player), k.answers(), k.totals(), k.log(), k.due(), k.seq()},
		a.Match, a.ID, r.Player, r.Question, r.At, a.OpensAt, record, r.Points, flag(r.Correct), r.SavedMS,
		a.TTLMS, a.Seats, a.Seen.Head, a.Seen.Tail).Slice()
	if err != nil {
		return match.Outcome{}, fmt.Errorf("redismatch: commit to %s: %w", a.Match, err)
	}
	return outcomeOf(reply)
}

// Record implements match.Store.
func (s *Store) Record(ctx context.Context, id, player string, question int) (match.Record, bool, error) {
	raw, err := s.client.HGet(ctx, keysOf(id).answers(), strconv.Itoa(question)+"|"+player).Result()
	if errors.Is(err, redis.Nil) {
		return match.Record{}, false, nil
	}
	if err != nil {
		return match.Record{}, false, fmt.Errorf("redismatch: record of %s: %w", id, err)
	}
	var r match.Record
	if err := json.Unmarshal([]byte(raw), &r); err != nil {
		return match.Record{}, false, fmt.Errorf("redismatch: record of %s: %w", id, err)
	}
	return r, true, nil
}

// Step implements match.Store.
func (s *Store) Step(ctx context.Context, st match.Step) (match.Stepped, error) {
	var result []byte
	if st.Result != nil {
		var err error
		if result, err = json.Marshal(st.Result); err != nil {
			return match.Stepped{}, fmt.Errorf("redismatch: step of %s: %w", st.Match, err)
		}
	}
	args := []any{st.Match, st.ID, string(st.From), st.Question, st.To.DueAt, result, st.KeepMS, len(st.Pushes)}
	for _, p := range st.Pushes {
		args = append(args, p.Head, p.Tail)
	}
	args = append(args, fieldsOf(st.To)...)
	if st.To.Phase == match.Open && st.From != match.Open {
		args = append(args, "answered", 0, "right", 0)
	}
	k := keysOf(st.Match)
	reply, err := stepScript.Run(ctx, s.scripts,
		[]string{k.match(), k.log(), k.due(), k.seq(), k.result(), k.answers(), k.totals()}, args...).Int64Slice()
	switch {
	case err != nil:
		return match.Stepped{}, fmt.Errorf("redismatch: step of %s: %w", st.Match, err)
	case reply[0] < 0:
		return match.Stepped{}, match.ErrNotFound
	case reply[0] == 0:
		return match.Stepped{}, nil
	}
	return match.Stepped{Taken: true, First: reply[1]}, nil
}

// fieldsOf are the fields of a state that a step writes.
func fieldsOf(s match.State) []any {
	return []any{
		"phase", string(s.Phase), "question", s.Question, "opens_at", s.OpensAt, "closes_at", s.ClosesAt,
		"due_at", s.DueAt, "started_at", s.StartedAt, "reason", s.Reason, "ending", string(s.Ending), "leaver", s.Leaver,
	}
}

func outcomeOf(reply []any) (match.Outcome, error) {
	out := match.Outcome{Verdict: match.Verdict(text(reply, 0))}
	if len(reply) < 4 {
		return out, nil
	}
	if err := json.Unmarshal([]byte(text(reply, 1)), &out.Record); err != nil {
		return out, fmt.Errorf("redismatch: outcome: %w", err)
	}
	out.Answered, out.Seq = number(reply, 2), number(reply, 3)
	return out, nil
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
