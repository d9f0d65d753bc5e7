package bench

import (
	"context"
	"errors"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/report"
)

// answerTables are the figures of answers: their speed, and the work for each of them.
type answerTables struct{ speed, work *report.Table }

// counter is a column whose figure is the growth of a counter, divided by the answers.
type counter struct {
	column   string
	decimals int
	read     func(usage) float64
}

// speedCounters are columns of the table of speeds.
var speedCounters = []counter{
	{"nodes µs", 1, func(u usage) float64 { return micros(u.nodes) }},
	{"Redis µs", 1, func(u usage) float64 { return micros(u.redis().cpu) }},
	{"PostgreSQL µs", 1, func(u usage) float64 { return micros(u.postgres) }},
	{"clients µs", 1, func(u usage) float64 { return micros(u.clients) }},
}

// workCounters are columns of the table of work.
var workCounters = []counter{
	{"Redis reads", 2, func(u usage) float64 { return u.redis().reads }},
	{"commands", 1, func(u usage) float64 { return u.redis().commands }},
	{"bytes in", 0, func(u usage) float64 { return u.redis().in }},
	{"bytes out", 0, func(u usage) float64 { return u.redis().out }},
	{"rows", 2, func(u usage) float64 { return u.rows }},
	{"messages", 3, func(u usage) float64 { return u.messages }},
	{"steps", 3, func(u usage) float64 { return u.steps }},
	{"lost steps", 3, func(u usage) float64 { return u.lostSteps }},
	{"push gaps", 3, func(u usage) float64 { return u.pushGaps }},
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// newAnswerTables adds both tables to a report.
func newAnswerTables(r *report.Report) answerTables {
	speed := []report.Column{{Name: "answers/s"}, {Name: "p50 ms", Decimals: 2}, {Name: "p99 ms", Decimals: 2}}
	for _, c := range speedCounters {
		speed = append(speed, report.Column{Name: c.column, Decimals: c.decimals})
	}
	for _, name := range []string{"idle %", "softirq %", "stolen %"} { // of all cores
		speed = append(speed, report.Column{Name: name, Decimals: 1})
	}
	var work []report.Column
	for _, c := range workCounters {
		work = append(work, report.Column{Name: c.column, Decimals: c.decimals})
	}
	work = append(work, report.Column{Name: "busiest master", Decimals: 2}, report.Column{Name: "Redis B a match"}, report.Column{Name: "Redis B an answer"})
	return answerTables{r.Table("speed", speed...), r.Table("work for each", work...)}
}

// measurement is the use of all processes between two times, and the answers.
type measurement struct {
	from, to usage
	answers  report.Quantiles
	memory   float64 // bytes of Redis for all matches so far
	replies  int64   // so far
}

// add adds a measurement to a row. Without answers, the work is that of a second.
func (t answerTables) add(row string, m measurement) {
	count, seconds := float64(m.answers.N), m.to.at.Sub(m.from.at).Seconds()
	divisor := count
	if count == 0 {
		divisor = seconds
	}
	speed := []float64{count / seconds, m.answers.P50, m.answers.P99}
	for _, c := range speedCounters {
		speed = append(speed, (c.read(m.to)-c.read(m.from))/divisor)
	}
	machine := m.to.machine.Sub(m.from.machine)
	for _, d := range []time.Duration{machine.Idle, machine.SoftInterrupt, machine.Stolen} {
		speed = append(speed, 100*float64(d)/float64(max(machine.Busy+machine.Idle, 1)))
	}
	t.speed.Add(row, speed...)
	var work []float64
	for _, c := range workCounters {
		work = append(work, (c.read(m.to)-c.read(m.from))/divisor)
	}
	t.work.Add(row, append(work, busiestMasterRatio(m.from, m.to), m.memory/max(m.to.matches, 1), m.memory/float64(max(m.replies, 1)))...)
}

// measureRest measures nodes without players for a time.
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
	if m.from.machine, err = testenv.ReadMachineTime(); err != nil {
		return m, err
	}
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
	m.memory = m.to.redis().memory - empty.redis().memory
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
