package bench

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"laststand/internal/testenv"
)

// usage is the work of all processes so far.
type usage struct {
	at                       time.Time
	machine                  testenv.MachineTime
	nodes, postgres, clients time.Duration // processor time
	masters                  []redisUsage
	rows                     float64 // written to PostgreSQL, without those of the last second

	messages  float64 // sent between nodes
	matches   float64 // started
	steps     float64 // match steps that a node has done
	lostSteps float64 // match steps that another node has done first
	pushGaps  float64 // pushes that a node has read from Redis, because it missed them
}

// redisUsage is the work and the memory of one redis-server.
type redisUsage struct {
	cpu             time.Duration
	reads, commands float64 // reads from its connections; commands, including those in scripts
	in, out         float64 // bytes
	memory          float64 // bytes, without the buffers of its clients
}

// readUsage reads all counters.
func (c *cluster) readUsage(ctx context.Context) (u usage, err error) {
	u.at = time.Now()
	if u.machine, err = testenv.ReadMachineTime(); err != nil {
		return u, err
	}
	if u.clients, err = testenv.CPUTime(os.Getpid()); err != nil {
		return u, err
	}
	if err := c.readStores(ctx, &u); err != nil {
		return u, err
	}
	for _, n := range c.nodes {
		spent, err := testenv.CPUTime(n.PID())
		if err != nil {
			return u, err
		}
		u.nodes += spent
		m, err := n.Metrics(ctx)
		if err != nil {
			return u, err
		}
		u.messages += m.Sum("laststand_inbox_messages_sent_total")
		u.matches += m.Sum("laststand_match_starts_total")
		u.steps += m.Sum("laststand_match_steps_total", `outcome="taken"`)
		u.lostSteps += m.Sum("laststand_match_steps_total", `outcome="lost"`)
		u.pushGaps += m.Sum("laststand_match_push_gaps_total")
	}
	return u, nil
}

func (c *cluster) readStores(ctx context.Context, u *usage) (err error) {
	for _, master := range c.masters {
		info, err := master.Info(ctx, "everything").Result()
		if err != nil {
			return err
		}
		r, err := parseRedisInfo(info)
		if err != nil {
			return err
		}
		u.masters = append(u.masters, r)
	}
	if c.ledger == nil {
		return nil
	}
	if u.postgres, err = testenv.CPUTimeWithChildren(c.postgres.PID()); err != nil {
		return err
	}
	return c.ledger.QueryRow(ctx, "SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::float8 FROM pg_stat_user_tables").Scan(&u.rows)
}

// parseRedisInfo reads the result of INFO.
func parseRedisInfo(info string) (r redisUsage, err error) {
	fields := make(map[string]string)
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[name] = value
	}
	number := func(name string) float64 {
		n, wrong := strconv.ParseFloat(fields[name], 64)
		if wrong != nil && err == nil {
			err = fmt.Errorf("INFO: %s: %w", name, wrong)
		}
		return n
	}
	r.cpu = time.Duration((number("used_cpu_user") + number("used_cpu_sys")) * float64(time.Second))
	r.reads, r.commands = number("total_reads_processed"), number("total_commands_processed")
	r.in, r.out = number("total_net_input_bytes"), number("total_net_output_bytes")
	r.memory = number("used_memory") - number("mem_clients_normal")
	return r, err
}

// redis returns the sum of all masters.
func (u usage) redis() (sum redisUsage) {
	for _, m := range u.masters {
		sum.cpu += m.cpu
		sum.reads, sum.commands = sum.reads+m.reads, sum.commands+m.commands
		sum.in, sum.out, sum.memory = sum.in+m.in, sum.out+m.out, sum.memory+m.memory
	}
	return sum
}

// busiestMasterRatio returns the commands of the busiest master, divided by the mean of all.
func busiestMasterRatio(from, to usage) float64 {
	var commands []float64
	for i, m := range to.masters {
		commands = append(commands, m.commands-from.masters[i].commands)
	}
	if len(commands) == 0 {
		return 0
	}
	return slices.Max(commands) * float64(len(commands)) / max(to.redis().commands-from.redis().commands, 1)
}
