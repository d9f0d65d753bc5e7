package redismatch

import (
	"context"
	"encoding/json"
	"fmt"

	"laststand/internal/lua"
	"laststand/internal/match"
)

// closedFirstMS is how long the key first of a question is stored after the
// question closed. The phase then contains the same information.
const closedFirstMS = 60 * 1000

// Step applies a step to a match, see match.Store. A step that abandons the match ignores the
// store's version and moves it above the highest seen one.
func (s *Store) Step(ctx context.Context, st match.Step) (match.StepResult, error) {
	args, err := stepArgs(st)
	if err != nil {
		return match.StepResult{}, fmt.Errorf("redismatch: step of %s: %w", st.Match, err)
	}
	k := newKeys(st.Match)
	question, _, _ := firstChange(st)
	names := []string{k.match(), k.log(), k.due(), k.seq(), k.nodes(), k.first(question), k.result(), k.tomb()}
	if st.KeepMS > 0 {
		names = append(append(names, k.rankingKeys()...), k.playKeys()...)
	}
	values, err := stepScript.Run(ctx, s.scripter(st.Large), names, args...).Slice()
	if err != nil {
		return match.StepResult{}, fmt.Errorf("redismatch: step of %s: %w", st.Match, err)
	}
	reply := lua.Reply(values)
	switch reply.Text(0) {
	case "gone":
		return match.StepResult{}, match.ErrNotFound
	case "abandoned":
		return match.StepResult{}, match.ErrAbandoned
	case "moved_on":
		return match.StepResult{}, nil
	}
	return match.StepResult{Applied: true, FirstSeq: reply.Number(1), Version: reply.Number(2), Nodes: reply.Texts(3)}, nil
}

// stepArgs are the ARGV of a step, see check_step.lua.
func stepArgs(st match.Step) ([]any, error) {
	var result []byte
	persisted := 0
	if st.Result != nil {
		var err error
		if result, err = json.Marshal(st.Result); err != nil {
			return nil, err
		}
		if st.Result.Paged {
			persisted = len(keys{}.rankingKeys())
		}
	}
	seen, minVersion := st.SeenVersion, int64(0)
	if st.To.EndReason == match.Abandoned {
		seen, minVersion = 0, st.SeenVersion
	}
	_, offer, offerMS := firstChange(st)
	args := []any{
		st.Match, st.ID, string(st.From), st.Question, st.Version, seen, minVersion, st.To.DueAt, offer, offerMS,
		result, st.KeepMS, tombMS, persisted, len(st.Pushes),
	}
	for _, p := range st.Pushes {
		args = append(args, p.Head, p.Tail)
	}
	args = append(args, stepFields(st.To)...)
	if opensQuestion(st) {
		args = append(args, "answered", 0, "right", 0)
	}
	if st.Scores != nil {
		args = append(args, "scores", st.Scores)
	}
	return args, nil
}

// opensQuestion reports whether a step opens a question. An extension does not.
func opensQuestion(st match.Step) bool { return st.To.Phase == match.Open && st.From != match.Open }

// firstFlagChange returns how a step changes the key first of a buzzer question: the
// new value ("": unchanged) and its time to live. Opening the question sets 1, and
// every step that closes it sets 0. So either such a step or one race closes the
// question, never both.
func firstChange(st match.Step) (question int, offer string, ms int64) {
	switch {
	case st.Buzzer && opensQuestion(st):
		return st.To.Question, "1", maxLifeMS
	case st.Buzzer && st.From == match.Open && st.To.Phase != match.Open:
		return st.Question, "0", closedFirstMS
	}
	return st.Question, "", 0
}
