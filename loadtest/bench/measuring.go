package bench

import (
	"context"
	"errors"
	"time"
)

// measurePlayers seats players, calls measure, and ends the players.
func (c *cluster) measurePlayers(ctx context.Context, o playOptions, measure func(*answeringPlayers) error) error {
	p, err := seatPlayers(ctx, c, o)
	if err != nil {
		return err
	}
	defer p.close()
	return measure(p)
}

// measureAll starts the players and measures them until all arenas are over. The time starts
// at the first answer. It reads the other counters before, because that takes some ms.
func (p *answeringPlayers) measureAll(ctx context.Context) (m measurement, err error) {
	if m.from, err = p.cluster.readUsage(ctx); err != nil {
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
	return m, p.finish(ctx, &m)
}

// measurePlay measures playing players for a time after the warm-up, but not after the end
// of the first arena. The memory of Redis counts from the given usage.
func (p *answeringPlayers) measurePlay(ctx context.Context, warmUp, duration time.Duration, empty usage) (m measurement, err error) {
	if err := p.wait(ctx, p.firstOver, warmUp); err != nil {
		return m, err
	}
	_ = p.latencies.Take()
	if m.from, err = p.cluster.readUsage(ctx); err != nil {
		return m, err
	}
	if err := p.wait(ctx, p.firstOver, duration); err != nil {
		return m, err
	}
	err = p.finish(ctx, &m)
	m.memory = m.to.memory - empty.memory
	return m, err
}

// finish ends a measurement of players.
func (p *answeringPlayers) finish(ctx context.Context, m *measurement) (err error) {
	if m.to, err = p.cluster.readUsage(ctx); err != nil {
		return err
	}
	m.answers, m.replies = p.latencies.Take().Quantiles(answered), p.replies.Load()
	if m.answers.N == 0 {
		return errors.New("no player could answer in the measured time; use fewer -players, or measure for longer")
	}
	return nil
}
