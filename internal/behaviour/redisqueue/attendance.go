package redisqueue

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/behaviour"
)

// attendanceTTL is how long visits are kept whose node says nothing of them.
const attendanceTTL = time.Hour

// scriptVisits is how many visits a script takes at the most.
const scriptVisits = 400

var (
	//go:embed attend.lua
	attendSource string
	//go:embed depart.lua
	departSource string

	attendScript = redis.NewScript(attendSource)
	departScript = redis.NewScript(departSource)
)

// Attendance implements behaviour.Attendance. It is safe for concurrent use.
type Attendance struct{ client redis.UniversalClient }

var _ behaviour.Attendance = (*Attendance)(nil)

// NewAttendance makes an attendance.
func NewAttendance(client redis.UniversalClient) *Attendance { return &Attendance{client} }

// attending names the keys of a partition's visits.
type attending struct{ partition int }

func attendingOf(game string) attending {
	h := fnv.New32a()
	h.Write([]byte(game))
	return attending{int(h.Sum32() % attendingPartitions)}
}

const attendingPartitions = 64

func (k attending) tag() string               { return "{b:" + strconv.Itoa(k.partition) + "}" }
func (k attending) nodes() string             { return k.tag() + ":attending" }         // zset: node to when it was last seen, epoch ms
func (k attending) visits(node string) string { return k.tag() + ":attending:" + node } // hash: session to visit

// both are the keys of the scripts.
func (k attending) both(node string) []string { return []string{k.visits(node), k.nodes()} }

// Enter implements behaviour.Attendance.
func (a *Attendance) Enter(ctx context.Context, node string, visits ...behaviour.Visit) error {
	return inPieces(visits, func(k attending, piece []behaviour.Visit) error {
		args := []any{node, latest(piece), attendanceTTL.Milliseconds()}
		for _, v := range piece {
			text, err := json.Marshal(v)
			if err != nil {
				return fmt.Errorf("redisqueue: enter %s: %w", v.Session, err)
			}
			args = append(args, v.Session, text)
		}
		return wrapped("enter", attendScript.Run(ctx, a.client, k.both(node), args...).Err())
	})
}

// Exit implements behaviour.Attendance.
func (a *Attendance) Exit(ctx context.Context, node string, visits ...behaviour.Visit) error {
	return inPieces(visits, func(k attending, piece []behaviour.Visit) error {
		args := []any{node}
		for _, v := range piece {
			args = append(args, v.Session)
		}
		return wrapped("exit", departScript.Run(ctx, a.client, k.both(node), args...).Err())
	})
}

// Seen implements behaviour.Attendance.
func (a *Attendance) Seen(ctx context.Context, node string, games []string, now int64) error {
	seen := make(map[attending]bool)
	_, err := a.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, game := range games {
			k := attendingOf(game)
			if seen[k] {
				continue
			}
			seen[k] = true
			p.PExpire(ctx, k.visits(node), attendanceTTL)
			p.ZAddXX(ctx, k.nodes(), redis.Z{Member: node, Score: float64(now)})
		}
		return nil
	})
	return wrapped("seen", err)
}

// Orphans implements behaviour.Attendance.
func (a *Attendance) Orphans(ctx context.Context, partition int, alive []string, limit int) ([]behaviour.Visit, string, error) {
	k := attending{partition}
	nodes, err := a.client.ZRangeWithScores(ctx, k.nodes(), 0, -1).Result()
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
		if err := departScript.Run(ctx, a.client, k.both(node), node).Err(); err != nil { // they were forgotten
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
func inPieces(visits []behaviour.Visit, do func(attending, []behaviour.Visit) error) error {
	parts := make(map[attending][]behaviour.Visit)
	for _, v := range visits {
		k := attendingOf(v.Game)
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
