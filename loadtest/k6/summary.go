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
)

// breached is the exit code of k6 if a threshold does not hold.
const breached = 99

// k6 holds the arguments with which a script runs.
type k6 struct {
	binary, script string
	env            []string
}

// checkCount counts how often a rule held and how often it was broken.
type checkCount struct{ Passes, Fails int }

// runUnmodified runs the script against the server. If whole is set, each rule must have
// been checked.
func (k k6) runUnmodified(ctx context.Context, url, ops string, whole bool) error {
	code, ruleCounts, output, err := k.run(ctx, url, ops)
	if err != nil {
		return err
	}
	fmt.Print(output)
	if code != 0 {
		return fmt.Errorf("k6 ended with %d: what it says above was untrue, or too slow", code)
	}
	var missed []string
	for name, t := range ruleCounts {
		if t.Passes == 0 && name != "refusal" { // a run without refusals is correct
			missed = append(missed, name)
		}
	}
	if whole && (len(missed) > 0 || len(ruleCounts) == 0) {
		return fmt.Errorf("%d rules; these were never checked: %v", len(ruleCounts), missed)
	}
	return nil
}

// lied runs the script with a liar between k6 and the server.
func (k k6) lied(ctx context.Context, url, ops string) error {
	front, stop, err := lie(ctx, url)
	if err != nil {
		return err
	}
	defer stop()
	proxy, stopProxy, err := lie(ctx, ops)
	if err != nil {
		return err
	}
	defer stopProxy()
	k.env = append(k.env, "PUSH_TIMEOUT=5", "GRACE=5s") // clients need not wait long for messages that the liar has removed
	code, ruleCounts, output, err := k.run(ctx, front, proxy)
	if err != nil {
		return err
	}
	found, missed := judge(ruleCounts)
	fmt.Printf("lies found: %v\n", found)
	if code != breached || len(missed) > 0 {
		return fmt.Errorf("%s\nk6 was lied to, ended with %d and did not find: %v", output, code, missed)
	}
	return nil
}

// judge sorts the rules by whether k6 found a breach.
func judge(ruleCounts map[string]checkCount) (found, missed []string) {
	for _, name := range slices.Sorted(maps.Keys(ruleCounts)) {
		if ruleCounts[name].Fails > 0 {
			found = append(found, name)
		} else {
			missed = append(missed, name)
		}
	}
	if len(ruleCounts) == 0 {
		missed = []string{"any"}
	}
	return found, missed
}

// run returns the exit code of k6, the counts of its rules and its output.
func (k k6) run(ctx context.Context, url, ops string) (code int, ruleCounts map[string]checkCount, output string, err error) {
	export := filepath.Join(filepath.Dir(k.script), "summary.json")
	cmd := exec.CommandContext(ctx, k.binary, "run", "--quiet", "--no-color", "--address", "127.0.0.1:0", "--summary-export", export, k.script)
	cmd.Env = append(append(os.Environ(), "K6_NO_USAGE_REPORT=true", "URL="+url, "OPS="+ops), k.env...)
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() == breached {
		code = breached
	} else if err != nil {
		return 0, nil, "", fmt.Errorf("%s: %w\n%s", k.binary, err, out)
	}
	raw, err := os.ReadFile(export)
	if err != nil {
		return code, nil, "", err
	}
	ruleCounts, err = readRules(raw)
	return code, ruleCounts, string(out), err
}

// readRules reads the counts of the rules from the summary that k6 exports.
func readRules(summary []byte) (map[string]checkCount, error) {
	var s struct {
		Metrics map[string]json.RawMessage `json:"metrics"`
	}
	if err := json.Unmarshal(summary, &s); err != nil {
		return nil, err
	}
	ruleCounts := make(map[string]checkCount)
	for name, raw := range s.Metrics {
		rule, ok := strings.CutPrefix(name, "checks{rule:")
		if !ok {
			continue
		}
		var t checkCount
		if err := json.Unmarshal(raw, &t); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		ruleCounts[strings.TrimSuffix(rule, "}")] = t
	}
	return ruleCounts, nil
}
