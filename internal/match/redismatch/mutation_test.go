package redismatch

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/lua"
	"laststand/internal/match"
	"laststand/internal/redisx"
)

// mutant is the store with one thing wrong: a script with a text changed, or
// commands that never reach the server.
type mutant struct {
	script   *redis.Script
	pieces   []string // of the script
	old, new string   // text in it
	deaf     string   // name of the commands
}

var (
	wrongPieces = []string{"verdict", "wrong", "accept"}
	stepPieces  = []string{"compare", "over", "step"}
	duelPieces  = []string{"verdict", "duel", "accept"}
)

// Texts of the scripts.
const (
	takesLock = "redis.call('SET', KEYS[lock + i], a[1], 'PX', ARGV[3])\n"
	compares  = "m[1] ~= ARGV[3] or m[2] ~= ARGV[4] or ARGV[5] ~= '0' and m[6] ~= ARGV[5]"
)

// What nodes race for is not linear any more with any of these.
var firstMutants = map[string]mutant{
	"an answer takes no lock":        {script: wrongScript, pieces: wrongPieces, old: takesLock},
	"an answer run again is another": {script: wrongScript, pieces: wrongPieces, old: "holders[i] == a[1]", new: "false"},
	"a race watches nothing":         {deaf: "watch"},
	"a race takes no lock":           {deaf: "set"},
	"a seal leaves the first":        {script: stepScript, pieces: stepPieces, old: "ARGV[9] ~= ''", new: "ARGV[9] == '1'"},
	"a seal compares nothing":        {script: stepScript, pieces: stepPieces, old: compares, new: "false"},
}

// A course is not linear any more with any of these.
var courseMutants = map[string]mutant{
	"a step compares nothing":     {script: stepScript, pieces: stepPieces, old: compares, new: "false"},
	"a step compares no question": {script: stepScript, pieces: stepPieces, old: "or m[2] ~= ARGV[4]"},
	"a step run again is another": {script: stepScript, pieces: stepPieces, old: "m[3] == ARGV[2]", new: "false"},
	"a step keeps no number":      {script: stepScript, pieces: stepPieces, old: "'seq', seq, "},
	"an answer takes no lock":     {script: duelScript, pieces: duelPieces, old: takesLock},
}

// mostRounds is how often a mutant is given a chance to show itself: many times
// what it needs.
const mostRounds = 500

// Each mutant is found out by the check of what nodes race for, so the check is
// worth something; what is no mutant passes.
func TestMutantsOfTheFirst(t *testing.T) {
	t.Parallel()
	findOut(t, firstMutants, func(p *play) bool {
		p = p.another(arenaPlan(match.Buzzer), lobbyState())
		p.seat(crowd(rivals)...)
		return linear(&p.contest(p.start(), []node{{Store: p.Store}}).history, question{})
	})
}

func TestMutantsOfACourse(t *testing.T) {
	t.Parallel()
	findOut(t, courseMutants, func(p *play) bool {
		p = p.another(newPlan(), duelState())
		return linear(&p.course(4, []node{{Store: p.Store}}).history, beginning)
	})
}

func findOut(t *testing.T, mutants map[string]mutant, linear func(p *play) bool) {
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := m.play(t)
			for round := range mostRounds {
				if !linear(p) {
					t.Logf("found out in round %d", round)
					return
				}
			}
			t.Errorf("it survives %d rounds", mostRounds)
		})
	}
	t.Run("no mutant", func(t *testing.T) {
		t.Parallel()
		p := mutant{}.play(t)
		for range 3 {
			if !linear(p) {
				t.Error("it is not linear")
			}
		}
	})
}

// play is in the embedded Redis, where the fewest things differ.
func (m mutant) play(t *testing.T) *play {
	t.Helper()
	conn, err := redisx.Open(t.Context(), redisx.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if m.deaf != "" {
		conn.Client.AddHook(m)
	}
	if m.script == nil {
		return &play{T: t, Store: New(conn.Client, conn.Client), client: conn.Client}
	}
	swapped := swap{conn.Client, m.script.Hash(), m.source(t)}
	return &play{T: t, Store: New(conn.Client, swapped), client: conn.Client}
}

// source is the mutant's script. It fails where the product's has changed so
// that this is no mutant of it any more.
func (m mutant) source(t *testing.T) *redis.Script {
	t.Helper()
	source := lua.Join(sources, m.pieces...)
	if redis.NewScript(source).Hash() != m.script.Hash() {
		t.Fatalf("the script does not consist of %v any more", m.pieces)
	}
	if n := strings.Count(source, m.old); n != 1 {
		t.Fatalf("%q is %d times in the script, not once", m.old, n)
	}
	return redis.NewScript(strings.Replace(source, m.old, m.new, 1))
}

// swap runs another script in place of one.
type swap struct {
	redis.Scripter
	hash    string
	instead *redis.Script
}

func (s swap) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if sha == s.hash {
		return s.instead.Run(ctx, s.Scripter, keys, args...)
	}
	return s.Scripter.EvalSha(ctx, sha, keys, args...)
}

func (m mutant) drops(cmd redis.Cmder) bool { return cmd.Name() == m.deaf }

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
