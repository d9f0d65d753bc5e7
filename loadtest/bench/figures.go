package bench

import (
	"context"
	"errors"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/report"
	"laststand/loadtest/stats"
)

// answerTables are the figures of answers: their speed, and the work for each of them.
type answerTables struct{ speed, work *report.Table }

// newAnswerTables adds both tables to a report. The work of a row without answers is that
// of a second.
func newAnswerTables(r *report.Report) answerTables {
	work := []report.Column{
		{Name: "Redis reads", Decimals: 2}, {Name: "commands", Decimals: 1}, {Name: "bytes in"}, {Name: "bytes out"},
		{Name: "busiest master", Decimals: 2}, {Name: "rows", Decimals: 2},
	}
	for _, count := range nodeCounts {
		work = append(work, report.Column{Name: count.column, Decimals: 3})
	}
	return answerTables{
		r.Table("speed", report.Column{Name: "answers/s"}, report.Column{Name: "p50 ms", Decimals: 2}, report.Column{Name: "p99 ms", Decimals: 2},
			report.Column{Name: "nodes µs", Decimals: 1}, report.Column{Name: "Redis µs", Decimals: 1}, report.Column{Name: "PostgreSQL µs", Decimals: 1},
			report.Column{Name: "clients µs", Decimals: 1}, report.Column{Name: "idle %", Decimals: 1}, report.Column{Name: "softirq %", Decimals: 1},
			report.Column{Name: "stolen %", Decimals: 1}),
		r.Table("work for each", append(work, report.Column{Name: "Redis B a match"}, report.Column{Name: "Redis B an answer"})...),
	}
}

// measurement is the use of all processes between two times, and the answers.
type measurement struct {
	from, to usage
	answers  stats.Quantiles
	memory   float64 // bytes of Redis for all matches so far
	replies  int64   // so far
}

// add adds a measurement to a row. Without answers, the work is that of a second.
func (t answerTables) add(row string, m measurement) {
	seconds := m.to.at.Sub(m.from.at).Seconds()
	count := float64(m.answers.N)
	n := count
	if count == 0 {
		n = seconds
	}
	each := func(used func(usage) float64) float64 { return (used(m.to) - used(m.from)) / n }
	us := func(used func(usage) time.Duration) float64 {
		return each(func(u usage) float64 { return float64(used(u)) / float64(time.Microsecond) })
	}
	machine := m.to.machine.Sub(m.from.machine)
	percent := func(d time.Duration) float64 { return 100 * float64(d) / float64(max(machine.Busy+machine.Idle, 1)) }
	t.speed.Add(row, count/seconds, m.answers.P50, m.answers.P99,
		us(func(u usage) time.Duration { return u.nodes }), us(func(u usage) time.Duration { return u.redis().cpu }),
		us(func(u usage) time.Duration { return u.postgres }), us(func(u usage) time.Duration { return u.clients }),
		percent(machine.Idle), percent(machine.SoftInterrupt), percent(machine.Stolen))
	work := []float64{
		each(func(u usage) float64 { return u.redis().reads }), each(func(u usage) float64 { return u.redis().commands }),
		each(func(u usage) float64 { return u.redis().in }), each(func(u usage) float64 { return u.redis().out }),
		busiestMasterRatio(m.from, m.to), each(func(u usage) float64 { return u.rows }),
	}
	for i := range nodeCounts {
		work = append(work, each(func(u usage) float64 { return u.counts[i] }))
	}
	matches := m.to.counts[len(nodeCounts)-1]
	t.work.Add(row, append(work, m.memory/max(matches, 1), m.memory/float64(max(m.replies, 1)))...)
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
// at the first answer. It reads the nodes before, because reading the metrics of a node
// slows its matches down.
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
