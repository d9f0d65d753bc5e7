package bench

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// The log lists a script after its commands, newest first, and other commands by themselves.
func TestCommandsCountForTheirScript(t *testing.T) {
	t.Parallel()
	const inScript, client = "?:0", "127.0.0.1:1"
	names := scriptNames(t.Context())
	var hash string
	for h, name := range names {
		if name == "apply_step" {
			hash = h
		}
	}
	parts := countCommands([]redis.SlowLog{
		{Args: []string{"evalsha", hash}, Duration: 30 * time.Microsecond, ClientAddr: client},
		{Args: []string{"HSET", "m"}, ClientAddr: inScript},
		{Args: []string{"HMGET", "m"}, ClientAddr: inScript},
		{Args: []string{"rpush", "q"}, Duration: 3 * time.Microsecond, ClientAddr: client},
		{Args: []string{"evalsha", hash}, Duration: 50 * time.Microsecond, ClientAddr: client},
	}, names, []string{"hset", "rpush"})
	step, push := parts["apply_step"], parts["rpush"]
	if len(parts) != 2 || len(step.times) != 2 || step.commands != 2 || step.writes != 1 || push.commands != 1 || push.writes != 1 {
		t.Errorf("step %+v, push %+v", step, push)
	}
	if f := step.figures(step.times, 4); f[0] != 0.5 || f[1] != 25 || f[2] != 0.5 {
		t.Errorf("figures %v, want 0.5 calls of 50 µs with 1 command for each of 4 answers", f)
	}
}

func TestNodePartIsThatOfTheFirstRule(t *testing.T) {
	t.Parallel()
	for stack, want := range map[string]string{
		"runtime.mallocgc\nlaststand/internal/match.(*stepRun).run\nlaststand/internal/match.(*judge).followUpAnswer": "close, reveal, open, end",
		"github.com/redis/go-redis/v9.(*Cmd).readReply\nlaststand/internal/match.(*judge).Answer":                     "Redis client",
		"main.main": "others",
	} {
		if part := nodePart(stack); part != want {
			t.Errorf("%q is in the part %q, want %q", stack, part, want)
		}
	}
}
