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
	// maxDays is how many days may turn at once without further proof.
	maxDays = 2
	// maxApart is how far two clocks may be apart that agree on a day.
	maxApart = int64(time.Hour / time.Millisecond)
)

// dayClocks are the clocks that the database's has to agree with before a day
// turns, and the games whose day is held since they do not.
type dayClocks struct {
	cluster func() int64 // cluster time; nil: there is no second clock
	steady  func() int64 // the time at the start and this process's own since; nil: not asked
	days    *prometheus.GaugeVec
	refused *prometheus.CounterVec

	mu   sync.Mutex
	held map[string]string // game to the day that the database's clock tells
}

// The reasons of laststand_ledger_day_blocks_total.
const (
	dayLeap         = "leap"         // more than maxDays at once, which this process's own clock contradicts
	dayContradicted = "contradicted" // cluster time is more than maxApart before the day
)

func newDayClocks(c Config, started int64) *dayClocks {
	on, begun := promauto.With(c.Registry), time.Now()
	d := &dayClocks{cluster: c.Cluster, held: map[string]string{}}
	if c.Cluster != nil {
		started = c.Cluster()
	}
	if c.Cluster != nil || c.clock == "" {
		d.steady = func() int64 { return started + time.Since(begun).Milliseconds() }
	}
	d.days = on.NewGaugeVec(prometheus.GaugeOpts{
		Name: "laststand_ledger_day_blocked", Help: "1 while the server does not start the game's next day because the clocks disagree, else 0.",
	}, []string{"game"})
	d.refused = on.NewCounterVec(prometheus.CounterOpts{
		Name: "laststand_ledger_day_blocks_total", Help: "Times that the server began to block a game's next day, by reason.",
	}, []string{"reason"})
	return d
}

// doubt is why days may not turn up to the one of an instant of the database's
// clock; "" where the clocks agree.
func (d *dayClocks) doubt(days int, today string, at int64, zone *time.Location) string {
	if days > maxDays && d.steady != nil && max(at-d.steady(), d.steady()-at) > maxApart {
		return dayLeap
	}
	if d.cluster != nil && civilDay(d.cluster()+maxApart, zone) < today {
		return dayContradicted
	}
	return ""
}

// note keeps whether the day of a game is held, and says whether that is news.
func (d *dayClocks) note(game, today, why string) (news bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.held[game]
	if why == "" {
		delete(d.held, game)
		d.days.WithLabelValues(game).Set(0)
		return was != ""
	}
	d.held[game] = today
	d.days.WithLabelValues(game).Set(1)
	if was == "" {
		d.refused.WithLabelValues(why).Inc()
	}
	return was != today
}

func (d *dayClocks) holds(game string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held[game] != ""
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

// turnable cuts the days that may turn now: all, or those that an operator has
// confirmed while the clocks do not agree. The first day of a game is not doubted.
func (l *Ledger) turnable(ctx context.Context, tx *sql.Tx, h *head, days []string) ([]string, error) {
	if len(days) == 0 {
		l.noneToTurn(h, h.day)
	}
	if len(days) == 0 || h.day == "" {
		return days, nil
	}
	today := days[len(days)-1]
	why := l.clocks.doubt(len(days), today, h.at, l.zone(h.game))
	if why != "" {
		confirmed, err := l.confirmed(ctx, tx, h.game)
		if err != nil {
			return nil, err
		}
		for len(days) > 0 && days[len(days)-1] > confirmed {
			days = days[:len(days)-1]
		}
		if len(days) > 0 && days[len(days)-1] == today {
			why = ""
		}
	}
	l.noteDay(h, today, why)
	return days, nil
}

func (l *Ledger) confirmed(ctx context.Context, tx *sql.Tx, game string) (day string, err error) {
	err = tx.QueryRowContext(ctx, l.sql(selectConfirmed), game).Scan(&day)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return day, err
}

// noneToTurn ends the hold on a game's day, as its clock was put right and no day is
// left to turn.
func (l *Ledger) noneToTurn(h *head, today string) {
	if l.clocks.holds(h.game) {
		l.noteDay(h, today, "")
	}
}

func (l *Ledger) noteDay(h *head, today, why string) {
	if !l.clocks.note(h.game, today, why) {
		return
	}
	if why == "" {
		l.log.Info("the clocks agree on the day again, or it was confirmed; days turn", "game", h.game, "day", today)
		return
	}
	l.log.Error("the day of a game is held: the database's clock tells another than cluster time or this process's clock; "+
		"correct the clock, or confirm the day with `server days confirm`", "game", h.game, "held_day", h.day, "database_day", today, "reason", why)
}
