package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

// answerTables are the figures of answers: their speed, and the work for each of them.
type answerTables struct{ speed, work *players.Table }

func newAnswerTables(r *players.Report) answerTables {
	speed := []players.Column{{Name: "answers/s"}, {Name: "p50 ms", Decimals: 2}, {Name: "p99 ms", Decimals: 2}}
	work := []players.Column{{Name: "Redis B an answer"}}
	return answerTables{r.Table("speed", append(speed, speedColumns...)...), r.Table("work for each", append(work, workColumns...)...)}
}

// measurement is the use of all processes between two times, and the answers.
type measurement struct {
	from, to usage
	answers  players.Quantiles
	memory   float64 // bytes of Redis for all matches so far
	replies  int64   // so far
}

// add adds a measurement to a row. Without answers, the work is that of a second.
func (t answerTables) add(row string, m measurement) {
	count, seconds := float64(m.answers.N), m.to.at.Sub(m.from.at).Seconds()
	divisor := cmp.Or(count, seconds)
	speed := []float64{count / seconds, m.answers.P50, m.answers.P99}
	work := []float64{m.memory / float64(max(m.replies, 1))}
	for _, c := range speedColumns {
		speed = append(speed, (m.to.work[c.Name]-m.from.work[c.Name])/divisor)
	}
	for _, c := range workColumns {
		work = append(work, (m.to.work[c.Name]-m.from.work[c.Name])/divisor)
	}
	t.speed.Add(row, speed...)
	t.work.Add(row, work...)
}

func (c *cluster) measureRest(ctx context.Context, duration time.Duration) (m measurement, err error) {
	if m.from, err = c.readUsage(ctx); err != nil {
		return m, err
	}
	select {
	case <-ctx.Done():
		return m, ctx.Err()
	case <-time.After(duration):
	}
	m.to, err = c.readUsage(ctx)
	return m, err
}

// measureAll starts the players and measures them until all arenas are over. The time starts
// at the first answer. It reads the other counters before, because that takes some ms.
func (c *cluster) measureAll(ctx context.Context, p *answeringPlayers) (m measurement, err error) {
	if m.from, err = c.readUsage(ctx); err != nil {
		return m, err
	}
	p.start()
	if err := p.wait(ctx, p.answering, playTimeout); err != nil {
		return m, err
	}
	m.from.at = time.Now()
	if err := p.wait(ctx, p.allOver, playTimeout); err != nil {
		return m, err
	}
	return m, c.finish(ctx, p, &m)
}

// measurePlay measures playing players for a time after the warm-up, but not after the end
// of the first arena. The memory of Redis counts from the given usage.
func (c *cluster) measurePlay(ctx context.Context, p *answeringPlayers, warmUp, duration time.Duration, empty usage) (m measurement, err error) {
	if err := p.wait(ctx, p.firstOver, warmUp); err != nil {
		return m, err
	}
	_ = p.latencies.Take()
	if m.from, err = c.readUsage(ctx); err != nil {
		return m, err
	}
	if err := p.wait(ctx, p.firstOver, duration); err != nil {
		return m, err
	}
	if err := c.finish(ctx, p, &m); err != nil {
		return m, err
	}
	m.memory = m.to.memory - empty.memory
	return m, nil
}

// finish ends a measurement of players.
func (c *cluster) finish(ctx context.Context, p *answeringPlayers, m *measurement) (err error) {
	if m.to, err = c.readUsage(ctx); err != nil {
		return err
	}
	m.answers, m.replies = p.latencies.Take().Quantiles(answered), p.replies.Load()
	if m.answers.N == 0 {
		return errors.New("no player could answer in the measured time; use fewer -players, or measure for longer")
	}
	return nil
}

// The columns of the figures of answers. Each shows the growth of a counter, divided by the
// answers.
var (
	speedColumns = []players.Column{{Name: "nodes µs", Decimals: 1}, {Name: "Redis µs", Decimals: 1}, {Name: "PostgreSQL µs", Decimals: 1}, {Name: "clients µs", Decimals: 1}}
	workColumns  = []players.Column{
		{Name: "commands", Decimals: 1}, {Name: "bytes in"}, {Name: "bytes out"}, {Name: "rows", Decimals: 2}, {Name: "messages", Decimals: 3},
	}
)

// usage is the work of all processes so far.
type usage struct {
	at     time.Time
	work   map[string]float64 // by column
	memory float64            // bytes of Redis, without the buffers of its clients
}

// addCPU adds the processor time of a process, as cpuTime reads it, to a column.
func (u *usage) addCPU(column string, cpuTime func(pid int) (time.Duration, error), pid int) error {
	spent, err := cpuTime(pid)
	u.work[column] += micros(spent)
	return err
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

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
