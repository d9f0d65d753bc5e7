package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

const (
	// maxDaysAtOnce is how many days may turn at once without further proof.
	maxDaysAtOnce = 2
	// maxClockDifference is how far two clocks may be apart that agree on a day.
	maxClockDifference = int64(time.Hour / time.Millisecond)
)

// dayClocks are the clocks that the database's has to agree with before a day
// turns, and the games whose day is held since they do not.
type dayClocks struct {
	cluster     func() int64 // cluster time; nil: there is no second clock
	processTime func() int64 // the time at the start and this process's own since; nil: not asked
	days        *prometheus.GaugeVec
	blocks      *prometheus.CounterVec

	mu          sync.Mutex
	blockedDays map[string]string // game to the day that the database's clock tells
}

// The reasons of laststand_ledger_day_blocks_total.
const (
	reasonStep         = "leap"         // more than maxDays at once, which this process's own clock contradicts
	reasonContradicted = "contradicted" // cluster time is more than maxApart before the day
)

func newDayClocks(c Config, started int64) *dayClocks {
	factory, startedAt := promauto.With(c.Registry), time.Now()
	d := &dayClocks{cluster: c.Cluster, blockedDays: map[string]string{}}
	if c.Cluster != nil {
		started = c.Cluster()
	}
	if c.Cluster != nil || c.clock == "" {
		d.processTime = func() int64 { return started + time.Since(startedAt).Milliseconds() }
	}
	d.days = factory.NewGaugeVec(prometheus.GaugeOpts{
		Name: "laststand_ledger_day_blocked", Help: "1 while the server does not start the game's next day because the clocks disagree, else 0.",
	}, []string{"game"})
	d.blocks = factory.NewCounterVec(prometheus.CounterOpts{
		Name: "laststand_ledger_day_blocks_total", Help: "Times that the server began to block a game's next day, by reason.",
	}, []string{"reason"})
	return d
}

// disagreement is why days may not turn up to the one of an instant of the database's
// clock; "" where the clocks agree.
func (d *dayClocks) disagreement(days int, today string, now int64, zone *time.Location) string {
	if days > maxDaysAtOnce && d.processTime != nil && max(now-d.processTime(), d.processTime()-now) > maxClockDifference {
		return reasonStep
	}
	if d.cluster != nil && civilDay(d.cluster()+maxClockDifference, zone) < today {
		return reasonContradicted
	}
	return ""
}

// setBlocked keeps whether the day of a game is held, and says whether that is news.
func (d *dayClocks) setBlocked(game, today, reason string) (isNew bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	former := d.blockedDays[game]
	if reason == "" {
		delete(d.blockedDays, game)
		d.days.WithLabelValues(game).Set(0)
		return former != ""
	}
	d.blockedDays[game] = today
	d.days.WithLabelValues(game).Set(1)
	if former == "" {
		d.blocks.WithLabelValues(reason).Inc()
	}
	return former != today
}

func (d *dayClocks) isBlocked(game string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.blockedDays[game] != ""
}

const (
	selectConfirmed = `SELECT day FROM confirmed_days WHERE game = $1`
	confirmDay      = `
INSERT INTO confirmed_days (game, day, at) VALUES ($1, $2, {now})
ON CONFLICT (game) DO UPDATE SET day = excluded.day, at = excluded.at`
)

// ConfirmDay lets the days of a game turn up to one, whatever other clocks say:
// an operator knows that the database's clock is right.
func (l *Ledger) ConfirmDay(ctx context.Context, game, day string) error {
	if _, err := l.exec(ctx, confirmDay, game, day); err != nil {
		return fmt.Errorf("ledger: confirm a day of %s: %w", game, err)
	}
	return nil
}

// allowedDays cuts the days that may turn now: all, or those that an operator has
// confirmed while the clocks do not agree. The first day of a game is not doubted.
func (l *Ledger) allowedDays(ctx context.Context, tx *sql.Tx, h *head, days []string) ([]string, error) {
	if len(days) == 0 {
		l.releaseDay(h, h.day)
	}
	if len(days) == 0 || h.day == "" {
		return days, nil
	}
	today := days[len(days)-1]
	reason := l.clocks.disagreement(len(days), today, h.now, l.zone(h.game))
	if reason != "" {
		confirmed, err := l.confirmed(ctx, tx, h.game)
		if err != nil {
			return nil, err
		}
		for len(days) > 0 && days[len(days)-1] > confirmed {
			days = days[:len(days)-1]
		}
		if len(days) > 0 && days[len(days)-1] == today {
			reason = ""
		}
	}
	l.logDayBlock(h, today, reason)
	return days, nil
}

func (l *Ledger) confirmed(ctx context.Context, tx *sql.Tx, game string) (day string, err error) {
	err = tx.QueryRowContext(ctx, l.sql(selectConfirmed), game).Scan(&day)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return day, err
}

// releaseDay ends the hold on a game's day, as its clock was put right and no day is
// left to turn.
func (l *Ledger) releaseDay(h *head, today string) {
	if l.clocks.isBlocked(h.game) {
		l.logDayBlock(h, today, "")
	}
}

func (l *Ledger) logDayBlock(h *head, today, reason string) {
	if !l.clocks.setBlocked(h.game, today, reason) {
		return
	}
	if reason == "" {
		l.log.Info("the clocks agree on the day again, or it was confirmed; days turn", "game", h.game, "day", today)
		return
	}
	l.log.Error("the day of a game is held: the database's clock tells another than cluster time or this process's clock; "+
		"correct the clock, or confirm the day with `server days confirm`", "game", h.game, "held_day", h.day, "database_day", today, "reason", reason)
}
