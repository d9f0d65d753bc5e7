package bench

import (
	"context"
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

//go:embed behaviours_floor.lua
var leastText string

var leastScript = redis.NewScript(leastText)

const (
	lineBytes    = 110 // of an event of Laststand in Redis
	linesOfText  = 32  // as in a bundle of Laststand
	textsAPush   = 64
	boundInTexts = 1 << 20 // never reached
)

var lineRest = strings.Repeat("x", lineBytes-timestampBytes)

// least is the least work of Redis for a bounded queue per game. Its texts hold up to 32
// events of one game, with as many bytes as those of Laststand. A script appends a text to
// the game's list and bounds the list. Consumers pop from the head. All calls use plain
// go-redis in pipelines. An event is only a time and padding. The queue does not check
// permissions, does not keep a batch until it has arrived, and counts nothing. It learns
// from this process which lists have texts.
type least struct {
	rdb     *redis.Client
	flow    *flow
	keys    []string
	pushed  chan int // one game per text
	evicted atomic.Int64

	mu   sync.Mutex
	open [][]byte // by game: lines that wait for more lines
	full []text   // texts that wait for other texts
}

type text struct {
	game  int
	lines []byte
}

func openLeast(b *testing.B, rdb *redis.Client, f *flow) way {
	if err := leastScript.Load(b.Context(), rdb).Err(); err != nil {
		b.Fatal(err)
	}
	return &least{rdb: rdb, flow: f, keys: gameNames(*games), pushed: make(chan int, *window), open: make([][]byte, *games)}
}

func (l *least) offer(ctx context.Context, games []int) error {
	timestamp := strconv.AppendInt(nil, time.Now().UnixMilli(), 10)
	return l.push(ctx, l.gather(timestamp, games))
}

// gather adds lines and returns the texts that are ready to push.
func (l *least) gather(timestamp []byte, games []int) (texts []text) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, game := range games {
		if l.open[game] == nil {
			l.open[game] = make([]byte, 0, linesOfText*lineBytes)
		}
		l.open[game] = append(append(l.open[game], timestamp...), lineRest...)
		if len(l.open[game]) == linesOfText*lineBytes {
			l.full = append(l.full, text{game, l.open[game]})
			l.open[game] = nil
		}
	}
	if len(l.full) >= textsAPush {
		texts, l.full = l.full, nil
	}
	return texts
}

// rest returns all lines that still wait.
func (l *least) rest() []text {
	l.mu.Lock()
	defer l.mu.Unlock()
	texts := l.full
	l.full = nil
	for game, lines := range l.open {
		if lines != nil {
			texts = append(texts, text{game, lines})
			l.open[game] = nil
		}
	}
	return texts
}

func (l *least) push(ctx context.Context, texts []text) error {
	if len(texts) == 0 {
		return nil
	}
	done, err := l.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, t := range texts {
			leastScript.EvalSha(ctx, p, []string{l.keys[t.game]}, t.lines, boundInTexts)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, t := range texts {
		n, _ := done[i].(*redis.Cmd).Int64() // err has the errors
		l.evicted.Add(n)
		l.pushed <- t.game
	}
	return nil
}

func (l *least) report(ctx context.Context) error {
	var group errgroup.Group
	group.Go(func() error {
		for each := time.NewTicker(*flush); ; {
			select {
			case <-ctx.Done():
				each.Stop()
				return nil
			case <-each.C:
			}
			if err := l.push(context.WithoutCancel(ctx), l.rest()); err != nil {
				return err
			}
		}
	})
	for range *consumers {
		group.Go(func() error {
			for games := l.next(ctx); len(games) > 0; games = l.next(ctx) {
				if err := l.pop(context.WithoutCancel(ctx), games); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// next waits for texts. It returns none when ctx ends.
func (l *least) next(ctx context.Context) (games []int) {
	select {
	case <-ctx.Done():
		return nil
	case game := <-l.pushed:
		games = append(games, game)
	}
	for len(games) < textsAPush {
		select {
		case game := <-l.pushed:
			games = append(games, game)
		default:
			return games
		}
	}
	return games
}

func (l *least) pop(ctx context.Context, games []int) error {
	popped, err := l.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, game := range games {
			p.LPop(ctx, l.keys[game])
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, cmd := range popped {
		lines := cmd.(*redis.StringCmd).Val()
		l.flow.arrived(len(lines)/lineBytes, func(i int) int64 { return offeredAt(lines[i*lineBytes:]) })
	}
	return nil
}

func (l *least) lost(context.Context) (int64, error) { return l.evicted.Load(), nil }
