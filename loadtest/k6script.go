package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

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
