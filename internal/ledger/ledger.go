package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
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
	NotifyTopic    func(topic string)        // called for each topic with new work; must not block; may be nil
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

// Ledger is an open ledger. Each field works on some of its tables, and is safe for concurrent
// use.
type Ledger struct {
	*database
	Reads
	Accounts    *Accounts
	Revocations *Revocations
	TokenKeys   *TokenKeys
	Results     *Results
	Corrections *Corrections
	OldMatches  *OldMatches
	Days        *Days
	Banks       *QuestionBanks
	Tasks       *TaskStore
	Claims      *TaskClaims
	Maintenance *TaskMaintenance
	Endpoints   *Endpoints
	Audit       *AuditLog
	Public      Reads // with connections of their own: see openReads

	entries    *entryWriter
	publicPool *sql.DB
}

// Reads has the parts of a ledger whose reads any client may cause.
type Reads struct {
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
	db, err := openUnmigrated(ctx, config)
	if err != nil {
		return nil, err
	}
	err = db.migrate(ctx)
	if err == nil {
		err = db.loadInfo(ctx)
	}
	if err != nil {
		db.close()
		return nil, fmt.Errorf("ledger: %w", withAdvice(err, config))
	}
	return newLedger(db, config), nil
}

// openUnmigrated opens the database without a look at its tables.
func openUnmigrated(ctx context.Context, config Config) (*database, error) {
	open := openSQLite
	if config.URL != "" {
		open = openPostgres
	}
	db, err := open(ctx, config)
	if err != nil {
		return nil, err
	}
	db.log, db.notifyTopic = cmp.Or(config.Logger, slog.Default()), config.NotifyTopic
	if db.notifyTopic == nil {
		db.notifyTopic = func(string) {}
	}
	db.clockSQL = cmp.Or(config.clockSQL, db.clockSQL)
	return db, nil
}

// newLedger returns the ledger of a database whose tables are migrated.
func newLedger(db *database, config Config) *Ledger {
	players := newPlayers(db, config.Registry)
	reads := newReads(db, players)
	entries := newEntryWriter(db, config)
	public := *db
	public.readPool = db.openPublicPool()
	return &Ledger{
		database: db, Reads: reads, Public: newReads(&public, players), publicPool: public.readPool, entries: entries,
		Accounts: &Accounts{db, entries, newEmptiedBlocks(config.Registry)}, Revocations: &Revocations{db}, TokenKeys: &TokenKeys{db},
		Results: &Results{db, entries, config.PairDuelLimits, config.Retention}, Corrections: &Corrections{db, entries, reads.History},
		OldMatches: &OldMatches{db, config.Retention}, Days: &Days{db, entries, cmp.Or(config.sumPageSize, sumPageSize)}, Banks: &QuestionBanks{db},
		Tasks: &TaskStore{db}, Claims: &TaskClaims{database: db}, Maintenance: &TaskMaintenance{db}, Endpoints: &Endpoints{db}, Audit: &AuditLog{db},
	}
}

// newReads returns the parts that read by the readPool of a database. Those for public reads
// have another pool than the ledger. So they cannot delay settlement, leaderboards, logins and
// tasks.
func newReads(db *database, players *Players) Reads {
	names := &Names{db, namePageSize}
	history := &History{db, names}
	return Reads{
		Players: &Players{db, players.registrations}, Names: names, History: history, Answers: &Answers{db, history},
		Arenas: &Arenas{db}, Leaderboards: &Leaderboards{db},
	}
}

// Close fails waiting registrations and waits for running ones. Then it closes the
// connections, after running statements have ended.
func (l *Ledger) Close() error {
	l.Players.registrations.Close()
	return errors.Join(l.publicPool.Close(), l.close())
}

// Ping checks that the database answers.
func (l *Ledger) Ping(ctx context.Context) error {
	_, err := getValue[int](ctx, l.database, "SELECT 1")
	return err
}

// Position says how far a ledger has got. A position that does not follow an earlier one shows
// that the ledger was restored, or that a standby that was behind became the database.
type Position struct {
	Epoch    string `json:"epoch"`    // of the ledger; `server restore` changes it
	Timeline string `json:"timeline"` // of PostgreSQL: a promotion or a recovery to a point in time changes it
	Entries  int64  `json:"entries"`  // of all games
	Access   int64  `json:"access"`   // last change of revocations
	Banks    int64  `json:"banks"`    // last change of question banks
}

// Follows reports whether a ledger at the earlier position can have grown to p. Every position
// follows the zero value.
func (p Position) Follows(earlier Position) bool {
	if earlier == (Position{}) {
		return true
	}
	return p.Epoch == earlier.Epoch && p.Timeline == earlier.Timeline &&
		p.Entries >= earlier.Entries && p.Access >= earlier.Access && p.Banks >= earlier.Banks
}

// Position reads the position of the ledger. If the epoch has changed, Epoch returns the new one
// from then on.
func (l *Ledger) Position(ctx context.Context) (p Position, err error) {
	found, err := l.get(ctx, into(&p.Epoch, &p.Timeline, &p.Entries, &p.Access, &p.Banks), `
SELECT i.epoch, {timeline}, CAST((SELECT COALESCE(SUM(pos), 0) FROM ledger_heads) AS BIGINT), a.revision, i.bank_revision
FROM ledger_info i, access_revision a WHERE i.id = 1 AND a.id = 1`)
	if err == nil && !found {
		err = errors.New("ledger: the tables have no ledger")
	}
	if err == nil {
		l.epoch.Store(&p.Epoch)
	}
	return p, err
}
