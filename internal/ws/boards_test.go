package ws

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"laststand/internal/leaderboard"
	"laststand/internal/protocol"
)

// fakeBoards is a Boards that pushes at the start of a watch and when a test calls change.
type fakeBoards struct {
	mu          sync.Mutex
	watchErr    error
	pushByWatch map[int]func(frame []byte) // by the order of Watch calls
	watchCalls  int
}

func (b *fakeBoards) setError(watchErr error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watchErr = watchErr
}

// Watch immediately pushes a frame that names the board.
func (b *fakeBoards) Watch(_ context.Context, game string, q leaderboard.Query, push func([]byte)) (func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watchErr != nil {
		return nil, b.watchErr
	}
	n := b.watchCalls
	b.watchCalls++
	if b.pushByWatch == nil {
		b.pushByWatch = map[int]func([]byte){}
	}
	b.pushByWatch[n] = push
	push(boardFrame(fmt.Sprintf("%s %s %s %s %d", game, q.Window, q.Order, q.Kind, q.Limit)))
	return func() {
		push(boardFrame("just before the watch ended"))
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.pushByWatch, n)
	}, nil
}

func (b *fakeBoards) countWatches() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.pushByWatch)
}

// pushToAll pushes to all watchers.
func (b *fakeBoards) pushToAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for n, push := range b.pushByWatch {
		push(boardFrame(fmt.Sprint("change of ", n)))
	}
}

func boardFrame(text string) []byte { return protocol.EncodePush(protocol.TypeBoard, text) }

// expectBoard reads a push of a board.
func (c *client) expectBoard(want string) {
	c.Helper()
	if f := c.expectFrame(protocol.TypeBoard); string(f.Data) != `"`+want+`"` {
		c.failNow("%s instead of %q", f.raw, want)
	}
}

func TestWatchedBoardsArePushed(t *testing.T) {
	n := startParallel(t)
	c := n.connectPlayer("ada")
	limit := 10
	c.request(protocol.TypeBoardWatch, protocol.BoardWatch{Window: "7d", Order: "time", Kind: "team", Limit: &limit}, protocol.TypeBoardOK)
	c.expectBoard("demo 7d time team 10")
	c.request(protocol.TypeBoardWatch, protocol.BoardWatch{Window: "7d"}, protocol.TypeBoardOK)
	c.expectBoard("demo 7d value player 0")
	n.boards.pushToAll()
	c.expectFrame(protocol.TypeBoard)
	c.expectFrame(protocol.TypeBoard)

	limit = 20 // replaces the former watch: the explicit defaults name the same board
	c.request(protocol.TypeBoardWatch, protocol.BoardWatch{Window: "7d", Order: "value", Kind: "player", Limit: &limit}, protocol.TypeBoardOK)
	c.expectBoard("demo 7d value player 20")
	for range 2 { // the second time there is nothing to unwatch
		c.request(protocol.TypeBoardUnwatch, protocol.BoardWatch{Window: "7d", Order: "time", Kind: "team"}, protocol.TypeBoardOK)
	}
	n.boards.pushToAll()
	c.expectBoard("change of 2")
	c.expectPong()
	if watches := n.boards.countWatches(); watches != 1 {
		t.Errorf("%d boards are watched", watches)
	}
}

func TestWatchesEndWithTheConnection(t *testing.T) {
	n := startParallel(t)
	c, host := n.connectPlayer("ada"), n.dial()
	host.request(protocol.TypeHello, protocol.Hello{Token: token("host", "quizmaster", now()+1e6)}, protocol.TypeWelcome)
	for i, watcher := range []*client{c, host} {
		watcher.request(protocol.TypeBoardWatch, protocol.BoardWatch{Window: "all"}, protocol.TypeBoardOK)
		if watches := n.boards.countWatches(); watches != i+1 {
			t.Errorf("%d boards are watched", watches)
		}
	}
	c.disconnect()
	n.eventually("the player's watch has ended", func() bool { return n.boards.countWatches() == 1 })
	n.drainNow()
	host.expectClose(protocol.CloseDraining)
	n.eventually("the host's watch has ended", func() bool { return n.boards.countWatches() == 0 })
}

func TestBoardsPerConnectionAreLimited(t *testing.T) {
	n := startParallel(t)
	c := n.connectPlayer("ada")
	watch := func(i int) {
		c.sendRequest(protocol.TypeBoardWatch, protocol.BoardWatch{Window: fmt.Sprint(i, "d")})
	}
	for i := range maxBoards {
		watch(i)
		c.readUntil(protocol.TypeBoard)
	}
	watch(maxBoards)
	if e := c.expectError(protocol.CodeBadRequest); !strings.Contains(e.Message, "unwatch") {
		t.Errorf("%+v", e)
	}
	watch(0)
	c.readUntil(protocol.TypeBoard)
	c.request(protocol.TypeBoardUnwatch, protocol.BoardWatch{Window: "1d"}, protocol.TypeBoardOK)
	watch(maxBoards)
	c.readUntil(protocol.TypeBoard)
}

func TestInvalidBoardRequestsAreRefused(t *testing.T) {
	n := startParallel(t)
	c := n.connectPlayer("ada")
	for _, testCase := range []struct {
		err  error
		code protocol.Code
	}{
		{fmt.Errorf("%w: 9d", leaderboard.ErrNoWindow), protocol.CodeNotFound},
		{fmt.Errorf("%w: order", leaderboard.ErrBadQuery), protocol.CodeBadRequest},
		{errors.New("a store is out of reach"), protocol.CodeUnavailable},
	} {
		n.boards.setError(testCase.err)
		c.requestRefused(protocol.TypeBoardWatch, protocol.BoardWatch{Window: "9d"}, testCase.code)
	}
	n.boards.setError(nil)
	for _, data := range []any{
		protocol.Empty{}, map[string]any{"window": "all", "limit": 0}, map[string]any{"window": "all", "limit": 201},
		map[string]any{"window": "all", "limit": "7"}, map[string]any{"window": "all", "cursor": "c"},
	} {
		for _, kind := range []string{protocol.TypeBoardWatch, protocol.TypeBoardUnwatch} {
			c.requestRefused(kind, data, protocol.CodeBadRequest)
		}
	}
	if watches := n.boards.countWatches(); watches != 0 {
		t.Errorf("%d boards are watched", watches)
	}
}
