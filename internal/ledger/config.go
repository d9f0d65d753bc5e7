package ledger

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/match"
	"laststand/internal/taskqueue"
)

// Config configures a ledger.
type Config struct {
	URL            string                    // postgres://…; "": SQLite in Dir
	Dir            string                    // folder of the embedded database; created if missing
	MustExist      bool                      // fail if there is no embedded database in Dir
	TimeZones      map[string]*time.Location // time zone of each game's days; missing: UTC
	PairDuelLimits map[string]int64          // by game: how many duels of the same two players count per day; 0 or missing: all
	Retention      map[string]Retention      // by game; missing: for good
	NotifyTopic    func(topic string)        // called for each topic with new work, "" for maintenance; must not block; may be nil
	Events         Events                    // makes the tasks that report events; nil: no tasks
	ClusterTime    func() int64              // cluster time, epoch ms, which must confirm a new day; nil: no second clock
	Logger         *slog.Logger              // nil: slog.Default
	Registry       prometheus.Registerer     // nil: no metrics

	clockSQL    string        // for tests: SQL expression that replaces the database's clock; "": none
	sumPageSize int64         // for tests: positions per step of SumDays; 0: the constant
	maxIdleInTx time.Duration // for tests: replaces the constant of this name; 0: the constant
}

// Events makes the tasks that report events to others. *webhook.Registry implements it.
// The ledger enqueues the tasks in the event's transaction. It drops a task that does not
// pass its Check. The methods must be quick and do no I/O. at is the database's time,
// epoch ms. If a transaction is retried, the ledger calls the methods again.
type Events interface {
	// TasksForResult is called for a result that is new to the ledger.
	TasksForResult(r *match.Result, at int64) []taskqueue.NewTask
	// TasksForCorrection is called when a question of a match becomes void. m is the match
	// after that.
	TasksForCorrection(m match.Summary, question int, at int64) []taskqueue.NewTask
	// TasksForEndedDay is called for a game's day (YYYY-MM-DD) when it has ended.
	TasksForEndedDay(game, day string, at int64) []taskqueue.NewTask
}
