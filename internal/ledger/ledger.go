package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Ledger is an open ledger. Each field works on some of its tables.
type Ledger struct {
	*database
	Players      *Players
	Accounts     *Accounts
	Names        *Names
	Revocations  *Revocations
	TokenKeys    *TokenKeys
	Results      *Results
	Corrections  *Corrections
	History      *History
	Answers      *Answers
	Arenas       *Arenas
	OldMatches   *OldMatches
	Days         *Days
	Leaderboards *Leaderboards
	Banks        *QuestionBanks
	Tasks        *TaskStore
	Claims       *TaskClaims
	Maintenance  *TaskMaintenance
	Endpoints    *Endpoints
	Audit        *AuditLog
	Public       Public

	entries    *entryWriter
	publicPool *sql.DB
}

// Public has the reads that any client may cause. They use connections of their own. So
// they cannot delay settlement, leaderboards, logins and tasks.
type Public struct {
	Players      *Players
	Names        *Names
	History      *History
	Answers      *Answers
	Arenas       *Arenas
	Leaderboards *Leaderboards
}

// Open opens the ledger. It creates the ledger if there is none, except with MustExist, and migrates its
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
	db, publicPool, err := open(ctx, config)
	if err != nil {
		return nil, err
	}
	db.log = config.Logger
	if config.clockSQL != "" {
		db.clockSQL = config.clockSQL
	}
	err = db.migrate(ctx)
	if err == nil {
		err = db.loadInfo(ctx)
	}
	if err != nil {
		db.close()
		publicPool.Close()
		return nil, fmt.Errorf("ledger: %w", withAdvice(err, config))
	}
	return newLedger(db, publicPool, config), nil
}

// newLedger returns the ledger of a database whose tables are migrated.
func newLedger(db *database, publicPool *sql.DB, config Config) *Ledger {
	tasks := &TaskStore{db, config.NotifyTopic}
	entries := &entryWriter{
		database: db, tasks: tasks, timeZones: config.TimeZones, events: config.Events,
		dayClocks: newDayClocks(config, time.Now().UnixMilli()), droppedEvents: newDroppedEvents(config.Registry),
	}
	names := newNames(db)
	history := &History{db, names}
	l := &Ledger{
		database: db, publicPool: publicPool, entries: entries,
		Players: newPlayers(db, config.Registry), Accounts: &Accounts{db, entries, newEmptiedBlocks(config.Registry)}, Names: names,
		Revocations: &Revocations{db}, TokenKeys: &TokenKeys{db},
		Results: &Results{db, entries, config.PairDuelLimits, config.Retention}, Corrections: &Corrections{db, entries, history}, History: history, Answers: &Answers{db, history},
		Arenas:     &Arenas{db},
		OldMatches: &OldMatches{db, config.Retention},
		Days:       &Days{db, entries, cmp.Or(config.sumPageSize, sumPageSize)}, Leaderboards: &Leaderboards{db}, Banks: &QuestionBanks{db},
		Tasks: tasks, Claims: &TaskClaims{db, tasks}, Maintenance: &TaskMaintenance{db, tasks},
		Endpoints: &Endpoints{db}, Audit: &AuditLog{db},
	}
	public := *db
	public.readPool = publicPool
	publicHistory := &History{&public, newNames(&public)}
	l.Public = Public{
		Players: &Players{&public, l.Players.registrations}, Names: publicHistory.names, History: publicHistory, Answers: &Answers{&public, publicHistory},
		Arenas:       &Arenas{&public},
		Leaderboards: &Leaderboards{&public},
	}
	return l
}

// Close fails waiting registrations and waits for running ones. Then it closes the
// connections, after running statements have ended.
func (l *Ledger) Close() error {
	l.Players.registrations.Close()
	return errors.Join(l.publicPool.Close(), l.close())
}

// Ping checks that the database answers.
func (l *Ledger) Ping(ctx context.Context) (err error) {
	defer describe(&err, "ping")
	var one int
	return l.queryRow(ctx, "SELECT 1").Scan(&one)
}
