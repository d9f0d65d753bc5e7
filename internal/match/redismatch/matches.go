package redismatch

import (
	"context"
	"encoding/json"

	"github.com/oklog/ulid/v2"
	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
)

// Matches stores matches and their pushes. It implements match.StateStore.
type Matches struct {
	connection
	questions questionCache
}

// scripterForSize returns what a script runs on. A script of a large match runs on
// the client, because many players wait for it. It does not wait behind the answers
// of other matches.
func (m *Matches) scripterForSize(large bool) redis.Scripter {
	if large {
		return m.client
	}
	return m.scripts
}

const (
	// matchTTLMS is how long Redis stores a match that never ends, and answers that do
	// not reach the ledger. It covers half a day in the lobby and a match that its host
	// prolongs.
	matchTTLMS = 48 * 60 * 60 * 1000
	// settledTTLMS is how long a match can be read after the ledger has its result and
	// its answers.
	settledTTLMS = 6 * 60 * 1000
	// tombstoneTTLMS is how long the store remembers the id of a match that is over or
	// tombstoned.
	tombstoneTTLMS = 60 * 60 * 1000
)

// Create writes a new match, see match.StateStore.
func (m *Matches) Create(ctx context.Context, created match.NewMatch) (bool, error) {
	p, first := created.Plan, created.State
	plan, err := json.Marshal(p)
	if err != nil {
		return false, wrap("create", p.ID, err)
	}
	var frame []byte
	if created.Found != nil {
		frame = created.Found.Frame(1)
	}
	k := newKeys(p.ID)
	args := append([]any{p.ID, ulid.Make().String(), plan, first.DueAt, matchTTLMS, frame, created.Node}, createFields(p, first)...)
	isCreated, err := createMatchScript.Run(ctx, m.scripts,
		[]string{k.match(), k.plan(), k.log(), k.due(), k.seq(), k.tombstone()}, args...).Bool()
	return isCreated, wrap("create", p.ID, err)
}

// Tombstone prevents a match from ever being created, see match.StateStore.
func (m *Matches) Tombstone(ctx context.Context, id string) (exists bool, err error) {
	k := newKeys(id)
	exists, err = tombstoneScript.Run(ctx, m.scripts, []string{k.match(), k.tombstone()}, tombstoneTTLMS).Bool()
	return exists, wrap("tombstone", id, err)
}
