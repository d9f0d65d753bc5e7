package redismatch

import (
	"context"
	"encoding/json"
	"fmt"

	"laststand/internal/lua"
	"laststand/internal/match"
)

// takenMS is how long a question's first is remembered once the question is
// closed, when the phase says it too.
const takenMS = 60 * 1000

// Step implements match.Store. A step that abandons the match is taken however
// far the store's version is behind, and moves it beyond the highest seen.
func (s *Store) Step(ctx context.Context, st match.Step) (match.Stepped, error) {
	args, err := stepArgs(st)
	if err != nil {
		return match.Stepped{}, fmt.Errorf("redismatch: step of %s: %w", st.Match, err)
	}
	k := keysOf(st.Match)
	question, _, _ := offers(st)
	names := []string{k.match(), k.log(), k.due(), k.seq(), k.nodes(), k.first(question), k.result(), k.tomb()}
	if st.KeepMS > 0 {
		names = append(append(names, k.placing()...), k.passing()...)
	}
	values, err := stepScript.Run(ctx, s.way(st.Many), names, args...).Slice()
	if err != nil {
		return match.Stepped{}, fmt.Errorf("redismatch: step of %s: %w", st.Match, err)
	}
	reply := lua.Reply(values)
	switch reply.Text(0) {
	case "gone":
		return match.Stepped{}, match.ErrNotFound
	case "abandoned":
		return match.Stepped{}, match.ErrAbandoned
	case "elsewhere":
		return match.Stepped{}, nil
	}
	return match.Stepped{Taken: true, First: reply.Number(1), Version: reply.Number(2), Nodes: reply.Texts(3)}, nil
}

// stepArgs are the ARGV of a step, see compare.lua.
func stepArgs(st match.Step) ([]any, error) {
	var result []byte
	persisted := 0
	if st.Result != nil {
		var err error
		if result, err = json.Marshal(st.Result); err != nil {
			return nil, err
		}
		if st.Result.Paged {
			persisted = len(keys{}.placing())
		}
	}
	behind, from := st.Seen, int64(0)
	if st.To.Ending == match.Abandoned {
		behind, from = 0, st.Seen
	}
	_, offer, offerMS := offers(st)
	args := []any{
		st.Match, st.ID, string(st.From), st.Question, st.Version, behind, from, st.To.DueAt, offer, offerMS,
		result, st.KeepMS, tombMS, persisted, len(st.Pushes),
	}
	for _, p := range st.Pushes {
		args = append(args, p.Head, p.Tail)
	}
	args = append(args, stepped(st.To)...)
	if opens(st) {
		args = append(args, "answered", 0, "right", 0)
	}
	if st.Scores != nil {
		args = append(args, "scores", st.Scores)
	}
	return args, nil
}

// opens says whether a step opens a question, rather than giving it more time.
func opens(st match.Step) bool { return st.To.Phase == match.Open && st.From != match.Open }

// offers is what a step does to the first of a buzzer question: opening offers
// it, and whatever ends that takes it back, so that exactly one of that and a
// race closes the question.
func offers(st match.Step) (question int, offer string, ms int64) {
	switch {
	case st.Buzzer && opens(st):
		return st.To.Question, "1", keptMS
	case st.Buzzer && st.From == match.Open && st.To.Phase != match.Open:
		return st.Question, "0", takenMS
	}
	return st.Question, "", 0
}
