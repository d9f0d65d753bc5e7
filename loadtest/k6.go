package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
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

// k6Options are the flags and the arguments of k6Command.
type k6Options struct {
	k6, server  string
	timeout     time.Duration
	script      string
	environment []string // NAME=VALUE for the script
}

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

// k6Command runs a k6 script against a server that it starts, in the root of the repository.
// loadtest/k6/README.md lists the scripts and their settings.
//
//	go install go.k6.io/k6@v1.8.1                        # once
//	go run ./loadtest k6 short                           # as CI does
//	go run ./loadtest k6 soak VUS=20 DURATION=20m
//
// It fails if the server broke a rule, or was slower than the script allows. The script
// short also demands that k6 checked every rule. Then it runs again, and what k6 receives
// breaks each rule: k6 must find every breach.
func k6Command(flags *flag.FlagSet) func(context.Context) error {
	var o k6Options
	flags.StringVar(&o.k6, "k6", "k6", "`path` of k6")
	flags.StringVar(&o.server, "server", "", "start this `binary` instead of this tree")
	flags.DurationVar(&o.timeout, "within", 24*time.Hour, "end the run after this time; it has then failed")
	return func(ctx context.Context) error {
		if flags.NArg() == 0 {
			return errors.New("no script is named; use a script of loadtest/k6, such as duel")
		}
		o.script, o.environment = flags.Arg(0), flags.Args()[1:]
		ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("%s did not end within %v", o.script, o.timeout))
		defer cancel()
		err := o.run(ctx)
		return errors.Join(context.Cause(ctx), err)
	}
}

func (o k6Options) run(ctx context.Context) (err error) {
	binary, err := testenv.BuildServer(ctx, o.server)
	if err != nil {
		return err
	}
	options, isShort := testenv.NodeOptions{Binary: binary, Game: defaultGame}, o.script == "short"
	switch o.script {
	case "short":
		options.Game = shortGame
		o.environment = append([]string{"VUS=2", "DURATION=5s", "THINK=100", "P99=0", "TWICE=0.5", "RESUMES=0.3"}, o.environment...)
	case "spike": // matches start and end before, during and after the spike
		options.Settings = fmt.Sprintf(spikeSettings, strings.TrimSuffix(shortGame, "}"), testenv.KeysYAML)
	}
	node, err := testenv.StartNode(ctx, options)
	if err != nil {
		return err
	}
	defer func() { _, stopped := node.Stop(); err = errors.Join(err, stopped) }()
	k := script{
		k6: o.k6, path: filepath.Join("loadtest", "k6", o.script+".js"), export: filepath.Join(node.Dir, "summary.json"),
		environment: append(o.environment, "KEY_FILE="+node.KeyFile(), "KEY_ID="+testenv.KeyID),
	}
	err = k.runUnmodified(ctx, node.URL, node.OpsURL, isShort)
	if err == nil && isShort {
		err = k.runWithFaults(ctx, node.URL, node.OpsURL)
	}
	if log := node.Log(); strings.Contains(log, "DATA RACE") {
		err = errors.Join(err, fmt.Errorf("the server has a race:\n%s", log))
	}
	return err
}

// thresholdExitCode is the exit code of k6 if a threshold does not hold.
const thresholdExitCode = 99

// script is a k6 script, and how to run it.
type script struct {
	k6, path    string
	export      string // file for the summary
	environment []string
}

// checkCount is how often a rule held and how often it was broken.
type checkCount struct{ Passes, Fails int }

// runUnmodified runs the script against the server. If mustCheckAll is set, k6 must have
// checked each rule.
func (s script) runUnmodified(ctx context.Context, url, ops string, mustCheckAll bool) error {
	exitCode, rules, output, err := s.run(ctx, url, ops)
	if err != nil {
		return err
	}
	fmt.Print(output)
	if exitCode != 0 {
		return fmt.Errorf("k6 ended with %d: the server broke a rule, or was too slow", exitCode)
	}
	var unchecked []string
	for name, count := range rules {
		if count.Passes == 0 && name != "refusal" { // a run without refusals is correct
			unchecked = append(unchecked, name)
		}
	}
	if mustCheckAll && (len(unchecked) > 0 || len(rules) == 0) {
		return fmt.Errorf("k6 did not check these of %d rules: %v", len(rules), unchecked)
	}
	return nil
}

// runWithFaults runs the script so that what it receives breaks each rule. k6 must find every
// breach.
func (s script) runWithFaults(ctx context.Context, url, ops string) error {
	s.environment = append(s.environment, "FAULTS=1", "PUSH_TIMEOUT=5", "GRACE=5s") // clients need not wait long for messages that a fault has removed
	exitCode, rules, output, err := s.run(ctx, url, ops)
	if err != nil {
		return err
	}
	found, missed := brokenRules(rules)
	fmt.Printf("breaches found: %v\n", found)
	if exitCode != thresholdExitCode || len(missed) > 0 {
		return fmt.Errorf("%s\nk6 ended with %d and did not find the breaches of: %v", output, exitCode, missed)
	}
	return nil
}

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

// run returns the exit code of k6, the counts of its rules and its output.
func (s script) run(ctx context.Context, url, ops string) (exitCode int, rules map[string]checkCount, output string, err error) {
	cmd := exec.CommandContext(ctx, s.k6, "run", "--quiet", "--no-color", "--address", "127.0.0.1:0", "--summary-export", s.export, s.path)
	cmd.Env = append(append(os.Environ(), "K6_NO_USAGE_REPORT=true", "URL="+url, "OPS="+ops), s.environment...)
	out, err := cmd.CombinedOutput()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && ended.ExitCode() == thresholdExitCode {
		exitCode = thresholdExitCode
	} else if err != nil {
		return 0, nil, "", fmt.Errorf("%s: %w\n%s", s.k6, err, out)
	}
	summary, err := os.ReadFile(s.export)
	if err != nil {
		return exitCode, nil, "", err
	}
	rules, err = readRules(summary)
	return exitCode, rules, string(out), err
}

// readRules reads the counts of the rules from the summary that k6 exports.
func readRules(summary []byte) (map[string]checkCount, error) {
	var s struct {
		Metrics map[string]json.RawMessage `json:"metrics"`
	}
	if err := json.Unmarshal(summary, &s); err != nil {
		return nil, err
	}
	rules := make(map[string]checkCount)
	for name, raw := range s.Metrics {
		rule, ok := strings.CutPrefix(name, "checks{rule:")
		if !ok {
			continue
		}
		var count checkCount
		if err := json.Unmarshal(raw, &count); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		rules[strings.TrimSuffix(rule, "}")] = count
	}
	return rules, nil
}
