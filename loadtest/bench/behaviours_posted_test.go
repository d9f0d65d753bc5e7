package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/eventq"
)

// posted is ours for events that services post, several of one game per call.
type posted struct {
	*ours
	ids atomic.Int64
}

func openPosted(b *testing.B, rdb *redis.Client, f *flow) way {
	return &posted{ours: newOurs(b, rdb, f, gameNames(*games))}
}

// offer posts as many events as there are listed games, all for the first of them.
func (p *posted) offer(ctx context.Context, games []int) error {
	last, now := p.ids.Add(int64(len(games))), time.Now().UnixMilli()
	bodies := make([]json.RawMessage, len(games))
	for i := range bodies {
		bodies[i] = postedBody(last-int64(i), now)
	}
	answer, err := p.Post(ctx, p.games[games[0]], bodies)
	if err == nil && answer.Accepted != len(bodies) {
		err = fmt.Errorf("of %d that were posted it took %d and dropped %v", len(bodies), answer.Accepted, answer.Dropped)
	}
	return err
}

// postedBody returns a sample in the form in which a service posts it.
func postedBody(id, now int64) json.RawMessage {
	body, sample := make([]byte, 0, eventBytes), sample()
	body = append(body, `{"id":"`...)
	body = strconv.AppendInt(body, 1e15+id, 10)
	body = append(body, `-service-1","type":"`+eventq.MatchEnd+`","at":`...)
	body = strconv.AppendInt(body, now, 10)
	body = append(body, `,"player":"`+sample.Player+`","session":"`+sample.Session+`","account":"`+sample.Account+`","data":`...)
	return append(append(body, sample.Data...), '}')
}
