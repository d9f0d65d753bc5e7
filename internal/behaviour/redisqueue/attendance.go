package redisqueue

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/behaviour"
)

// attendanceTTL is how long visits are kept whose node says nothing of them.
const attendanceTTL = time.Hour

// scriptVisits is how many visits a script takes at the most.
const scriptVisits = 400

var (
	attendScript = script("attend")
	departScript = script("depart")
)

// Attendance implements behaviour.Attendance. It is safe for concurrent use.
type Attendance struct{ client redis.UniversalClient }

var _ behaviour.Attendance = (*Attendance)(nil)

// NewAttendance makes an attendance.
func NewAttendance(client redis.UniversalClient) *Attendance { return &Attendance{client} }

// attendKeys are the keys of the scripts.
func attendKeys(p partition, node string) []string { return []string{p.visits(node), p.attending()} }

// Enter implements behaviour.Attendance.
func (a *Attendance) Enter(ctx context.Context, node string, visits ...behaviour.Visit) error {
	return inPieces(visits, func(k partition, piece []behaviour.Visit) error {
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

// Exit implements behaviour.Attendance.
func (a *Attendance) Exit(ctx context.Context, node string, visits ...behaviour.Visit) error {
	return inPieces(visits, func(k partition, piece []behaviour.Visit) error {
		args := []any{node}
		for _, v := range piece {
			args = append(args, v.Session)
		}
		return wrapped("exit", departScript.Run(ctx, a.client, attendKeys(k, node), args...).Err())
	})
}

// Seen implements behaviour.Attendance.
func (a *Attendance) Seen(ctx context.Context, node string, games []string, now int64) error {
	seen := make(map[partition]bool)
	_, err := a.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, game := range games {
			k := newPartition(partitionOf(game))
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

// Orphans implements behaviour.Attendance.
func (a *Attendance) Orphans(ctx context.Context, number int, alive []string, limit int) ([]behaviour.Visit, string, error) {
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
		visits, err := a.someOf(ctx, k.visits(node), limit)
		if err != nil {
			return nil, "", wrapped("orphans", err)
		}
		if len(visits) > 0 {
			return lastSeen(visits, int64(z.Score)), node, nil
		}
		if err := departScript.Run(ctx, a.client, attendKeys(k, node), node).Err(); err != nil { // they were forgotten
			return nil, "", wrapped("orphans", err)
		}
	}
	return nil, "", nil
}

// someOf gives visits of a node, none only where it has none.
func (a *Attendance) someOf(ctx context.Context, key string, limit int) ([]behaviour.Visit, error) {
	for cursor := uint64(0); ; {
		fields, next, err := a.client.HScan(ctx, key, cursor, "", int64(limit)).Result()
		if err != nil {
			return nil, err
		}
		if len(fields) > 0 {
			return decodeVisits(fields[:min(len(fields), 2*limit)])
		}
		if cursor = next; cursor == 0 {
			return nil, nil
		}
	}
}

// decodeVisits reads sessions and visits in turn.
func decodeVisits(fields []string) ([]behaviour.Visit, error) {
	visits := make([]behaviour.Visit, len(fields)/2)
	for i := range visits {
		if err := json.Unmarshal([]byte(fields[2*i+1]), &visits[i]); err != nil {
			return nil, fmt.Errorf("session %s: %w", fields[2*i], err)
		}
	}
	return visits, nil
}

func lastSeen(visits []behaviour.Visit, at int64) []behaviour.Visit {
	for i := range visits {
		visits[i].Offline.At = max(visits[i].Offline.At, at)
	}
	return visits
}

func latest(visits []behaviour.Visit) (at int64) {
	for _, v := range visits {
		at = max(at, v.Offline.At)
	}
	return at
}

// inPieces does something for visits, those of a partition together, up to as
// many as a script takes.
func inPieces(visits []behaviour.Visit, do func(partition, []behaviour.Visit) error) error {
	parts := make(map[partition][]behaviour.Visit)
	for _, v := range visits {
		k := newPartition(partitionOf(v.Game))
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
