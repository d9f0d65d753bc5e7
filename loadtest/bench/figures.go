package bench

import (
	"cmp"
	"context"
	"errors"
	"time"

	"laststand/loadtest/report"
)

// answerTables are the figures of answers: their speed, and the work for each of them.
type answerTables struct{ speed, work *report.Table }

func newAnswerTables(r *report.Report) answerTables {
	speed := []report.Column{{Name: "answers/s"}, {Name: "p50 ms", Decimals: 2}, {Name: "p99 ms", Decimals: 2}}
	work := []report.Column{{Name: "Redis B an answer"}}
	return answerTables{r.Table("speed", append(speed, speedColumns...)...), r.Table("work for each", append(work, workColumns...)...)}
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
