package bench

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

// The columns of the figures of answers. Each shows the growth of a counter, divided by the
// answers.
var (
	speedColumns = players.Columns(1, "nodes µs", "Redis µs", "PostgreSQL µs", "clients µs")
	workColumns  = slices.Concat(players.Columns(1, "commands"), players.Columns(0, "bytes in", "bytes out"), players.Columns(2, "rows"), players.Columns(3, "messages"))
)

// usage is the work of all processes so far.
type usage struct {
	at     time.Time
	work   map[string]float64 // by column
	memory float64            // bytes of Redis, without the buffers of its clients
}

// growth returns by how much the counters of some columns have grown, divided by a number.
func (u usage) growth(from usage, columns []players.Column, divisor float64) (all []float64) {
	for _, c := range columns {
		all = append(all, (u.work[c.Name]-from.work[c.Name])/divisor)
	}
	return all
}

func (c *cluster) readUsage(ctx context.Context) (usage, error) {
	u := usage{at: time.Now(), work: make(map[string]float64)}
	if err := u.addCPU("clients µs", testenv.CPUTime, os.Getpid()); err != nil {
		return u, err
	}
	if err := c.readStores(ctx, &u); err != nil {
		return u, err
	}
	for _, n := range c.nodes {
		if err := u.addCPU("nodes µs", testenv.CPUTime, n.PID()); err != nil {
			return u, err
		}
		m, err := n.Metrics(ctx)
		if err != nil {
			return u, err
		}
		u.work["messages"] += m.Sum("laststand_inbox_messages_sent_total")
	}
	return u, nil
}

func (c *cluster) readStores(ctx context.Context, u *usage) error {
	for _, master := range c.masters {
		info, err := master.Info(ctx, "everything").Result()
		if err == nil {
			err = u.addRedisInfo(info)
		}
		if err != nil {
			return err
		}
	}
	if c.ledger == nil {
		return nil
	}
	if err := u.addCPU("PostgreSQL µs", testenv.CPUTimeWithChildren, c.postgres.PID()); err != nil {
		return err
	}
	var rows float64 // written, without those of the last second
	err := c.ledger.QueryRow(ctx, "SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::float8 FROM pg_stat_user_tables").Scan(&rows)
	u.work["rows"] = rows
	return err
}

// addCPU adds the processor time of a process, as cpuTime reads it, to a column.
func (u *usage) addCPU(column string, cpuTime func(pid int) (time.Duration, error), pid int) error {
	spent, err := cpuTime(pid)
	u.work[column] += micros(spent)
	return err
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func (u *usage) addRedisInfo(info string) (err error) {
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
	u.work["commands"] += number("total_commands_processed")
	u.work["Redis µs"] += 1e6 * (number("used_cpu_user") + number("used_cpu_sys"))
	u.work["bytes in"] += number("total_net_input_bytes")
	u.work["bytes out"] += number("total_net_output_bytes")
	u.memory += number("used_memory") - number("mem_clients_normal")
	return err
}

// measurement is the use of all processes between two times, and the answers.
type measurement struct {
	from, to usage
	answers  players.Quantiles
	memory   float64 // bytes of Redis for all matches so far
	replies  int64   // so far
}

// answerTables are the figures of answers: their speed, and the work for each of them.
type answerTables struct{ speed, work *players.Table }

func newAnswerTables(r *players.Report) answerTables {
	return answerTables{
		r.Table("speed", slices.Concat(players.Columns(0, "answers/s"), players.Columns(2, "p50 ms", "p99 ms"), speedColumns)...),
		r.Table("work for each", append(players.Columns(0, "Redis B an answer"), workColumns...)...),
	}
}

// add adds a measurement to a row. Without answers, the work is that of a second.
func (t answerTables) add(row string, m measurement) {
	count, seconds := float64(m.answers.N), m.to.at.Sub(m.from.at).Seconds()
	divisor := cmp.Or(count, seconds)
	t.speed.Add(row, append([]float64{count / seconds, m.answers.P50, m.answers.P99}, m.to.growth(m.from, speedColumns, divisor)...)...)
	t.work.Add(row, append([]float64{m.memory / float64(max(m.replies, 1))}, m.to.growth(m.from, workColumns, divisor)...)...)
}
