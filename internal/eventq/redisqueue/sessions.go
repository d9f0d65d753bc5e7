package redisqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"laststand/internal/eventq"
)

// sessionTTL is how long the store keeps sessions of a node that does not renew
// them.
const sessionTTL = time.Hour

// sessionChanges are changes in one partition.
type sessionChanges struct {
	added []any // session ids and records in turn
	ended []any // session ids
}

// Sync implements eventq.SessionStore. It runs one script for each partition.
func (s *Store) Sync(ctx context.Context, node string, games []string, changes []eventq.SessionRecord, seenAt int64) error {
	parts := make(map[partition]sessionChanges)
	for _, game := range games {
		parts[gamePartition(game)] = sessionChanges{}
	}
	for _, record := range changes {
		c := parts[gamePartition(record.Game)]
		if record.Ended {
			c.ended = append(c.ended, record.Session)
		} else {
			text, err := json.Marshal(record)
			if err != nil {
				return fmt.Errorf("redisqueue: session %s: %w", record.Session, err)
			}
			c.added = append(c.added, record.Session, text)
		}
		parts[gamePartition(record.Game)] = c
	}
	for part, c := range parts {
		if err := s.changeSessions(ctx, part, node, c, seenAt); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) changeSessions(ctx context.Context, k partition, node string, c sessionChanges, seenAt int64) error {
	args := append([]any{node, seenAt, sessionTTL.Milliseconds(), len(c.added) / 2}, c.added...)
	return s.run(ctx, "sessions", sessionsScript, []string{k.sessions(node), k.sessionNodes()}, append(args, c.ended...)...)
}

// DeadNodeSessions implements eventq.SessionStore. A node that was last seen
// in the far future had a clock that was set back later. It is dead too, because
// live nodes are renewed.
func (s *Store) DeadNodeSessions(ctx context.Context, number int, now, age int64, limit int) ([]eventq.SessionRecord, string, error) {
	k := newPartition(number)
	nodes, err := s.client.ZRangeWithScores(ctx, k.sessionNodes(), 0, -1).Result()
	for _, z := range nodes {
		node, _ := z.Member.(string)
		seenAt := int64(z.Score)
		if max(now-seenAt, seenAt-now) < age {
			continue
		}
		if found, err := s.someSessions(ctx, k, node, seenAt, limit); err != nil || len(found) > 0 {
			return found, node, wrapError("dead nodes", err)
		}
	}
	return nil, "", wrapError("dead nodes", err)
}

// someSessions returns sessions of a node that was last seen at a time. If all that it
// finds are unreadable, it forgets them, and returns an error. If there are none, it
// forgets the node.
func (s *Store) someSessions(ctx context.Context, k partition, node string, seenAt int64, limit int) (found []eventq.SessionRecord, err error) {
	ids, err := s.client.HRandField(ctx, k.sessions(node), limit).Result()
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, s.changeSessions(ctx, k, node, sessionChanges{}, 0)
	}
	values, err := s.client.HMGet(ctx, k.sessions(node), ids...).Result()
	var unreadable sessionChanges
	for i, value := range values {
		text, exists := value.(string)
		var record eventq.SessionRecord
		if exists && json.Unmarshal([]byte(text), &record) != nil {
			unreadable.ended = append(unreadable.ended, ids[i])
		} else if exists {
			record.Offline.At = max(record.Offline.At, seenAt)
			found = append(found, record)
		}
	}
	if err != nil || len(found) > 0 || len(unreadable.ended) == 0 {
		return found, err
	}
	err = fmt.Errorf("%d sessions of node %s cannot be read and are forgotten: nodes of another version have stored them", len(unreadable.ended), node)
	return nil, errors.Join(err, s.changeSessions(ctx, k, node, unreadable, 0))
}
