package redismatch

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"laststand/internal/match"
)

// closedFirstTTLMS is how long the key first of a question is stored after the
// question closed. The phase then contains the same information.
const closedFirstTTLMS = 60 * 1000

// Step applies a step to a match, see match.StateStore. A step that abandons the match ignores the
// store's version and moves it above the highest seen one.
func (m *Matches) Step(ctx context.Context, step match.Step) (match.StepResult, error) {
	keyNames, endAt := stepKeys(step)
	args, err := stepArgs(step, endAt)
	if err != nil {
		return match.StepResult{}, wrap("step of", step.Match, err)
	}
	reply, err := applyStepScript.Run(ctx, m.scripterForSize(step.Large), keyNames, args...).Text()
	if err != nil {
		return match.StepResult{}, wrap("step of", step.Match, err)
	}
	switch reply {
	case "gone":
		return match.StepResult{}, match.ErrNotFound
	case "abandoned":
		return match.StepResult{}, match.ErrAbandoned
	case "moved_on":
		return match.StepResult{}, nil
	}
	applied := strings.Fields(reply)
	firstSeq, _ := strconv.ParseInt(applied[1], 10, 64) // the script writes whole numbers
	version, _ := strconv.ParseInt(applied[2], 10, 64)
	result := match.StepResult{Applied: true, FirstSeq: firstSeq, Version: version}
	if len(applied) > 3 {
		result.Nodes = applied[3:]
	}
	return result, nil
}

// stepKeys are the KEYS of a step, see apply_step.lua, and the index of those of the last step
// from 1, 0 if the match goes on.
func stepKeys(step match.Step) (names []string, endAt int) {
	k := newKeys(step.Match)
	names = make([]string, 0, 9)
	names = append(names, k.match(), k.log(), k.due(), k.seq(), k.answers(), k.totals())
	if step.Mode != match.Duel {
		names = append(names, k.first(step.From.Question), k.first(step.NewState.Question), k.counts())
	}
	if step.TTLMS == 0 {
		return names, 0
	}
	endAt = len(names) + 1
	names = append(names, k.result(), k.tombstone())
	return append(append(names, k.resultKeys(step.Mode)...), k.playKeys(step.Mode)...), endAt
}

// stepArgs are the ARGV of a step, see apply_step.lua.
func stepArgs(step match.Step, endAt int) ([]any, error) {
	var result []byte
	persistedKeys := 0
	if step.Result != nil {
		var err error
		if result, err = json.Marshal(step.Result); err != nil {
			return nil, err
		}
		persistedKeys = len(keys{}.resultKeys(step.Mode))
	}
	seen, minVersion := step.Seen, int64(0)
	if step.NewState.EndReason == match.ReasonAbandoned {
		seen, minVersion = match.Seen{Node: seen.Node}, seen.Version
	}
	closedTTLMS, openedTTLMS := firstTTLs(step)
	args := make([]any, 0, 48)
	args = append(args, step.Match, step.ID, string(step.From.Phase), step.From.Question, step.Version, seen.Version, seen.Node, seen.Written, minVersion, dueAtArg(step))
	args = appendAnswer(args, step.Answer)
	args = append(args, closedTTLMS, openedTTLMS, countsTTL(step), endAt, result, step.TTLMS, tombstoneTTLMS, persistedKeys, len(step.Pushes))
	for _, push := range step.Pushes {
		args = append(args, push.Head, push.Tail)
	}
	changed := stateWriter{args: args}
	changed.writeStep(step.From, step.NewState)
	args = changed.args
	switch {
	case step.OpensQuestion():
		args = append(args, "answered", 0, "right", 0)
	case step.Answer != nil:
		args = append(args, "answered", step.NewState.Answered, "right", step.NewState.Right)
	}
	if step.Scores != nil {
		args = append(args, "scores", step.Scores)
	}
	return args, nil
}

// appendAnswer appends the ARGV of the answer of a step, all empty without one.
func appendAnswer(args []any, answer *match.StepAnswer) []any {
	if answer == nil {
		return append(args, "", "", "", "")
	}
	record := answer.Record
	return append(args, record.Player, answerField(record.Question, record.Player), appendPoints(encodeRecord(answer.ID, record), record.Points), encodeTotals(answer.Totals))
}

// dueAtArg is the new deadline of a match, "" if the step only accepts an answer.
func dueAtArg(step match.Step) any {
	if step.Answer != nil && step.NewState.Phase == step.From.Phase && step.NewState.Question == step.From.Question {
		return ""
	}
	return step.NewState.DueAt
}

// countsTTL is the time to live of the counts of the question that a step opens, in ms: 0 in
// a duel, which counts no values.
func countsTTL(step match.Step) int64 {
	if step.Mode == match.Duel || !step.OpensQuestion() {
		return 0
	}
	return matchTTLMS
}

// firstTTLs returns the times to live of the keys first of the buzzer questions that a step
// closes and opens, 0 for none. Opening a question sets its key to 1, and every step that
// closes it sets it to 0. So either such a step or one race closes the question, never
// both.
func firstTTLs(step match.Step) (closedMS, openedMS int64) {
	if step.Mode == match.Buzzer && step.ClosesQuestion() {
		closedMS = closedFirstTTLMS
	}
	if step.Mode == match.Buzzer && step.OpensQuestion() {
		openedMS = matchTTLMS
	}
	return closedMS, openedMS
}
