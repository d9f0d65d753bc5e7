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
	URL      string                    // postgres://…; "": SQLite in Dir
	Dir      string                    // folder of the embedded database; created if missing
	Zones    map[string]*time.Location // time zone of each game's days; missing: UTC
	Pairs    map[string]int64          // limit of counting duels per pair and day; 0 or missing: no limit
	Wake     func(topic string)        // called for topics with new work; must not block; nil: none
	Events   Events                    // makes the tasks that report events; nil: none
	Cluster  func() int64              // cluster time, which must confirm a new day; nil: no second clock
	Logger   *slog.Logger              // nil: slog.Default
	Registry prometheus.Registerer     // nil: no metrics

	clock       string        // SQL expression that replaces the database's clock; for tests
	sumPage     int64         // positions per step of SumDays; for tests
	maxIdleInTx time.Duration // replaces the constant; for tests
}

// Events makes the tasks that report events to others. The ledger enqueues them in the
// event's transaction. *webhook.Registry implements it. Its methods must be quick and do no
// I/O. A task that does not pass its Check is dropped. at is the database's time, epoch
// ms. If a transaction is tried again, the methods are called again.
type Events interface {
	// Settled is called for a result that is new to the ledger.
	Settled(r *match.Result, at int64) []taskqueue.NewTask
	// Sealed is called for a game's day when it has ended.
	Sealed(game, day string, at int64) []taskqueue.NewTask
}

// Ledger is an open ledger, or its Public view.
type Ledger struct {
	*core
	read *sql.DB // core.own or core.public
}

// core is what a ledger shares with its Public view.
type core struct {
	dialect
	write  *sql.DB // SQLite: one connection, because it allows one writer
	own    *sql.DB // for reads that the node depends on
	public *sql.DB // for reads that any client may cause

	zones map[string]*time.Location
	pairs map[string]int64
	epoch string

	hashKey     hashKey // the same on all nodes
	notifyWoken func(topic string)
	events      Events
	processID   string // unique among the processes at the database
	log         *slog.Logger

	registrations registrationBatcher
	clocks        *dayClocks
	refusedEvents *prometheus.CounterVec // dropped events, by game
	sumPage       int64

	namePage int   // see NamedBetween
	rules    int64 // version of the rules by which this program computes skeletons
}

// Open opens the ledger. It creates the ledger if there is none, and migrates its
// tables. It fails within about 5 s if the database does not answer, the folder is not
// writable, or the disk is full. The error says what to do and never contains a
// password. The caller must close the ledger.
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

// Close closes the connections after running calls have ended. Waiting registrations
// fail.
func (l *Ledger) Close() error {
	l.registrations.close()
	err := errors.Join(l.own.Close(), l.public.Close())
	if l.write != l.own {
		err = errors.Join(err, l.write.Close())
	}
	return err
}

// Public returns the same ledger for reads that any client may cause. Its reads have
// separate connections, so that they cannot delay settlement, leaderboards, logins and
// tasks. It needs no Close.
func (l *Ledger) Public() *Ledger { return &Ledger{core: l.core, read: l.public} }

// Ping checks that the database answers.
func (l *Ledger) Ping(ctx context.Context) error {
	var one int
	if err := l.read.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil {
		return fmt.Errorf("ledger: ping: %w", err)
	}
	return nil
}

// Now returns the database's time, epoch ms.
func (l *Ledger) Now(ctx context.Context) (now int64, err error) {
	if err = l.read.QueryRowContext(ctx, l.sql("SELECT {now}")).Scan(&now); err != nil {
		return 0, fmt.Errorf("ledger: clock: %w", err)
	}
	return now, nil
}

// Epoch returns the random id that the ledger got when it was created. A view of a
// ledger with another epoch is useless.
func (l *Ledger) Epoch() string { return l.epoch }

// initialize migrates the tables and reads the ledger's identity.
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

// zone returns the time zone of a game's days.
func (l *Ledger) zone(game string) *time.Location {
	if zone := l.zones[game]; zone != nil {
		return zone
	}
	return time.UTC
}

// inTx runs f in one writing transaction, which is on disk when inTx returns nil. After
// an error nothing has changed. If the error comes from the commit itself, the outcome
// is unknown.
func (l *Ledger) inTx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := l.write.BeginTx(ctx, l.txOptions)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // also if f panics; does nothing after a commit
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// inSnapshot runs f in a transaction that reads one moment of the ledger. It may take
// long.
func (l *Ledger) inSnapshot(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := l.read.BeginTx(ctx, l.snapshotOptions)
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
