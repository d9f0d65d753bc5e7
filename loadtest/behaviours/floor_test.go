package behaviours

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

//go:embed floor.lua
var leastText string

var leastScript = redis.NewScript(leastText)

const (
	lineBytes    = 110 // of an event of ours in Redis
	linesOfText  = 32  // as in a bundle of ours
	textsAPush   = 64
	boundInTexts = 1 << 20 // which nothing reaches
)

var lineRest = strings.Repeat("x", lineBytes-timestampBytes)

// least is what a bounded queue for each game has Redis do at the very least: texts
// of up to 32 events of a game, with as many bytes as ours have, are put at the end
// of the game's list by a script that bounds it, and popped from its head, by plain
// go-redis in pipelines. Events are no more than an instant and padding. It asks
// nobody who may send what, keeps no batch until it has arrived, counts nothing,
// and knows from this process where there is something to take.
type least struct {
	rdb     *redis.Client
	flow    *flow
	keys    []string
	pushed  chan int // games, for each text
	evicted atomic.Int64

	mu   sync.Mutex
	open [][]byte // by game: lines that wait for more
	full []text   // that wait for others
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

// gather gives what is to be pushed.
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

// rest gives all that waits for more.
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
		n, _ := done[i].(*redis.Cmd).Int64() // errors are in err
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

// next waits for texts, and gives none when ctx ends.
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
