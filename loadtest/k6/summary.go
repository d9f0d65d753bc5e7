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

// breached is what k6 ends with when a threshold does not hold.
const breached = 99

// k6 is how a script is run.
type k6 struct {
	binary, script string
	told           []string
}

// tally is how often a truth held and did not.
type tally struct{ Passes, Fails int }

// honest runs the script against the server; whole demands that each of its
// truths was looked at.
func (k k6) honest(ctx context.Context, url, ops string, whole bool) error {
	code, truths, said, err := k.run(ctx, url, ops)
	if err != nil {
		return err
	}
	fmt.Print(said)
	if code != 0 {
		return fmt.Errorf("k6 ended with %d: what it says above was untrue, or too slow", code)
	}
	var missed []string
	for name, t := range truths {
		if t.Passes == 0 && name != "refusal" { // nobody need be refused
			missed = append(missed, name)
		}
	}
	if whole && (len(missed) > 0 || len(truths) == 0) {
		return fmt.Errorf("of %d truths these were never looked at: %v", len(truths), missed)
	}
	return nil
}

// lied runs the script against a liar between it and the server.
func (k k6) lied(ctx context.Context, url, ops string) error {
	front, stop, err := lie(ctx, url)
	if err != nil {
		return err
	}
	defer stop()
	books, stopBooks, err := lie(ctx, ops)
	if err != nil {
		return err
	}
	defer stopBooks()
	k.told = append(k.told, "PATIENCE=5", "GRACE=5s") // who waits for what was kept from them need not be waited for
	code, truths, said, err := k.run(ctx, front, books)
	if err != nil {
		return err
	}
	found, missed := judge(truths)
	fmt.Printf("lies found: %v\n", found)
	if code != breached || len(missed) > 0 {
		return fmt.Errorf("%s\nk6 was lied to, ended with %d and did not find: %v", said, code, missed)
	}
	return nil
}

// judge says of which truths a breach was found, and of which none.
func judge(truths map[string]tally) (found, missed []string) {
	for _, name := range slices.Sorted(maps.Keys(truths)) {
		if truths[name].Fails > 0 {
			found = append(found, name)
		} else {
			missed = append(missed, name)
		}
	}
	if len(truths) == 0 {
		missed = []string{"any"}
	}
	return found, missed
}

// run gives k6's exit code, its truths and all it said.
func (k k6) run(ctx context.Context, url, ops string) (code int, truths map[string]tally, said string, err error) {
	export := filepath.Join(filepath.Dir(k.script), "summary.json")
	cmd := exec.CommandContext(ctx, k.binary, "run", "--quiet", "--no-color", "--address", "127.0.0.1:0", "--summary-export", export, k.script)
	cmd.Env = append(append(os.Environ(), "K6_NO_USAGE_REPORT=true", "URL="+url, "OPS="+ops), k.told...)
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
	truths, err = readTruths(raw)
	return code, truths, string(out), err
}

// readTruths reads them from the summary that k6 exports.
func readTruths(summary []byte) (map[string]tally, error) {
	var s struct {
		Metrics map[string]json.RawMessage `json:"metrics"`
	}
	if err := json.Unmarshal(summary, &s); err != nil {
		return nil, err
	}
	truths := make(map[string]tally)
	for name, raw := range s.Metrics {
		truth, ok := strings.CutPrefix(name, "checks{truth:")
		if !ok {
			continue
		}
		var t tally
		if err := json.Unmarshal(raw, &t); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		truths[strings.TrimSuffix(truth, "}")] = t
	}
	return truths, nil
}
