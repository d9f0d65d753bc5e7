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

// attendanceTTL is how long visits are kept whose node says nothing of them.
const attendanceTTL = time.Hour

// scriptVisits is how many visits a script takes at the most.
const scriptVisits = 400

var (
	attendScript = script("attend")
	departScript = script("depart")
)

// Attendance implements playerevents.Attendance. It is safe for concurrent use.
type Attendance struct{ client redis.UniversalClient }

var _ playerevents.Attendance = (*Attendance)(nil)

// NewAttendance makes an attendance.
func NewAttendance(client redis.UniversalClient) *Attendance { return &Attendance{client} }

// attendKeys are the keys of the scripts.
func attendKeys(p partition, node string) []string { return []string{p.visits(node), p.attending()} }

// Enter implements playerevents.Attendance.
func (a *Attendance) Enter(ctx context.Context, node string, all ...playerevents.Visit) error {
	return inPieces(all, func(k partition, piece []playerevents.Visit) error {
		args := []any{node, latest(piece), attendanceTTL.Milliseconds()}
		for _, v := range piece {
			text, err := json.Marshal(v)
			if err != nil {
				return fmt.Errorf("redisqueue: enter %s: %w", v.Session, err)
			}
			args = append(args, v.Session, text)
		}
		return wrapped("enter", attendScript.Run(ctx, a.client, attendKeys(k, node), args...).Err())
	})
}

// Exit implements playerevents.Attendance.
func (a *Attendance) Exit(ctx context.Context, node string, all ...playerevents.Visit) error {
	return inPieces(all, func(k partition, piece []playerevents.Visit) error {
		args := []any{node}
		for _, v := range piece {
			args = append(args, v.Session)
		}
		return wrapped("exit", departScript.Run(ctx, a.client, attendKeys(k, node), args...).Err())
	})
}

// Seen implements playerevents.Attendance.
func (a *Attendance) Seen(ctx context.Context, node string, games []string, now int64) error {
	seen := make(map[partition]bool)
	_, err := a.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, game := range games {
			k := gamePartition(game)
			if seen[k] {
				continue
			}
			seen[k] = true
			p.PExpire(ctx, k.visits(node), attendanceTTL)
			p.ZAddXX(ctx, k.attending(), redis.Z{Member: node, Score: float64(now)})
		}
		return nil
	})
	return wrapped("seen", err)
}

// Orphans implements playerevents.Attendance.
func (a *Attendance) Orphans(ctx context.Context, number int, alive []string, limit int) ([]playerevents.Visit, string, error) {
	k := newPartition(number)
	nodes, err := a.client.ZRangeWithScores(ctx, k.attending(), 0, -1).Result()
	if err != nil {
		return nil, "", wrapped("orphans", err)
	}
	for _, z := range nodes {
		node, _ := z.Member.(string)
		if slices.Contains(alive, node) {
			continue
		}
		found, unread, err := a.someOf(ctx, k.visits(node), limit)
		if len(found) > 0 {
			return lastSeen(found, int64(z.Score)), node, nil
		}
		if err == nil { // they were forgotten, or are now
			err = departScript.Run(ctx, a.client, attendKeys(k, node), append([]any{node}, unread...)...).Err()
		}
		if err == nil && len(unread) > 0 {
			err = fmt.Errorf("%d visits of node %s cannot be read and are forgotten: nodes of another version have noted them", len(unread), node)
		}
		if err != nil {
			return nil, "", wrapped("orphans", err)
		}
	}
	return nil, "", nil
}

// someOf gives visits of a node, and the sessions of some that cannot be read;
// none only where it has none.
func (a *Attendance) someOf(ctx context.Context, key string, limit int) (found []playerevents.Visit, unread []any, err error) {
	for cursor := uint64(0); ; {
		fields, next, err := a.client.HScan(ctx, key, cursor, "", int64(limit)).Result()
		if err != nil {
			return nil, nil, err
		}
		if len(fields) > 0 {
			found, unread = decodeVisits(fields[:min(len(fields), 2*limit)])
			return found, unread, nil
		}
		if cursor = next; cursor == 0 {
			return nil, nil, nil
		}
	}
}

// decodeVisits reads sessions and visits in turn.
func decodeVisits(fields []string) (found []playerevents.Visit, unread []any) {
	for i := 0; i+1 < len(fields); i += 2 {
		var v playerevents.Visit
		if json.Unmarshal([]byte(fields[i+1]), &v) != nil {
			unread = append(unread, fields[i])
			continue
		}
		found = append(found, v)
	}
	return found, unread
}

func lastSeen(all []playerevents.Visit, at int64) []playerevents.Visit {
	for i := range all {
		all[i].Offline.At = max(all[i].Offline.At, at)
	}
	return all
}

func latest(all []playerevents.Visit) (at int64) {
	for _, v := range all {
		at = max(at, v.Offline.At)
	}
	return at
}

// inPieces does something for visits, those of a partition together, up to as
// many as a script takes.
func inPieces(all []playerevents.Visit, do func(partition, []playerevents.Visit) error) error {
	parts := make(map[partition][]playerevents.Visit)
	for _, v := range all {
		k := gamePartition(v.Game)
		parts[k] = append(parts[k], v)
	}
	for k, part := range parts {
		for piece := range slices.Chunk(part, scriptVisits) {
			if err := do(k, piece); err != nil {
				return err
			}
		}
	}
	return nil
}

func wrapped(what string, err error) error {
	if err != nil {
		return fmt.Errorf("redisqueue: %s: %w", what, err)
	}
	return nil
}
