package bench

import (
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts by it
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/report"
)

// nodeRules name the part of a sample by the functions on its stack. The first rule with one
// of them counts.
var nodeRules = []struct{ part, functions string }{
	{"garbage collection", "runtime.gcBgMarkWorker runtime.bgsweep runtime.gcAssistAlloc runtime.bgscavenge runtime.gcStart"},
	{"settlement, leaderboards", "internal/settle. internal/ledger. internal/leaderboard"},
	{"sockets: write", "internal/wsconn.(*Conn).Write internal/ws.(*outbox)"},
	{"Redis client", "github.com/redis/go-redis"},
	{"matchmaking, creation", "internal/lobby. match.(*Engine).StartDuel"},
	{"close, reveal, open, end", "match.(*stepRun)"},
	{"answer: push", "match.(*judge).followUpAnswer"},
	{"answer: judge, store", "match.(*judge).Answer redismatch.(*batcher)"},
	{"sockets: read, dispatch", "internal/wsconn. internal/ws."},
	{"scheduler", "runtime.schedule runtime.mcall runtime.findRunnable runtime.sysmon"},
	{"others", ""},
}

func nodePart(stack string) string {
	for _, rule := range nodeRules {
		if slices.ContainsFunc(strings.Split(rule.functions, " "), func(f string) bool { return strings.Contains(stack, f) }) {
			return rule.part
		}
	}
	return ""
}

// nodeProfiles are the paths of profiles of a node: its processor time between two times, and
// all allocations before each of them.
type nodeProfiles struct{ before, cpu, after string }

func profileNode(ctx context.Context, n *testenv.Node, duration time.Duration) (nodeProfiles, error) {
	paths := nodeProfiles{filepath.Join(n.Dir, "before"), filepath.Join(n.Dir, "cpu"), filepath.Join(n.Dir, "after")}
	for _, profile := range []struct{ path, name string }{
		{paths.before, "heap?gc=1"}, {paths.cpu, fmt.Sprintf("profile?seconds=%.0f", duration.Seconds())}, {paths.after, "heap?gc=1"},
	} {
		content, err := n.Profile(ctx, profile.name)
		if err != nil {
			return paths, err
		}
		if err := os.WriteFile(profile.path, content, 0o600); err != nil {
			return paths, err
		}
	}
	return paths, nil
}

// addNodeCosts adds the work of a node for each answer by its parts.
func addNodeCosts(ctx context.Context, t *report.Table, paths nodeProfiles, answers float64) error {
	figures := make(map[string][]float64)
	for _, rule := range nodeRules {
		figures[rule.part] = make([]float64, 3)
	}
	for i, arguments := range [][]string{
		{"-sample_index=cpu", "-unit=us", paths.cpu}, {"-sample_index=alloc_objects", "-base=" + paths.before, paths.after},
		{"-sample_index=alloc_space", "-unit=B", "-base=" + paths.before, paths.after},
	} {
		out, err := exec.CommandContext(ctx, "go", append([]string{"tool", "pprof", "-traces"}, arguments...)...).Output()
		if err != nil {
			return fmt.Errorf("go tool pprof: %w", err)
		}
		for _, sample := range strings.Split(string(out), "-----------+-------------------------------------------------------\n")[1:] {
			if strings.HasPrefix(strings.TrimSpace(sample), "bytes:") { // the size of each allocation
				_, sample, _ = strings.Cut(sample, "\n")
			}
			number, stack, _ := strings.Cut(strings.TrimSpace(sample), " ")
			if value, err := strconv.ParseFloat(strings.TrimRight(number, "usB"), 64); err == nil {
				figures[nodePart(stack)][i] += value / answers
			}
		}
	}
	all := make([]float64, 3)
	for _, rule := range nodeRules {
		t.Add(rule.part, figures[rule.part]...)
		for i, figure := range figures[rule.part] {
			all[i] += figure
		}
	}
	t.Add("all", all...)
	return nil
}

// scriptNames returns the names of the scripts of this tree by their hashes. A script can
// consist of two files of a folder; then the second gives the name.
func scriptNames(ctx context.Context) (map[string]string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	names, earlier := make(map[string]string), make(map[string][][]byte) // earlier files by folder
	err = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(root)), "internal"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".lua" {
			return err
		}
		script, err := os.ReadFile(path)
		folder := filepath.Dir(path)
		for _, first := range append(earlier[folder], nil) {
			hash := sha1.Sum(slices.Concat(first, script)) //nolint:gosec // as above
			names[hex.EncodeToString(hash[:])] = strings.TrimSuffix(entry.Name(), ".lua")
		}
		earlier[folder] = append(earlier[folder], script)
		return err
	})
	return names, err
}
