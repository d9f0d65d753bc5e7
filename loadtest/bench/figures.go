package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

// costColumns show the growth of processor time, divided by a number such as that of answers.
var costColumns = players.Columns(1, "nodes µs", "Redis µs", "PostgreSQL µs", "clients µs")

// usage is what all processes have used so far.
type usage struct {
	at     time.Time
	cpu    map[string]float64 // µs, by column
	memory float64            // bytes of Redis, without the buffers of its clients
}

// costs returns by how much the processor times have grown, divided by a number.
func (u usage) costs(from usage, divisor float64) (all []float64) {
	for _, c := range costColumns {
		all = append(all, (u.cpu[c.Name]-from.cpu[c.Name])/divisor)
	}
	return all
}

func (c cluster) readUsage(ctx context.Context) (usage, error) {
	u := usage{at: time.Now(), cpu: make(map[string]float64)}
	err := u.addCPU("clients µs", testenv.CPUTime, os.Getpid())
	for _, master := range c.masters {
		info, failed := master.Info(ctx, "everything").Result()
		err = errors.Join(err, cmp.Or(failed, u.addRedisInfo(info)))
	}
	if c.Postgres != nil {
		err = errors.Join(err, u.addCPU("PostgreSQL µs", testenv.CPUTimeWithChildren, c.Postgres.PID()))
	}
	for _, n := range c.All {
		err = errors.Join(err, u.addCPU("nodes µs", testenv.CPUTime, n.PID()))
	}
	return u, err
}

// addCPU adds the processor time of a process, as cpuTime reads it, to a column.
func (u *usage) addCPU(column string, cpuTime func(pid int) (time.Duration, error), pid int) error {
	spent, err := cpuTime(pid)
	u.cpu[column] += micros(spent)
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
	u.cpu["Redis µs"] += 1e6 * (number("used_cpu_user") + number("used_cpu_sys"))
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

// newAnswerTable adds the table of the figures of answers: their speed, and the cost of each.
func newAnswerTable(r *players.Report) *players.Table {
	return r.Table("answers", slices.Concat(players.Columns(0, "answers/s"), players.Columns(2, "p50 ms", "p99 ms"), costColumns, players.Columns(0, "Redis B"))...)
}

// addTo adds a measurement to a row.
func (m measurement) addTo(t *players.Table, row string) {
	count := float64(m.answers.N)
	figures := append([]float64{count / m.to.at.Sub(m.from.at).Seconds(), m.answers.P50, m.answers.P99}, m.to.costs(m.from, count)...)
	t.Add(row, append(figures, m.memory/float64(max(m.replies, 1)))...)
}
