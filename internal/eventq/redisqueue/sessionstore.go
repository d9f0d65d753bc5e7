package redisqueue

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/eventq/playerevents"
)

// sessionTTL is how long the store keeps sessions of a node that does not renew
// them.
const sessionTTL = time.Hour

// sessionsPerScript is how many sessions one script takes at most.
const sessionsPerScript = 400

var removeSessionsScript = script("remove_sessions")

// SessionStore implements playerevents.SessionStore. It is safe for concurrent
// use.
type SessionStore struct{ client redis.UniversalClient }

var _ playerevents.SessionStore = (*SessionStore)(nil)

// NewSessionStore returns a session store.
func NewSessionStore(client redis.UniversalClient) *SessionStore { return &SessionStore{client} }

// sessionKeys returns the keys of the scripts.
func sessionKeys(p partition, node string) []string {
	return []string{p.sessions(node), p.sessionNodes()}
}

// Add implements playerevents.SessionStore.
func (a *SessionStore) Add(ctx context.Context, node string, all ...playerevents.SessionRecord) error {
	return inChunks(all, func(k partition, chunk []playerevents.SessionRecord) error {
		records := make([]any, 0, 2*len(chunk))
		for _, v := range chunk {
			text, err := json.Marshal(v)
			if err != nil {
				return fmt.Errorf("redisqueue: enter %s: %w", v.Session, err)
			}
			records = append(records, v.Session, text)
		}
		_, err := a.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.HSet(ctx, k.sessions(node), records...)
			p.PExpire(ctx, k.sessions(node), sessionTTL)
			p.ZAddGT(ctx, k.sessionNodes(), redis.Z{Member: node, Score: float64(latestTime(chunk))})
			return nil
		})
		return wrapError("enter", err)
	})
}

// Remove implements playerevents.SessionStore.
func (a *SessionStore) Remove(ctx context.Context, node string, all ...playerevents.SessionRecord) error {
	return inChunks(all, func(k partition, chunk []playerevents.SessionRecord) error {
		args := []any{node}
		for _, v := range chunk {
			args = append(args, v.Session)
		}
		return wrapError("exit", removeSessionsScript.Run(ctx, a.client, sessionKeys(k, node), args...).Err())
	})
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
	return wrapError("seen", err)
}

// DeadNodeSessions implements playerevents.SessionStore.
func (a *SessionStore) DeadNodeSessions(ctx context.Context, number int, alive []string, limit int) ([]playerevents.SessionRecord, string, error) {
	k := newPartition(number)
	nodes, err := a.client.ZRangeWithScores(ctx, k.sessionNodes(), 0, -1).Result()
	if err != nil {
		return nil, "", wrapError("orphans", err)
	}
	for _, z := range nodes {
		node, _ := z.Member.(string)
		if slices.Contains(alive, node) {
			continue
		}
		found, unreadable, err := a.readSome(ctx, k.sessions(node), limit)
		if len(found) > 0 {
			return withLastSeen(found, int64(z.Score)), node, nil
		}
		if err == nil { // they expired, or the next lines forget them
			err = removeSessionsScript.Run(ctx, a.client, sessionKeys(k, node), append([]any{node}, unreadable...)...).Err()
		}
		if err == nil && len(unreadable) > 0 {
			err = fmt.Errorf("%d visits of node %s cannot be read and are forgotten: nodes of another version have noted them", len(unreadable), node)
		}
		if err != nil {
			return nil, "", wrapError("orphans", err)
		}
	}
	return nil, "", nil
}

// readSome returns sessions of a node, and the ids of sessions that it cannot
// read. It returns none only if the node has none.
func (a *SessionStore) readSome(ctx context.Context, key string, limit int) (found []playerevents.SessionRecord, unreadable []any, err error) {
	for cursor := uint64(0); ; {
		fields, next, err := a.client.HScan(ctx, key, cursor, "", int64(limit)).Result()
		if err != nil {
			return nil, nil, err
		}
		if len(fields) > 0 {
			found, unreadable = decodeSessions(fields[:min(len(fields), 2*limit)])
			return found, unreadable, nil
		}
		if cursor = next; cursor == 0 {
			return nil, nil, nil
		}
	}
}

// decodeSessions reads session ids and records in turn.
func decodeSessions(fields []string) (found []playerevents.SessionRecord, unreadable []any) {
	for i := 0; i+1 < len(fields); i += 2 {
		var v playerevents.SessionRecord
		if json.Unmarshal([]byte(fields[i+1]), &v) != nil {
			unreadable = append(unreadable, fields[i])
			continue
		}
		found = append(found, v)
	}
	return found, unreadable
}

func withLastSeen(all []playerevents.SessionRecord, at int64) []playerevents.SessionRecord {
	for i := range all {
		all[i].Offline.At = max(all[i].Offline.At, at)
	}
	return all
}

func latestTime(all []playerevents.SessionRecord) (at int64) {
	for _, v := range all {
		at = max(at, v.Offline.At)
	}
	return at
}

// inChunks calls do with sessions of one partition, at most sessionsPerScript at a
// time.
func inChunks(all []playerevents.SessionRecord, do func(partition, []playerevents.SessionRecord) error) error {
	parts := make(map[partition][]playerevents.SessionRecord)
	for _, v := range all {
		k := gamePartition(v.Game)
		parts[k] = append(parts[k], v)
	}
	for k, part := range parts {
		for chunk := range slices.Chunk(part, sessionsPerScript) {
			if err := do(k, chunk); err != nil {
				return err
			}
		}
	}
	return nil
}

func wrapError(operation string, err error) error {
	if err != nil {
		return fmt.Errorf("redisqueue: %s: %w", operation, err)
	}
	return nil
}
