package playerevents

import (
	"context"

	"laststand/internal/eventq"
)

// SessionRecord is a stored session, from the online to the offline of a player.
type SessionRecord struct {
	Game    string           `json:"game"`
	Session string           `json:"session"`
	Offline eventq.Behaviour `json:"offline"` // reported at its end; At is when it was last seen
}

// SessionStore stores the sessions of each node, so that another node can report
// their end if the node dies. Callers may repeat every call. It is safe for
// concurrent use.
type SessionStore interface {
	// Sync adds sessions that started at a node, and then removes ended ones.
	Sync(ctx context.Context, node string, started, ended []SessionRecord) error
	// Renew records that a node and its sessions of these games are alive. The store
	// forgets the sessions of a node that is not renewed for an hour.
	Renew(ctx context.Context, node string, games []string, now int64) error
	// DeadNodeSessions returns sessions of a partition's games at a node that was
	// not renewed within age ms, as they were last seen. It returns at most limit,
	// and none if there are none. After the caller has reported their end, it must
	// remove them.
	DeadNodeSessions(ctx context.Context, partition int, now, age int64, limit int) (found []SessionRecord, node string, err error)
}
