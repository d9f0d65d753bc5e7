package bench

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/loadtest/report"
)

// costTables show the work for an answer by its parts.
type costTables struct{ redis, node *report.Table }

func newCostTables(r *report.Report) *costTables {
	return &costTables{
		redis: r.Table("Redis, for each answer", report.Column{Name: "calls", Decimals: 2}, report.Column{Name: "µs", Decimals: 1},
			report.Column{Name: "commands", Decimals: 1}, report.Column{Name: "writes", Decimals: 1}),
		node: r.Table("node, for each answer", report.Column{Name: "µs", Decimals: 1}, report.Column{Name: "allocations", Decimals: 1}, report.Column{Name: "bytes"}),
	}
}

// measureCosts measures players for a time after the warm-up, and adds the work by its parts.
func (c *cluster) measureCosts(ctx context.Context, k playCase, p *answeringPlayers) error {
	if err := p.wait(ctx, p.firstOver, k.warmUp); err != nil {
		return err
	}
	from, err := c.readUsage(ctx)
	if err != nil {
		return err
	}
	answers := p.replies.Load()
	profiles, err := profileNode(ctx, c.nodes[0], k.duration)
	if err != nil {
		return err
	}
	answers = p.replies.Load() - answers
	to, err := c.readUsage(ctx)
	if err != nil {
		return err
	}
	if err := c.addRedisCosts(ctx, k.costs.redis, p, (to.work["Redis µs"]-from.work["Redis µs"])/float64(answers)); err != nil {
		return err
	}
	return addNodeCosts(ctx, k.costs.node, profiles, float64(answers))
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
	return []float64{calls / answers, calls * report.Median(times, micros) / answers, r.commands / answers, r.writes / answers}
}

// smallPart is the time of a part that gets no row of its own, in µs for each answer.
const smallPart = 0.3

// addRedisCosts adds the work of Redis for each answer, from its log of commands. totalMicros
// is its processor time for an answer without that log.
func (c *cluster) addRedisCosts(ctx context.Context, t *report.Table, p *answeringPlayers, totalMicros float64) error {
	names, err := scriptNames(ctx)
	if err != nil {
		return err
	}
	master := c.masters[0]
	writes, err := master.CommandList(ctx, &redis.FilterBy{ACLCat: "write"}).Result()
	if err != nil {
		return err
	}
	slow, err := logCommands(ctx, master, 10*time.Microsecond) // a log of all commands would delay the scripts
	if err != nil {
		return err
	}
	before := p.replies.Load()
	all, err := logCommands(ctx, master, 0)
	if err != nil {
		return err
	}
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
	return nil
}

// logCommands returns the commands of a Redis that take at least some time, during a second.
// The newest come first, and a script before its own commands.
func logCommands(ctx context.Context, master *redis.Client, atLeast time.Duration) ([]redis.SlowLog, error) {
	threshold := strconv.FormatInt(atLeast.Microseconds(), 10)
	for _, setting := range [][2]string{{"slowlog-max-len", "1000000"}, {"slowlog-log-slower-than", threshold}, {"slowlog-log-slower-than", "-1"}} {
		if err := master.ConfigSet(ctx, setting[0], setting[1]).Err(); err != nil {
			return nil, err
		}
		if setting[1] == threshold {
			time.Sleep(time.Second)
		}
	}
	defer master.SlowLogReset(ctx)
	return master.SlowLogGet(ctx, -1).Result()
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
