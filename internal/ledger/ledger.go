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

// Config says where the ledger is.
type Config struct {
	URL      string                    // postgres://…; "": SQLite in Dir
	Dir      string                    // the folder of the embedded database, created if need be
	Zones    map[string]*time.Location // of each game's days; UTC for a game not in it
	Pairs    map[string]int64          // how many duels of two players count on a day; 0, or a game not in it: all
	Wake     func(topic string)        // never blocks; see Ledger.ring. nil: nobody is told
	Events   Events                    // what is to be told of what happens; nil: nothing
	Cluster  func() int64              // cluster time, which has to agree before a day turns; nil: there is no second clock
	Logger   *slog.Logger              // nil: slog.Default
	Registry prometheus.Registerer     // nil: not measured

	clock       string        // a SQL expression in place of the database's clock, for tests
	sumPage     int64         // positions that SumDays takes at a time, for tests
	maxIdleInTx time.Duration // in place of stall, for tests
}

// Events are the tasks by which others are told of what happens, enqueued in
// its transaction; *hooks.Book. Its functions are quick and do no I/O; a task of
// theirs that does not pass its Check is left out. At is an instant of the
// database's clock, epoch ms. A transaction that fails may be tried again, and
// they are asked again then.
type Events interface {
	// Settled is called for a result that the ledger did not have yet.
	Settled(r *match.Result, at int64) []taskqueue.NewTask
	// Sealed is called for a day of a game that is over.
	Sealed(game, day string, at int64) []taskqueue.NewTask
}

// Ledger is an open ledger, or its Public view.
type Ledger struct {
	*core
	read *sql.DB // own, or public
}

// core is what a ledger shares with its Public view.
type core struct {
	dialect
	write  *sql.DB // SQLite: one connection, as it allows one writer
	own    *sql.DB // for reads that the node depends on
	public *sql.DB // for reads that anybody may ask for

	zones map[string]*time.Location
	pairs map[string]int64
	epoch string

	hashKey     hashKey // the same at all nodes
	notifyWoken func(topic string)
	events      Events
	processID   string // of all processes at the database, until it is closed
	log         *slog.Logger

	registrations registrationBatcher
	clocks        *dayClocks
	refusedEvents *prometheus.CounterVec // events, by game
	sumPage       int64

	namePage int   // see NamedBetween
	rules    int64 // by which names are spelt that are claimed here
}

// Open opens the ledger, creates it if there is none and brings its tables up
// to date. The error of a database that is out of reach, within some 5 s, of a
// folder that cannot be written or of a full disk says what to do, and never
// holds a password. The caller closes the ledger.
func Open(ctx context.Context, c Config) (*Ledger, error) {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	open := openSQLite
	if c.URL != "" {
		open = openPostgres
	}
	l, err := open(ctx, c)
	if err != nil {
		return nil, err
	}
	l.zones, l.pairs, l.notifyWoken, l.events, l.sumPage = c.Zones, c.Pairs, c.Wake, c.Events, cmp.Or(c.sumPage, sumPage)
	l.namePage, l.rules = namePage, nickname.RulesVersion
	l.processID, l.log = rand.Text(), c.Logger
	if c.clock != "" {
		l.clock = c.clock
	}
	l.registrations.admit, l.registrations.workers = l.admit, l.registrationWorkers
	if err := l.initialize(ctx); err != nil {
		l.Close()
		return nil, fmt.Errorf("ledger: %w", withAdvice(err, c))
	}
	l.clocks = newDayClocks(c, time.Now().UnixMilli())
	l.refusedEvents, l.registrations.batchSizes = newRefusedEvents(c.Registry), newBatchSizes(c.Registry)
	return l, nil
}

// Close closes the connections once the calls under way have ended. New players
// who wait for others are refused.
func (l *Ledger) Close() error {
	l.registrations.close()
	err := errors.Join(l.own.Close(), l.public.Close())
	if l.write != l.own {
		err = errors.Join(err, l.write.Close())
	}
	return err
}

// Public is the same ledger for what anybody may ask for. Its reads have
// connections of their own: however many wait for one, settlement, leaderboards,
// logins and tasks do not. It needs no Close.
func (l *Ledger) Public() *Ledger { return &Ledger{core: l.core, read: l.public} }

// Ping asks the database for an answer.
func (l *Ledger) Ping(ctx context.Context) error {
	var one int
	if err := l.read.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil {
		return fmt.Errorf("ledger: ping: %w", err)
	}
	return nil
}

// Now is the database's clock, epoch ms.
func (l *Ledger) Now(ctx context.Context) (now int64, err error) {
	if err = l.read.QueryRowContext(ctx, l.sql("SELECT {now}")).Scan(&now); err != nil {
		return 0, fmt.Errorf("ledger: clock: %w", err)
	}
	return now, nil
}

// Epoch is the random id that the ledger got when it was created: a view that
// applied another one is worth nothing.
func (l *Ledger) Epoch() string { return l.epoch }

// initialize brings the tables up to date and reads who the ledger is.
func (l *Ledger) initialize(ctx context.Context) error {
	if err := l.migrate(ctx, l.log); err != nil {
		return err
	}
	err := l.inTx(ctx, func(tx *sql.Tx) (err error) {
		l.hashKey, err = l.loadHashKey(ctx, tx)
		return err
	})
	if err != nil {
		return err
	}
	return l.read.QueryRowContext(ctx, "SELECT epoch FROM about").Scan(&l.epoch)
}

// zone is the time zone of a game's days.
func (l *Ledger) zone(game string) *time.Location {
	if zone := l.zones[game]; zone != nil {
		return zone
	}
	return time.UTC
}

// inTx runs f in one writing transaction, which is on disk once inTx returns
// nil. After an error nothing has changed, but for an error of the commit
// itself: then it is unknown.
func (l *Ledger) inTx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := l.write.BeginTx(ctx, l.txOptions)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // also of an f that panics; nothing after a commit
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// inSnapshot runs f in a transaction that reads one moment of the ledger, however long
// it takes.
func (l *Ledger) inSnapshot(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := l.read.BeginTx(ctx, l.snapshotOptions)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it has changed nothing
	if l.allowIdle != "" {
		_, err = tx.ExecContext(ctx, l.allowIdle)
	}
	if err == nil {
		err = f(tx)
	}
	return err
}
