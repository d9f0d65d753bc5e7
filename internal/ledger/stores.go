package ledger

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/loop"
)

// The types below divide the tables of the ledger among them. Each is safe for concurrent
// use.

// Players creates and finds players, and changes their devices.
type Players struct {
	*database
	registrations *loop.Batcher[*registration]
}

// Names claims and reads nicknames, and reads the names of teams.
type Names struct {
	*database
	pageSize int // names per statement of NamesBetween and EachSkeleton
}

// Accounts links accounts of an operator's login service to guests, and erases players.
type Accounts struct {
	*database
	entries       *entryWriter
	emptiedBlocks prometheus.Counter
}

// Revocations stores bans and revocations.
type Revocations struct{ *database }

// TokenKeys stores the keys of tokens.
type TokenKeys struct{ *database }

// Results settles matches.
type Results struct {
	*database
	entries        *entryWriter
	pairDuelLimits map[string]int64     // by game
	retention      map[string]Retention // by game
}

// Corrections makes results of settled matches not count.
type Corrections struct {
	*database
	entries *entryWriter
	history *History
}

// History reads settled matches.
type History struct {
	*database
	names *Names
}

// Answers stores the answers of settled matches.
type Answers struct {
	*database
	history *History
}

// Arenas stores the records of arenas.
type Arenas struct{ *database }

// OldMatches deletes answers and matches that are older than the retention of their game.
type OldMatches struct {
	*database
	retention map[string]Retention // by game
}

// entryWriter adds entries to the ledgers of games.
type entryWriter struct {
	*database
	tasks         *TaskStore
	timeZones     map[string]*time.Location
	events        Events
	dayClocks     *dayClocks
	droppedEvents *prometheus.CounterVec // events whose tasks were dropped, by game
}

// Days starts the days of games and sums the past ones.
type Days struct {
	*database
	entries     *entryWriter
	sumPageSize int64 // positions per step of SumDays
}

// Leaderboards reads what leaderboards are computed from: entries, and sums of days.
type Leaderboards struct{ *database }

// QuestionBanks stores the question banks of operators.
type QuestionBanks struct{ *database }

// TaskStore adds, changes and lists tasks.
type TaskStore struct {
	*database
	notifyTopic func(topic string) // see Config.NotifyTopic
}

// TaskClaims claims tasks for workers and ends the claims.
type TaskClaims struct {
	*database
	tasks *TaskStore
}

// TaskMaintenance returns and deletes tasks whose time has come, and measures queues.
type TaskMaintenance struct {
	*database
	tasks *TaskStore
}

// Endpoints stores the states of webhook endpoints.
type Endpoints struct{ *database }

// AuditLog stores what operators do.
type AuditLog struct{ *database }
