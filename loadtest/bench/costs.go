package bench

import (
	"cmp"
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts by it
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

// newCostPart returns the measurement of the work for an answer by its parts. It adds a table of the
// work of Redis and one of the node.
func newCostPart(r *players.Report, name string, on testenv.NodeOptions, play playOptions, warmUp, duration time.Duration) part {
	onRedis := r.Table("Redis, for each answer", "calls", "µs", "commands", "writes")
	onNode := r.Table("node, for each answer", "µs", "allocations", "bytes")
	return playPart(name, on, play, func(ctx context.Context, p *answeringPlayers) {
		p.start()
		node := p.cluster.All[0]
		m := p.measureDuring(ctx, warmUp, func() { profileNode(ctx, node, duration) })
		answers := float64(m.answers.N)
		p.addRedisCosts(ctx, onRedis, (m.to.cpu["Redis µs"]-m.from.cpu["Redis µs"])/answers)
		addNodeCosts(ctx, onNode, node, answers)
	})
}

// redisCost is the work of Redis in a script, or in a command outside of scripts.
type redisCost struct {
	times            []time.Duration // of each call
	commands, writes float64
}

// figures returns the figures of a row. Other processes interrupt some of the calls, so each
// call counts with the median of some times.
func (r *redisCost) figures(times []time.Duration, answers float64) []float64 {
	calls := float64(len(r.times))
	return []float64{calls / answers, calls * players.Median(times, micros) / answers, r.commands / answers, r.writes / answers}
}

// smallPart is the time of a part that gets no row of its own, in µs for each answer.
const smallPart = 0.3

// addRedisCosts adds the work of Redis for each answer, from its log of commands. totalMicros
// is its processor time for an answer without that log.
func (p *answeringPlayers) addRedisCosts(ctx context.Context, t *players.Table, totalMicros float64) {
	names, master := scriptNames(ctx), p.cluster.masters[0]
	writes := testenv.Must(master.CommandList(ctx, &redis.FilterBy{ACLCat: "write"}).Result())
	slow := logCommands(ctx, master, 10*time.Microsecond) // a log of all commands would delay the scripts
	before := p.replies.Load()
	all := logCommands(ctx, master, 0)
	answers := float64(p.replies.Load() - before)
	parts, slowParts := countCommands(all, names, writes), countCommands(slow, names, writes)
	others, rest := make([]float64, 4), totalMicros
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		times := parts[name].times
		if slowPart := slowParts[name]; slowPart != nil && 2*len(slowPart.times) > len(times) {
			times = slowPart.times
		}
		figures := parts[name].figures(times, answers)
		rest -= figures[1]
		if figures[1] > smallPart {
			t.Add(name, figures...)
			continue
		}
		for i := range others {
			others[i] += figures[i]
		}
	}
	t.Add("others", others...)
	t.Add("sockets, protocol", 0, rest, 0, 0)
}

// logCommands returns the commands of a Redis that take at least some time, during a second.
// The newest come first, and a script before its own commands.
func logCommands(ctx context.Context, master *redis.Client, atLeast time.Duration) []redis.SlowLog {
	set := func(setting string, value int64) {
		testenv.MustDo(master.ConfigSet(ctx, setting, strconv.FormatInt(value, 10)).Err())
	}
	set("slowlog-max-len", 1_000_000)
	set("slowlog-log-slower-than", atLeast.Microseconds())
	time.Sleep(time.Second)
	set("slowlog-log-slower-than", -1)
	defer master.SlowLogReset(ctx)
	return testenv.Must(master.SlowLogGet(ctx, -1).Result())
}

// countCommands returns the work by script, and by command outside of scripts.
func countCommands(log []redis.SlowLog, names map[string]string, writes []string) map[string]*redisCost {
	parts, part := make(map[string]*redisCost), new(redisCost)
	for _, entry := range log {
		name := strings.ToLower(entry.Args[0])
		isScript, isWrite := name == "evalsha", slices.Contains(writes, name)
		if isScript {
			name = cmp.Or(names[entry.Args[1]], "unknown script")
		}
		if entry.ClientAddr != "?:0" { // not a command of the last script
			if part = parts[name]; part == nil {
				part = new(redisCost)
				parts[name] = part
			}
			part.times = append(part.times, entry.Duration)
		}
		if !isScript {
			part.commands++
		}
		if isWrite {
			part.writes++
		}
	}
	return parts
}

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

// profileNode writes profiles into the folder of a node: its processor time between two times, and
// all allocations before each of them.
func profileNode(ctx context.Context, n *testenv.Node, duration time.Duration) {
	for _, profile := range [][2]string{{"before", "heap?gc=1"}, {"cpu", fmt.Sprintf("profile?seconds=%.0f", duration.Seconds())}, {"after", "heap?gc=1"}} {
		testenv.MustDo(os.WriteFile(filepath.Join(n.Dir, profile[0]), testenv.Must(n.Profile(ctx, profile[1])), 0o600))
	}
}

// addNodeCosts adds the work of a node for each answer by its parts.
func addNodeCosts(ctx context.Context, t *players.Table, n *testenv.Node, answers float64) {
	before, after := filepath.Join(n.Dir, "before"), filepath.Join(n.Dir, "after")
	figures, all := make(map[string][]float64), make([]float64, 3)
	for _, rule := range nodeRules {
		figures[rule.part] = make([]float64, 3)
	}
	for i, arguments := range [][]string{
		{"-sample_index=cpu", "-unit=us", filepath.Join(n.Dir, "cpu")}, {"-sample_index=alloc_objects", "-base=" + before, after},
		{"-sample_index=alloc_space", "-unit=B", "-base=" + before, after},
	} {
		out := testenv.Must(testenv.Output(exec.CommandContext(ctx, "go", append([]string{"tool", "pprof", "-traces"}, arguments...)...)))
		for _, sample := range strings.Split(out, "-----------+-------------------------------------------------------\n")[1:] {
			if strings.HasPrefix(strings.TrimSpace(sample), "bytes:") { // the size of each allocation
				_, sample, _ = strings.Cut(sample, "\n")
			}
			number, stack, _ := strings.Cut(strings.TrimSpace(sample), " ")
			if value, err := strconv.ParseFloat(strings.TrimRight(number, "usB"), 64); err == nil {
				figures[nodePart(stack)][i] += value / answers
				all[i] += value / answers
			}
		}
	}
	for _, rule := range nodeRules {
		t.Add(rule.part, figures[rule.part]...)
	}
	t.Add("all", all...)
}

// scriptNames returns the names of the scripts of this tree by their hashes. A script can
// consist of two files of a folder; then the second gives the name.
func scriptNames(ctx context.Context) map[string]string {
	root := testenv.Must(testenv.Output(exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}")))
	names, earlier := make(map[string]string), make(map[string][][]byte) // earlier files by folder
	testenv.MustDo(filepath.WalkDir(filepath.Join(root, "internal"), func(path string, entry fs.DirEntry, err error) error {
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
	}))
	return names
}
