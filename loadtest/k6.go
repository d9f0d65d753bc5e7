package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"laststand/internal/testenv"
)

// defaultGame configures the game of all scripts except short and spike.
const defaultGame = "{duel: {bot_after_ms: 0, pair_limit_per_day: 0}}"

// shortGame configures the game of the scripts short and spike: matches of about two seconds.
const shortGame = "{duel: {questions: 3, time_limit_ms: 5000, countdown_ms: 100, reveal_ms: 100, bot_after_ms: 0, pair_limit_per_day: 0}, " +
	"arena: {time_limit_ms: 5000, countdown_ms: 200, reveal_ms: 100}}"

// spikeSettings is the configuration for the script spike. It removes the limits per
// address, per arena, per host and per player, because all players of k6 share one address.
// Other limits keep their defaults.
const spikeSettings = `games: {demo: %s, %s}}
limits: {guests_per_minute_per_address: 0, nickname_lookups_per_minute_per_address: 0, reads_per_second_per_address: 0, arena_guests_per_minute_per_address: 0,
  guests_per_minute_per_arena: 0, arenas_per_hour_per_host: 0, arenas_per_hour_per_address: 0, connections_per_address: 0, hellos_per_minute_per_address: 0,
  matches_per_day_per_player: 0, matches_per_day_per_address: 0}
`

// k6Run runs a k6 script against a server that it starts, in the root of the repository.
// loadtest/k6/README.md lists the scripts and their settings.
//
//	go install go.k6.io/k6@v1.8.1                        # once
//	go run ./loadtest k6 short                           # as CI does
//	go run ./loadtest k6 soak VUS=20 DURATION=20m
//
// It fails if the server broke a rule, or was slower than the script allows. The script
// short also demands that k6 checked every rule. Then it runs again, and what k6 receives
// breaks each rule: k6 must find every breach.
type k6Run struct {
	K6          string        `default:"k6" name:"k6" placeholder:"PATH" help:"Path of k6."`
	Server      string        `placeholder:"BINARY" help:"Start this binary instead of this tree."`
	Within      time.Duration `default:"24h" help:"End the run after this time; it has then failed."`
	Script      string        `arg:"" help:"A script of loadtest/k6, such as duel."`
	Environment []string      `arg:"" optional:"" help:"NAME=VALUE for the script."`

	node *testenv.Node
}

// Run runs the script. It fails by testenv.Must.
func (r *k6Run) Run(ctx context.Context) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.Within, fmt.Errorf("%s did not end within %v", r.Script, r.Within))
	defer cancel()
	err := r.run(ctx)
	testenv.MustDo(errors.Join(context.Cause(ctx), err))
}

// run starts the server and runs the script; short runs twice.
func (r *k6Run) run(ctx context.Context) (err error) {
	defer testenv.Recover(&err)
	options, isShort := testenv.NodeOptions{Binary: testenv.Must(testenv.BuildServer(ctx, r.Server)), Game: defaultGame}, r.Script == "short"
	switch r.Script {
	case "short":
		options.Game = shortGame
		r.Environment = append([]string{"VUS=2", "DURATION=5s", "THINK=100", "P99=0", "TWICE=0.5", "RESUMES=0.3"}, r.Environment...)
	case "spike": // matches start and end before, during and after the spike
		options.Settings = fmt.Sprintf(spikeSettings, strings.TrimSuffix(shortGame, "}"), testenv.KeysYAML)
	}
	r.node = testenv.Must(testenv.StartNode(ctx, options))
	defer func() {
		_, stopped := r.node.Stop()
		if err = errors.Join(err, stopped); strings.Contains(r.node.Log(), "DATA RACE") {
			err = errors.Join(err, fmt.Errorf("the server has a race:\n%s", r.node.Log()))
		}
	}()
	r.checkServer(ctx, isShort)
	if isShort {
		r.checkRules(ctx)
	}
	return nil
}

// checkServer runs the script against the server. If mustCheckAll is set, k6 must have
// checked each rule.
func (r *k6Run) checkServer(ctx context.Context, mustCheckAll bool) {
	isBroken, rules, output := r.runScript(ctx)
	fmt.Print(output)
	testenv.FailIf(isBroken, "k6 failed: the server broke a rule, or was too slow")
	var unchecked []string
	for name, count := range rules {
		if count.Passes == 0 && name != "refusal" { // a run without refusals is correct
			unchecked = append(unchecked, name)
		}
	}
	testenv.FailIf(mustCheckAll && (len(unchecked) > 0 || len(rules) == 0), "k6 did not check these of %d rules: %v", len(rules), unchecked)
}

// checkRules runs the script so that what it receives breaks each rule. k6 must find every
// breach.
func (r *k6Run) checkRules(ctx context.Context) {
	r.Environment = append(r.Environment, "FAULTS=1", "PUSH_TIMEOUT=5", "GRACE=5s") // clients need not wait long for messages that a fault has removed
	isBroken, rules, output := r.runScript(ctx)
	found, missed := brokenRules(rules)
	fmt.Printf("breaches found: %v\n", found)
	testenv.FailIf(!isBroken || len(missed) > 0, "%s\nk6 failed: %t, and did not find the breaches of: %v", output, isBroken, missed)
}

// checkCount is how often a rule held and how often it was broken.
type checkCount struct{ Passes, Fails int }

// brokenRules sorts the rules by whether k6 found a breach.
func brokenRules(rules map[string]checkCount) (found, missed []string) {
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		if rules[name].Fails > 0 {
			found = append(found, name)
		} else {
			missed = append(missed, name)
		}
	}
	if len(rules) == 0 {
		missed = []string{"all"}
	}
	return found, missed
}

// thresholdExitCode is the exit code of k6 if a threshold does not hold.
const thresholdExitCode = 99

// runScript returns whether a threshold did not hold, the counts of the rules and the output of k6.
func (r *k6Run) runScript(ctx context.Context) (isBroken bool, rules map[string]checkCount, output string) {
	export := filepath.Join(r.node.Dir, "summary.json")
	cmd := exec.CommandContext(ctx, r.K6, "run", "--quiet", "--no-color", "--address", "127.0.0.1:0", "--summary-export", export, filepath.Join("loadtest", "k6", r.Script+".js"))
	cmd.Env = append(append(os.Environ(), "K6_NO_USAGE_REPORT=true", "URL="+r.node.URL, "OPS="+r.node.OpsURL), r.Environment...)
	cmd.Env = append(cmd.Env, "KEY_FILE="+r.node.KeyFile(), "KEY_ID="+testenv.KeyID)
	out, err := cmd.CombinedOutput()
	ended, ok := errors.AsType[*exec.ExitError](err)
	isBroken = ok && ended.ExitCode() == thresholdExitCode
	testenv.FailIf(err != nil && !isBroken, "%s: %w\n%s", r.K6, err, out)
	return isBroken, readRules(testenv.Must(os.ReadFile(export))), string(out)
}

// readRules reads the counts of the rules from the summary that k6 exports.
func readRules(summary []byte) map[string]checkCount {
	var s struct {
		Metrics map[string]json.RawMessage `json:"metrics"`
	}
	testenv.MustDo(json.Unmarshal(summary, &s))
	rules := make(map[string]checkCount)
	for name, raw := range s.Metrics {
		if rule, ok := strings.CutPrefix(name, "checks{rule:"); ok {
			var count checkCount
			testenv.MustDo(json.Unmarshal(raw, &count))
			rules[strings.TrimSuffix(rule, "}")] = count
		}
	}
	return rules
}
