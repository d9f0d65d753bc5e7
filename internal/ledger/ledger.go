package ledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/match"
	"laststand/internal/nickname"
	"laststand/internal/taskqueue"
)

// Config configures a ledger.
type Config struct {
	URL            string                    // postgres://…; "": SQLite in Dir
	Dir            string                    // folder of the embedded database; created if missing
	TimeZones      map[string]*time.Location // time zone of each game's days; missing: UTC
	PairDuelLimits map[string]int64          // by game: how many duels of the same two players count per day; 0 or missing: all
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
	// TasksForEndedDay is called for a game's day (YYYY-MM-DD) when it has ended.
	TasksForEndedDay(game, day string, at int64) []taskqueue.NewTask
}

// Ledger is an open ledger, or its Public view.
type Ledger struct {
	*core
	readPool *sql.DB // core.nodePool, or core.publicPool in a Public view
}

// core is what a ledger shares with its Public view.
type core struct {
	dialect
	writePool  *sql.DB // SQLite: one connection, because it allows one writer
	nodePool   *sql.DB // for reads on which the node itself depends; on PostgreSQL the same pool as write
	publicPool *sql.DB // for reads that any client may cause

	timeZones      map[string]*time.Location
	pairDuelLimits map[string]int64
	epoch          string // see Ledger.Epoch

	hashKey     hashKey // the same on all nodes
	notifyTopic func(topic string)
	events      Events
	processID   string // random; unique among the processes that use the database
	log         *slog.Logger

	registrations registrationBatcher
	dayClocks     *dayClocks
	droppedEvents *prometheus.CounterVec // events whose tasks were dropped, by game
	sumPageSize   int64                  // positions per step of SumDays

	namePageSize int   // names per statement of NamesBetween and EachSkeleton
	rulesVersion int64 // version of the rules by which this program computes skeletons of nicknames
}

// Open opens the ledger. It creates the ledger if there is none, and migrates its
// tables. If the database does not answer, the folder is not writable, or the disk is
// full, Open fails within about 5 s. The error says what to do and never contains a
// password. The caller must close the ledger.
func Open(ctx context.Context, config Config) (*Ledger, error) {
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	open := openSQLite
	if config.URL != "" {
		open = openPostgres
	}
	l, err := open(ctx, config)
	if err != nil {
		return nil, err
	}
	l.timeZones, l.pairDuelLimits, l.notifyTopic, l.events, l.sumPageSize = config.TimeZones, config.PairDuelLimits, config.NotifyTopic, config.Events, cmp.Or(config.sumPageSize, sumPageSize)
	l.namePageSize, l.rulesVersion = namePageSize, nickname.RulesVersion
	l.processID, l.log = rand.Text(), config.Logger
	if config.clockSQL != "" {
		l.clockSQL = config.clockSQL
	}
	l.registrations.admit, l.registrations.maxWorkers = l.admit, l.registrationWorkers
	err = l.migrate(ctx, l.log)
	if err == nil {
		err = l.loadInfo(ctx)
	}
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("ledger: %w", withAdvice(err, config))
	}
	l.dayClocks = newDayClocks(config, time.Now().UnixMilli())
	l.droppedEvents, l.registrations.batchSizes = newDroppedEvents(config.Registry), newBatchSizes(config.Registry)
	return l, nil
}

// Close fails waiting registrations and waits for running ones. Then it closes the
// connections, after running statements have ended.
func (l *Ledger) Close() error {
	l.registrations.close()
	err := errors.Join(l.nodePool.Close(), l.publicPool.Close())
	if l.writePool != l.nodePool {
		err = errors.Join(err, l.writePool.Close())
	}
	return err
}

// Public returns a view of the same ledger for reads that any client may cause. Its
// reads use separate connections. So they cannot delay settlement, leaderboards, logins
// and tasks. The caller must not close the view.
func (l *Ledger) Public() *Ledger { return &Ledger{core: l.core, readPool: l.publicPool} }

// Ping checks that the database answers.
func (l *Ledger) Ping(ctx context.Context) error {
	var one int
	if err := l.readPool.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil {
		return fmt.Errorf("ledger: ping: %w", err)
	}
	return nil
}

// Now returns the database's time, epoch ms.
func (l *Ledger) Now(ctx context.Context) (now int64, err error) {
	if err = l.readPool.QueryRowContext(ctx, l.expandSQL("SELECT {now}")).Scan(&now); err != nil {
		return 0, fmt.Errorf("ledger: clock: %w", err)
	}
	return now, nil
}

// Epoch returns the random id that the ledger got when it was created. Data that was
// derived from a ledger with another epoch is invalid.
func (l *Ledger) Epoch() string { return l.epoch }

// timeZone returns the time zone of a game's days.
func (l *Ledger) timeZone(game string) *time.Location {
	if zone := l.timeZones[game]; zone != nil {
		return zone
	}
	return time.UTC
}

// inTx runs f in one writing transaction, which is on disk when inTx returns nil. After
// an error nothing has changed. If the error comes from the commit itself, the outcome
// is unknown.
func (l *Ledger) inTx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := l.writePool.BeginTx(ctx, l.txOptions)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // also if f panics; does nothing after a commit
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// inSnapshot runs f in a reading transaction. All its reads see the ledger at the same
// moment. f may take long.
func (l *Ledger) inSnapshot(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := l.readPool.BeginTx(ctx, l.snapshotOptions)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // the transaction only reads
	if l.allowIdle != "" {
		_, err = tx.ExecContext(ctx, l.allowIdle)
	}
	if err == nil {
		err = f(tx)
	}
	return err
}
