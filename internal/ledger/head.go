package ledger

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/leaderboard"
	"laststand/internal/metric"
	"laststand/internal/taskqueue"
)

// entryWriter adds entries to the ledgers of games.
type entryWriter struct {
	*database
	timeZones     map[string]*time.Location
	events        Events
	dayClocks     *dayClocks
	droppedEvents *prometheus.CounterVec // events whose tasks were dropped, by game
}

func newEntryWriter(db *database, config Config) *entryWriter {
	return &entryWriter{
		database: db, timeZones: config.TimeZones, events: config.Events, dayClocks: newDayClocks(config, time.Now().UnixMilli()),
		droppedEvents: metric.For(config.Registry, "laststand_ledger_").Counters("event_enqueue_failures_total", "Events lost because the task queue refused their tasks; the log has the reason.", "game"),
	}
}

// currentDay returns the game's current day, "" before its first day. It also returns today's
// date by the database's clock, which is earlier if the clock was set back.
func (w *entryWriter) currentDay(ctx context.Context, game string) (currentDay, today string, err error) {
	var now int64
	_, err = w.get(ctx, into(&currentDay, &now), `SELECT COALESCE((SELECT day FROM ledger_heads WHERE game = $1), ''), {now}`, game)
	return currentDay, civilDay(now, w.timeZone(game)), err
}

// head is a game's row of table ledger_heads, locked until the transaction ends, with the
// entries to add.
type head struct {
	game       string
	pos        int64    // position of the last entry
	currentDay string   // the current day, YYYY-MM-DD; "" before the first day
	now        int64    // time of the lock, epoch ms
	entries    []*entry // starts of days come first
	endedDays  []string // days that end with these entries
}

const (
	insertHead        = `INSERT INTO ledger_heads (game, pos, day, first_day) VALUES ($1, 0, '', '') ON CONFLICT DO NOTHING`
	lockHeadStatement = `UPDATE ledger_heads SET pos = pos WHERE game = $1 RETURNING pos, day, {now}`
	updateHead        = `UPDATE ledger_heads SET pos = $2, day = $3, first_day = CASE WHEN first_day = '' THEN $4 ELSE first_day END WHERE game = $1`
)

var insertDay = insertRows("days", "game, day, start_pos")

// lockHead locks the game's head, reads the clock, and adds an entry for each day that
// has started. The caller adds its own entries and saves the head.
func (w *entryWriter) lockHead(ctx context.Context, tx *transaction, game string) (*head, error) {
	h := lockHeadRow(ctx, tx, game)
	if tx.err != nil {
		return nil, tx.err
	}
	today := civilDay(h.now, w.timeZone(game))
	days, isPlausible := daysAfter(h.currentDay, today)
	if !isPlausible {
		w.recordDayBlock(h, today, reasonLeap)
		return h, nil
	}
	for _, day := range w.allowedDays(ctx, tx, h, days) {
		if h.currentDay != "" {
			h.endedDays = append(h.endedDays, h.currentDay)
		}
		h.currentDay = day
		h.add(&entry{Row: leaderboard.Row{Kind: leaderboard.DayStartRow}})
	}
	return h, tx.err
}

// lockHeadRow locks the head. It reads the clock after it has the lock, so that a later
// position never has an earlier time.
func lockHeadRow(ctx context.Context, tx *transaction, game string) *head {
	h := head{game: game}
	for !tx.get(ctx, into(&h.pos, &h.currentDay, &h.now), lockHeadStatement, game) && tx.err == nil {
		tx.exec(ctx, insertHead, game)
	}
	return &h
}

// add sets the positions, ids, day and time of entries, and appends them to h.entries.
func (h *head) add(entries ...*entry) {
	for _, e := range entries {
		h.pos++
		e.Pos, e.ID, e.Day, e.CommittedAt = h.pos, rand.Text(), h.currentDay, h.now
	}
	h.entries = append(h.entries, entries...)
}

// save writes the entries of the head.
func (h *head) save(ctx context.Context, tx *transaction) {
	if len(h.entries) == 0 {
		return
	}
	rows, days := make([][]any, 0, len(h.entries)), [][]any{}
	for _, e := range h.entries {
		rows = append(rows, e.insertRow(h.game))
		if e.Kind == leaderboard.DayStartRow {
			days = append(days, []any{h.game, e.Day, e.Pos})
		}
	}
	tx.bulk(ctx, insertEntry, rows, nil)
	tx.bulk(ctx, insertDay, days, nil)
	tx.exec(ctx, updateHead, h.game, h.pos, h.currentDay, h.entries[0].Day)
}

// eventTasks returns the tasks that report the ended days of a head, and then the new
// results.
func (w *entryWriter) eventTasks(h *head, items ...*resultItem) (tasks []taskqueue.NewTask) {
	if w.events == nil {
		return nil
	}
	for _, day := range h.endedDays {
		tasks = append(tasks, w.events.TasksForEndedDay(h.game, day, h.now)...)
	}
	for _, item := range items {
		tasks = append(tasks, w.events.TasksForResult(item.result, h.now)...)
	}
	return w.withoutInvalid(h.game, tasks)
}

// withoutInvalid drops the tasks that the queue can never accept, so that they do not block the
// result or the day. It logs and counts them.
func (w *entryWriter) withoutInvalid(game string, tasks []taskqueue.NewTask) []taskqueue.NewTask {
	return slices.DeleteFunc(tasks, func(n taskqueue.NewTask) bool {
		err := n.Check()
		if err != nil {
			w.droppedEvents.WithLabelValues(game).Inc()
			w.log.Error("event dropped: task queue refuses its task", "game", game, "topic", n.Topic, "key", n.Key, "error", err)
		}
		return err != nil
	})
}

func (w *entryWriter) timeZone(game string) *time.Location {
	if zone := w.timeZones[game]; zone != nil {
		return zone
	}
	return time.UTC
}

// civilDay returns the date of an instant (epoch ms) in a zone, YYYY-MM-DD.
func civilDay(at int64, zone *time.Location) string {
	return time.UnixMilli(at).In(zone).Format(time.DateOnly)
}

// maxStartedDays limits the days that one transaction may start: a hundred years.
const maxStartedDays = 36525

// daysAfter returns the dates after day up to and including today, in order. It returns
// none if today is not after day, and only today if day is "" (no day yet). isPlausible is false
// if they are more than maxStartedDays.
func daysAfter(day, today string) (days []string, isPlausible bool) {
	if day == "" {
		return []string{today}, true
	}
	from, fromErr := time.Parse(time.DateOnly, day)
	to, toErr := time.Parse(time.DateOnly, today) // fails after the year 9999
	if fromErr != nil || toErr != nil || to.Sub(from)/(24*time.Hour) > maxStartedDays {
		return nil, false
	}
	for d := from.AddDate(0, 0, 1); !d.After(to); d = d.AddDate(0, 0, 1) {
		days = append(days, d.Format(time.DateOnly))
	}
	return days, true
}
