package redismatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
)

// Read implements match.Store.
func (s *Store) Read(ctx context.Context, q match.ReadQuery) (match.View, error) {
	k := keysOf(q.Match)
	args := []any{flag(q.Plan), q.After}
	for _, player := range q.Players {
		args = append(args, player)
	}
	reply, err := readScript.Run(ctx, s.scripts, []string{k.match(), k.log(), k.answers(), k.totals()}, args...).Slice()
	if errors.Is(err, redis.Nil) {
		return match.View{}, match.ErrNotFound
	}
	if err != nil {
		return match.View{}, fmt.Errorf("redismatch: read %s: %w", q.Match, err)
	}
	v, err := viewOf(reply, q)
	if err != nil {
		return match.View{}, fmt.Errorf("redismatch: read %s: %w", q.Match, err)
	}
	return v, nil
}

func viewOf(reply []any, q match.ReadQuery) (match.View, error) {
	v := match.View{State: stateOf(list(reply, 0))}
	if q.Plan {
		v.Plan = new(match.Plan)
		if err := json.Unmarshal([]byte(text(reply, 1)), v.Plan); err != nil {
			return v, err
		}
		if v.Plan.Form > match.Form {
			return v, fmt.Errorf("form %d is newer than this node's %d: upgrade the node", v.Plan.Form, match.Form)
		}
	}
	for i := range list(reply, 2) {
		v.Frames = append(v.Frames, []byte(text(list(reply, 2), i)))
	}
	v.Records = make(map[string]match.Record, len(q.Players))
	v.Totals = make(map[string]match.Totals, len(q.Players))
	records, sums := list(reply, 3), list(reply, 4)
	for i, player := range q.Players {
		v.Totals[player] = match.Totals{
			Score: number(sums, 4*i), Correct: number(sums, 4*i+1),
			Answered: number(sums, 4*i+2), SavedMS: number(sums, 4*i+3),
		}
		raw := text(records, i)
		if raw == "" {
			continue
		}
		var r match.Record
		if err := json.Unmarshal([]byte(raw), &r); err != nil {
			return v, err
		}
		v.Records[player] = r
	}
	return v, nil
}

func stateOf(f []any) match.State {
	return match.State{
		Phase: match.Phase(text(f, 0)), Question: int(number(f, 1)), OpensAt: number(f, 2), ClosesAt: number(f, 3),
		DueAt: number(f, 4), StartedAt: number(f, 5), Reason: text(f, 6), Ending: match.Reason(text(f, 7)),
		Leaver: text(f, 8), Answered: number(f, 9), Right: number(f, 10), Seq: number(f, 11),
	}
}

// list, text and number read one element of a script's reply; what is not
// there reads as empty.
func list(reply []any, i int) []any {
	l, _ := reply[i].([]any)
	return l
}

func text(reply []any, i int) string {
	s, _ := reply[i].(string)
	return s
}

func number(reply []any, i int) int64 {
	switch n := reply[i].(type) {
	case int64:
		return n
	case string:
		parsed, _ := strconv.ParseInt(n, 10, 64) // written by a script as a whole number
		return parsed
	}
	return 0
}
