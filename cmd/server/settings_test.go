package main

import (
	"maps"
	"os"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"laststand/internal/cli"
	"laststand/internal/config"
	"laststand/internal/testenv"
)

// settingValues are all settings that a flag, the environment and the file can give, with a value
// for each.
var settingValues = map[string][3]string{ // by flag: file, environment, flag
	"listen":     {"127.0.0.1:1001", "127.0.0.1:1002", "127.0.0.1:1003"},
	"ops-listen": {"127.0.0.1:2001", "127.0.0.1:2002", "127.0.0.1:2003"},
	"data":       {"of-file", "of-env", "of-flag"},
	"redis":      {"redis://file:6379", "redis://env:6379", "rediss://flag:6379"},
	"database":   {"postgres://file/x", "postgres://env/x", "postgres://flag/x"},
	"drain":      {"1s", "2s", "3s"},
}

func fileKey(flag string) string { return strings.ReplaceAll(flag, "-", "_") }

func envName(flag string) string { return "LASTSTAND_" + strings.ToUpper(fileKey(flag)) }

// A flag takes precedence over the environment, and the environment over the file.
func TestFlagBeatsEnvironmentBeatsFile(t *testing.T) {
	t.Parallel()
	var file strings.Builder
	var env, flags []string
	for flag, value := range settingValues {
		file.WriteString(fileKey(flag) + ": " + value[0] + "\n")
		env = append(env, envName(flag)+"="+value[1])
		flags = append(flags, "--"+flag+"="+value[2])
	}
	path := configFile(t, file.String())
	for level, run := range []struct{ env, args []string }{
		{[]string{"LASTSTAND_CONFIG=" + path}, []string{"config"}},
		{env, []string{"config", "--config=" + path}},
		{env, append(flags, "config", "--config="+path)},
	} {
		code, out, stderr := commandIn(t, run.env, run.args...)
		if code != 0 {
			t.Fatalf("ended with %d: %s", code, stderr)
		}
		var printed map[string]any
		testenv.NoError(t, yaml.Unmarshal([]byte(out), &printed))
		for flag, value := range settingValues {
			if got := printed[fileKey(flag)]; got != value[level] {
				t.Errorf("with %v in %v: %s is %v, want %s", run.args, run.env, flag, got, value[level])
			}
		}
	}
}

// The server accepts the sample of the wire contract without a warning. The sample has the
// defaults, except keys and a sink.
func TestTheSampleConfigurationIsAccepted(t *testing.T) {
	t.Parallel()
	sample := testenv.Need(os.ReadFile("testdata/contract.yaml"))(t)
	path := configFile(t, string(sample))
	testenv.WriteBeside(t, path, "demo.key", strings.Repeat("k", 32))
	testenv.WriteBeside(t, path, "hook.key", testenv.NewWebhookKey)
	dir := t.TempDir()
	node := startNode(t, cli.Flags{Config: path, Data: &dir})
	for _, line := range node.warnings() {
		t.Errorf("the server logs a warning: %s", line)
	}
	c := testenv.Need(config.Read(path))(t)
	demo := c.Games["demo"]
	wantLimits := config.Default().Limits
	demo.Keys, demo.Behaviours.Report, demo.Behaviours.Sink = nil, nil, config.DefaultGame().Behaviours.Sink
	if !reflect.DeepEqual(demo, config.DefaultGame()) || !reflect.DeepEqual(c.Limits, wantLimits) {
		t.Errorf("the sample has   %+v, %+v\nthe defaults are %+v, %+v", demo, c.Limits, config.DefaultGame(), wantLimits)
	}
}

// A game that sets some fields has the defaults of the others.
func TestAGameHasDefaultsForMissingFields(t *testing.T) {
	t.Parallel()
	c, err := config.Read(configFile(t, "games:\n  bare:\n  empty: {}\n  some: {duel: {questions: 3}, leaderboards: {weights: {speed: 2}}}\nlimits: {connections: 7}\n"))
	if err != nil {
		t.Fatal(err)
	}
	testenv.NoError(t, c.Validate())
	some := config.DefaultGame()
	some.Duel.Questions, some.Leaderboards.Weights.Speed = 3, 2
	want := map[string]config.Game{"bare": config.DefaultGame(), "empty": config.DefaultGame(), "some": some}
	if !maps.EqualFunc(c.Games, want, func(a, b config.Game) bool { return reflect.DeepEqual(a, b) }) {
		t.Errorf("the games are %+v\nwant          %+v", c.Games, want)
	}
	limits := config.Default().Limits
	if limits.Connections = 7; !reflect.DeepEqual(c.Limits, limits) || c.Listen != config.Default().Listen {
		t.Errorf("limits %+v, listen %q", c.Limits, c.Listen)
	}
}
