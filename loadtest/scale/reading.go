package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/loadtest/harness"
)

// reading is the work of all processes so far.
type reading struct {
	at                time.Time
	machine           harness.Machine
	nodes             []time.Duration // processor time of each
	postgres, clients time.Duration
	masters           []master
	messages          float64 // sent between nodes
	matches           float64 // started
	steps, lost, gaps float64 // match steps: done; lost to another node; with an update that came too late
	rows              int64   // written to the ledger
}

// master is the work and the memory of one redis-server.
type master struct {
	cpu                        time.Duration
	reads, commands            int64
	in, out, published, memory int64 // bytes, messages, bytes
	calls                      map[string]int64
}

// read reads all counters. Those of PostgreSQL may lag by a second.
func (s *stage) read(ctx context.Context) (r reading, err error) {
	r.at = time.Now()
	if r.machine, err = harness.ReadMachine(); err != nil {
		return r, err
	}
	if r.clients, err = harness.Taken("self"); err != nil {
		return r, err
	}
	for _, one := range s.servers {
		taken, err := harness.Taken(strconv.Itoa(one.Process()))
		if err != nil {
			return r, err
		}
		r.nodes = append(r.nodes, taken)
	}
	if r.postgres, err = harness.Family(s.postgres); err != nil {
		return r, err
	}
	for _, client := range s.masters {
		m, err := readMaster(ctx, client)
		if err != nil {
			return r, err
		}
		r.masters = append(r.masters, m)
	}
	return r, s.readInside(ctx, &r)
}

// readInside reads the metrics of the nodes and the counters of the ledger.
func (s *stage) readInside(ctx context.Context, r *reading) error {
	for _, one := range s.servers {
		m, err := one.Metrics(ctx)
		if err != nil {
			return err
		}
		r.messages += m.Sum("laststand_inbox_messages_sent_total")
		r.matches += m.Sum("laststand_match_starts_total")
		r.steps += m.Sum("laststand_match_steps_total", `outcome="taken"`)
		r.lost += m.Sum("laststand_match_steps_total", `outcome="lost"`)
		r.gaps += m.Sum("laststand_match_push_gaps_total")
	}
	return s.ledger.QueryRow(ctx, "SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint FROM pg_stat_user_tables").Scan(&r.rows)
}

func readMaster(ctx context.Context, client *redis.Client) (m master, err error) {
	text, err := client.Info(ctx, "everything").Result()
	if err != nil {
		return m, err
	}
	info := make(map[string]string)
	m.calls = make(map[string]int64)
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		info[key] = value
		if command, ok := strings.CutPrefix(key, "cmdstat_"); ok {
			var calls int64
			if _, err := fmt.Sscanf(value, "calls=%d", &calls); err != nil {
				return m, fmt.Errorf("INFO: %s: %w", line, err)
			}
			m.calls[command] = calls
		}
	}
	number := func(key string) int64 {
		n, wrong := strconv.ParseInt(info[key], 10, 64)
		if wrong != nil && err == nil {
			err = fmt.Errorf("INFO: %s: %w", key, wrong)
		}
		return n
	}
	for _, key := range []string{"used_cpu_user", "used_cpu_sys"} {
		took, wrong := time.ParseDuration(info[key] + "s")
		if wrong != nil {
			return m, fmt.Errorf("INFO: %s: %w", key, wrong)
		}
		m.cpu += took
	}
	m.reads, m.commands = number("total_reads_processed"), number("total_commands_processed")
	m.in, m.out = number("total_net_input_bytes"), number("total_net_output_bytes")
	m.memory = number("used_memory") - number("mem_clients_normal")
	m.published = m.calls["publish"] + m.calls["spublish"]
	return m, err
}
