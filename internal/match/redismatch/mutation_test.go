package redismatch

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
	"laststand/internal/redisx"
)

// mutant is the store with one fault: a script with a changed text, or commands
// that never reach the server.
type mutant struct {
	script                *redis.Script
	file                  string // its name without .lua
	replaced, replacement string // replaced text
	droppedCommand        string // name of the lost commands
}

// Texts in the scripts.
const (
	isRepeated    = "if earlier and string.match(earlier, '^{\"id\":\"([^\"]*)\"') == a[1] then"
	isDuplicate   = "elseif earlier and string.sub(earlier, 1, 5) == '{\"id\"' then"
	isBuzzer      = "elseif mode == 'buzzer' then\n"
	guardPlayer   = isBuzzer + "    redis.call('SET', KEYS[7 + n + i], 1, 'PX', guard_ttl)"
	stepCondition = "m[1] ~= old_phase or m[2] ~= old_question or old_version ~= '0' and m[6] ~= old_version"
)

// Each of these mutants makes the races for a question not linearizable.
var raceMutants = map[string]mutant{
	"a record is no lock":            {script: acceptAnswersScript, file: "accept_answers", replaced: isDuplicate, replacement: "elseif false then"},
	"a repeated answer counts again": {script: acceptAnswersScript, file: "accept_answers", replaced: isRepeated, replacement: "if false then"},
	"a race watches nothing":         {droppedCommand: "watch"},
	"a wrong answer stops no race":   {script: acceptAnswersScript, file: "accept_answers", replaced: guardPlayer, replacement: isBuzzer},
	"a seal leaves the first":        {script: applyStepScript, file: "apply_step", replaced: "if closed_ttl ~= '0'", replacement: "if false"},
	"a seal compares nothing":        {script: applyStepScript, file: "apply_step", replaced: stepCondition, replacement: "false"},
}

// Each of these mutants makes the steps of a match not linearizable.
var stepMutants = map[string]mutant{
	"a step compares nothing":       {script: applyStepScript, file: "apply_step", replaced: stepCondition, replacement: "false"},
	"a step compares no question":   {script: applyStepScript, file: "apply_step", replaced: "or m[2] ~= old_question"},
	"a repeated step counts again":  {script: applyStepScript, file: "apply_step", replaced: "m[3] == attempt", replacement: "false"},
	"a step keeps no number":        {script: applyStepScript, file: "apply_step", replaced: "'seq', seq, "},
	"an answer compares no version": {script: applyStepScript, file: "apply_step", replaced: " or old_version ~= '0' and m[6] ~= old_version"},
}

// maxRounds is the number of rounds within which a mutant must be detected. It is many
// times the usual number.
const maxRounds = 500

// The check for linearizability detects each mutant and accepts the unchanged
// store.
func TestRaceMutantsAreDetected(t *testing.T) {
	t.Parallel()
	checkMutantsAreDetected(t, raceMutants, func(m *testMatch) bool {
		m = m.newMatch(arenaPlan(match.Buzzer), lobbyState())
		return isLinearizable(&m.newRaceHistory(m.startArena(playerIDs(rivalCount)...), []node{{Store: m.Store}}).history, questionModel{})
	})
}

func TestStepMutantsAreDetected(t *testing.T) {
	t.Parallel()
	checkMutantsAreDetected(t, stepMutants, func(m *testMatch) bool {
		m = m.newMatch(newPlan(), duelState())
		return isLinearizable(&m.newStepHistory(4, []node{{Store: m.Store}}).history, initialMatch)
	})
}

func checkMutantsAreDetected(t *testing.T, mutants map[string]mutant, playsLinearizably func(test *testMatch) bool) {
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test := m.startTest(t)
			for round := range maxRounds {
				if !playsLinearizably(test) {
					t.Logf("detected in round %d", round)
					return
				}
			}
			t.Errorf("the mutant is not detected in %d rounds", maxRounds)
		})
	}
	t.Run("no mutant", func(t *testing.T) {
		t.Parallel()
		test := mutant{}.startTest(t)
		for range 3 {
			if !playsLinearizably(test) {
				t.Error("the unchanged store is not linearizable")
			}
		}
	})
}

// startTest uses the embedded Redis, which has the least variation.
func (m mutant) startTest(t *testing.T) *testMatch {
	t.Helper()
	conn, err := redisx.Open(t.Context(), redisx.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if m.droppedCommand != "" {
		conn.Client.AddHook(m)
	}
	if m.script == nil {
		return &testMatch{T: t, Store: New(conn.Client, conn.Client), client: conn.Client}
	}
	scripter := swappedScripter{conn.Client, m.script.Hash(), m.source(t)}
	return &testMatch{T: t, Store: New(conn.Client, scripter), client: conn.Client}
}

// source returns the mutant's script. It fails if the product's script has
// changed so that the mutant does not apply.
func (m mutant) source(t *testing.T) *redis.Script {
	t.Helper()
	source := redisx.JoinScript(luaFiles, m.file)
	if redis.NewScript(source).Hash() != m.script.Hash() {
		t.Fatalf("the script does not come from %s.lua any more", m.file)
	}
	if n := strings.Count(source, m.replaced); n != 1 {
		t.Fatalf("%q is %d times in the script, not once", m.replaced, n)
	}
	return redis.NewScript(strings.Replace(source, m.replaced, m.replacement, 1))
}

// swappedScripter runs another script instead of one.
type swappedScripter struct {
	redis.Scripter
	hash        string
	replacement *redis.Script
}

func (s swappedScripter) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if sha == s.hash {
		return s.replacement.Run(ctx, s.Scripter, keys, args...)
	}
	return s.Scripter.EvalSha(ctx, sha, keys, args...)
}

func (m mutant) drops(cmd redis.Cmder) bool { return cmd.Name() == m.droppedCommand }

// DialHook implements redis.Hook.
func (m mutant) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (m mutant) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if m.drops(cmd) {
			return nil
		}
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (m mutant) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return next(ctx, slices.DeleteFunc(slices.Clone(cmds), m.drops))
	}
}
