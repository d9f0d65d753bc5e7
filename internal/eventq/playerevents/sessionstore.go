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
// their end if the node is lost. Callers may repeat every call. It is safe for
// concurrent use.
type SessionStore interface {
	Add(ctx context.Context, node string, visits ...SessionRecord) error
	Remove(ctx context.Context, node string, visits ...SessionRecord) error
	// Renew records that the sessions of these games at a node continue. The store
	// forgets the sessions of a node that is not renewed for an hour.
	Renew(ctx context.Context, node string, games []string, now int64) error
	// DeadNodeSessions returns sessions of a partition's games at a node that is
	// not alive, as they were last seen. It returns at most limit, and none if
	// there are none. After the caller has reported their end, it must Remove
	// them.
	DeadNodeSessions(ctx context.Context, partition int, alive []string, limit int) (visits []SessionRecord, node string, err error)
}
