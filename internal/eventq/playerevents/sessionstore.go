package playerevents

import (
	"context"

	"laststand/internal/eventq"
)

// Visit is a player's stay: what is online until it is offline.
type SessionRecord struct {
	Game    string           `json:"game"`
	Session string           `json:"session"`
	Offline eventq.Behaviour `json:"offline"` // to be reported at its end; At is when it was last seen
}

// Attendance keeps which visits there are at which node, so that their end is
// reported though the node is lost. Every call may be repeated. Safe for
// concurrent use.
type SessionStore interface {
	Add(ctx context.Context, node string, visits ...SessionRecord) error
	Remove(ctx context.Context, node string, visits ...SessionRecord) error
	// Seen notes that the visits of games at a node go on. Those of a node that
	// has not said so for an hour are forgotten.
	Renew(ctx context.Context, node string, games []string, now int64) error
	// Orphans gives visits of a partition's games, some at a time, at a node that
	// is not among those alive, as they were last seen; none where there are none.
	// Who has reported their end has them Exit.
	DeadNodeSessions(ctx context.Context, partition int, alive []string, limit int) (visits []SessionRecord, node string, err error)
}
