package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
)

// A breach is one sentence that breaks a rule.
type breach struct {
	place   string // the file and the line
	rule    string
	message string
}

func (b breach) String() string { return fmt.Sprintf("%s: %s (%s)", b.place, b.message, b.rule) }

// alert is one finding in Vale's JSON.
type alert struct {
	Check   string
	Line    int
	Message string
}

// runVale runs Vale in the folder root. For a file with places, a finding in line
// i, counted from 1, is reported for places[i-1].
func runVale(vale, root string, files []string, places map[string][]string) ([]breach, error) {
	command := exec.Command(vale, append([]string{"--no-global", "--output=JSON"}, files...)...) //nolint:noctx // it ends with its input
	command.Dir = root
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Run(); err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 { // 1: there are findings
			return nil, fmt.Errorf("vale failed: %w: %s%s", err, &out, &errs)
		}
	}
	return parse(out.Bytes(), places)
}

func parse(output []byte, places map[string][]string) ([]breach, error) {
	var found map[string][]alert
	if err := json.Unmarshal(output, &found); err != nil {
		return nil, fmt.Errorf("vale printed no JSON: %w: %s", err, output)
	}
	var breaches []breach
	for file, alerts := range found {
		for _, a := range alerts {
			place := fmt.Sprintf("%s:%d", file, a.Line)
			if lines, ok := places[file]; ok && a.Line >= 1 && a.Line <= len(lines) {
				place = lines[a.Line-1]
			}
			breaches = append(breaches, breach{place, a.Check, a.Message})
		}
	}
	slices.SortFunc(breaches, func(a, b breach) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.rule, b.rule), cmp.Compare(a.message, b.message))
	})
	return breaches, nil
}
