package redisqueue

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/eventq/playerevents"
)

// sessionTTL is how long the store keeps sessions of a node that does not renew
// them.
const sessionTTL = time.Hour

var sessionsScript = script("sessions")

// SessionStore implements playerevents.SessionStore. It is safe for concurrent
// use.
type SessionStore struct{ client redis.UniversalClient }

var _ playerevents.SessionStore = (*SessionStore)(nil)

// NewSessionStore returns a session store.
func NewSessionStore(client redis.UniversalClient) *SessionStore { return &SessionStore{client} }

// sessionChanges are changes in one partition.
type sessionChanges struct {
	added  []any // session ids and records in turn
	ended  []any // session ids
	seenAt int64 // when the added ones were last seen
}

// Sync implements playerevents.SessionStore. It runs one script for each partition.
func (a *SessionStore) Sync(ctx context.Context, node string, started, ended []playerevents.SessionRecord) error {
	parts := make(map[partition]sessionChanges)
	for _, v := range started {
		text, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("redisqueue: enter %s: %w", v.Session, err)
		}
		c := parts[gamePartition(v.Game)]
		c.added, c.seenAt = append(c.added, v.Session, text), max(c.seenAt, v.Offline.At)
		parts[gamePartition(v.Game)] = c
	}
	for _, v := range ended {
		c := parts[gamePartition(v.Game)]
		c.ended = append(c.ended, v.Session)
		parts[gamePartition(v.Game)] = c
	}
	for part, changes := range parts {
		if err := a.change(ctx, part, node, changes); err != nil {
			return err
		}
	}
	return nil
}

func (a *SessionStore) change(ctx context.Context, k partition, node string, c sessionChanges) error {
	args := append([]any{node, c.seenAt, sessionTTL.Milliseconds(), len(c.added) / 2}, c.added...)
	keys := []string{k.sessions(node), k.sessionNodes()}
	return wrapError("sessions", sessionsScript.Run(ctx, a.client, keys, append(args, c.ended...)...).Err())
}

// Renew implements playerevents.SessionStore.
func (a *SessionStore) Renew(ctx context.Context, node string, games []string, now int64) error {
	seen := make(map[partition]bool)
	_, err := a.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, game := range games {
			k := gamePartition(game)
			if seen[k] {
				continue
			}
			seen[k] = true
			p.PExpire(ctx, k.sessions(node), sessionTTL)
			p.ZAddXX(ctx, k.sessionNodes(), redis.Z{Member: node, Score: float64(now)})
		}
		return nil
	})
	return wrapError("renew", err)
}

// DeadNodeSessions implements playerevents.SessionStore. A node that was last seen
// in the far future had a clock that was set back later. It is dead too, because
// live nodes are renewed.
func (a *SessionStore) DeadNodeSessions(ctx context.Context, number int, now, age int64, limit int) ([]playerevents.SessionRecord, string, error) {
	k := newPartition(number)
	for _, span := range []redis.ZRangeBy{{Min: "-inf", Max: strconv.FormatInt(now-age, 10)}, {Min: strconv.FormatInt(now+age, 10), Max: "+inf"}} {
		nodes, err := a.client.ZRangeByScoreWithScores(ctx, k.sessionNodes(), &span).Result()
		if err != nil {
			return nil, "", wrapError("dead nodes", err)
		}
		for _, z := range nodes {
			node, _ := z.Member.(string)
			found, err := a.someSessions(ctx, k, node, limit)
			if err != nil || len(found) > 0 {
				return withLastSeen(found, int64(z.Score)), node, wrapError("dead nodes", err)
			}
		}
	}
	return nil, "", nil
}

// someSessions returns sessions of a node. It returns none only if the node has none,
// and forgets the node then.
func (a *SessionStore) someSessions(ctx context.Context, k partition, node string, limit int) ([]playerevents.SessionRecord, error) {
	for cursor := uint64(0); ; {
		fields, next, err := a.client.HScan(ctx, k.sessions(node), cursor, "", int64(limit)).Result()
		if err != nil {
			return nil, err
		}
		if len(fields) > 0 {
			return a.readSessions(ctx, k, node, fields[:min(len(fields), 2*limit)])
		}
		if cursor = next; cursor == 0 {
			return nil, a.change(ctx, k, node, sessionChanges{})
		}
	}
}

// readSessions reads session ids and records in turn. If all of them are unreadable,
// it forgets them, and returns an error.
func (a *SessionStore) readSessions(ctx context.Context, k partition, node string, fields []string) (found []playerevents.SessionRecord, err error) {
	var unreadable sessionChanges
	for i := 0; i+1 < len(fields); i += 2 {
		var v playerevents.SessionRecord
		if json.Unmarshal([]byte(fields[i+1]), &v) != nil {
			unreadable.ended = append(unreadable.ended, fields[i])
			continue
		}
		found = append(found, v)
	}
	if len(found) > 0 {
		return found, nil
	}
	if err := a.change(ctx, k, node, unreadable); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%d visits of node %s cannot be read and are forgotten: nodes of another version have noted them", len(unreadable.ended), node)
}

func withLastSeen(all []playerevents.SessionRecord, at int64) []playerevents.SessionRecord {
	for i := range all {
		all[i].Offline.At = max(all[i].Offline.At, at)
	}
	return all
}

func wrapError(operation string, err error) error {
	if err != nil {
		return fmt.Errorf("redisqueue: %s: %w", operation, err)
	}
	return nil
}
