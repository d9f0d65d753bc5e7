package ledger

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
)

const (
	// maxUncheckedDays is how many days may start in one transaction without a check of this
	// process's clock.
	maxUncheckedDays = 2
	// maxClockDifferenceMS is the largest difference between clocks that counts as
	// agreement, in ms.
	maxClockDifferenceMS = int64(time.Hour / time.Millisecond)
)

// dayClocks has the clocks that must confirm the database's clock before a day starts.
// It also records the games whose next day is blocked because the clocks disagree.
type dayClocks struct {
	clusterTime   func() int64 // cluster time, epoch ms; nil: no second clock
	processTime   func() int64 // epoch ms: time at the start of the process plus its own clock; nil: not used
	blockedGauge  *prometheus.GaugeVec
	blocksCounter *prometheus.CounterVec

	mu          sync.Mutex
	blockedDays map[string]string // by game: the date that the database's clock showed when the block was found
}

// Reasons of laststand_ledger_day_blocks_total.
const (
	reasonLeap         = "leap"         // more than maxUncheckedDays days, and this process's clock disagrees
	reasonContradicted = "contradicted" // cluster time is more than maxClockDifferenceMS before the day
)

// newDayClocks makes the clocks. startMS is the time of this process, epoch ms; if there
// is a cluster time, that is used instead.
func newDayClocks(config Config, startMS int64) *dayClocks {
	factory, startTime := metric.For(config.Registry, "laststand_ledger_"), time.Now()
	d := &dayClocks{clusterTime: config.ClusterTime, blockedDays: map[string]string{}}
	if config.ClusterTime != nil {
		startMS = config.ClusterTime()
	}
	if config.ClusterTime != nil || config.clockSQL == "" {
		d.processTime = func() int64 { return startMS + time.Since(startTime).Milliseconds() }
	}
	d.blockedGauge = factory.Gauges("day_blocked", "1 while the server does not start the game's next day because the clocks disagree, else 0.", "game")
	d.blocksCounter = factory.Counters("day_blocks_total", "Times that the server started to block a game's next day, by reason.", "reason")
	return d
}

// blockReason returns the reason why the days up to today must not start, or "" if the
// clocks agree. The argument days counts the days that would start. The argument now is the
// database's time, epoch ms.
func (d *dayClocks) blockReason(days int, today string, now int64, zone *time.Location) string {
	if days > maxUncheckedDays && d.processTime != nil && max(now-d.processTime(), d.processTime()-now) > maxClockDifferenceMS {
		return reasonLeap
	}
	if d.clusterTime != nil && civilDay(d.clusterTime()+maxClockDifferenceMS, zone) < today {
		return reasonContradicted
	}
	return ""
}

// setBlocked records the reason why the next day of a game is blocked; "" ends the
// block. It reports whether that differs from before.
func (d *dayClocks) setBlocked(game, today, reason string) (changed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	formerDay := d.blockedDays[game]
	if reason == "" {
		delete(d.blockedDays, game)
		d.blockedGauge.WithLabelValues(game).Set(0)
		return formerDay != ""
	}
	d.blockedDays[game] = today
	d.blockedGauge.WithLabelValues(game).Set(1)
	if formerDay == "" {
		d.blocksCounter.WithLabelValues(reason).Inc()
	}
	return formerDay != today
}

// allowedDays returns those of the days that may start now: all of them, or only those
// that an operator has confirmed while the clocks disagree. The first day of a game is
// always allowed. It also records whether the next day is blocked.
func (w *entryWriter) allowedDays(ctx context.Context, tx *transaction, h *head, days []string) []string {
	if len(days) == 0 {
		w.recordDayBlock(h, h.currentDay, "")
	}
	if len(days) == 0 || h.currentDay == "" {
		return days
	}
	today := days[len(days)-1]
	reason := w.dayClocks.blockReason(len(days), today, h.now, w.timeZone(h.game))
	if reason != "" {
		confirmed := "" // the last day that an operator has confirmed
		if tx.get(ctx, into(&confirmed), `SELECT day FROM confirmed_days WHERE game = $1`, h.game); tx.err != nil {
			return nil
		}
		days = slices.DeleteFunc(days, func(day string) bool { return day > confirmed })
		if confirmed >= today {
			reason = ""
		}
	}
	w.recordDayBlock(h, today, reason)
	return days
}

// recordDayBlock records the reason of a block, "" for none, and logs it if it is new.
func (w *entryWriter) recordDayBlock(h *head, today, reason string) {
	if !w.dayClocks.setBlocked(h.game, today, reason) {
		return
	}
	if reason == "" {
		w.log.Info("day change unblocked", "game", h.game, "day", today)
		return
	}
	w.log.Error("day change blocked: clocks disagree; correct the database clock or run `server days confirm`", "game", h.game, "held_day", h.currentDay, "database_day", today, "reason", reason)
}
