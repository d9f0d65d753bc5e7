package ws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"laststand/internal/leaderboard"
	"laststand/internal/pressure"
	"laststand/internal/protocol"
)

// Boards pushes boards to who watches them; *display.Display.
type Boards interface {
	Watch(ctx context.Context, game string, q leaderboard.Query, push func(frame []byte)) (leave func(), err error)
}

// mostWatched bounds the boards that one session watches.
const mostWatched = 8

// watched names a board that a session watches.
type watched struct {
	window leaderboard.Window
	order  leaderboard.Order
	kind   leaderboard.Kind
}

func watchedOf(b protocol.BoardWatch) watched {
	return watched{
		window: leaderboard.Window(b.Window),
		order:  cmp.Or(leaderboard.Order(b.Order), leaderboard.ByValue),
		kind:   cmp.Or(leaderboard.Kind(b.Kind), leaderboard.Players),
	}
}

// watches are the boards that a session watches. Its read loop owns them.
type watches struct {
	begun int          // counts them all
	count atomic.Int32 // of those that are open; for anybody
	open  map[watched]watch
}

// watch is one of them: its pushes bear the mark in the outbox.
type watch struct {
	mark  string
	leave func()
}

// end has nothing more of a watch come, of what is held back either.
func (w watch) end(out *outbox) {
	w.leave()
	out.forget(w.mark)
}

func (se *session) onBoardWatch(ctx context.Context, r request) (func(), error) {
	b, limit, err := boardOf(r)
	if err != nil {
		return nothing, err
	}
	board := watchedOf(b)
	former, again := se.watches.open[board]
	if !again && len(se.watches.open) >= mostWatched {
		return nothing, protocol.Errorf(protocol.CodeBadRequest, "a connection watches %d boards at most; unwatch one first", mostWatched)
	}
	if err := se.server.Pressure.Refuse(pressure.Watching); err != nil {
		return nothing, err
	}
	se.watches.begun++
	mark := fmt.Sprint("board ", se.watches.begun)
	q := leaderboard.Query{Window: board.window, Order: board.order, Kind: board.kind, Limit: limit}
	leave, err := se.server.Boards.Watch(ctx, se.game, q, func(frame []byte) { se.out.push(mark, frame) })
	if err != nil {
		return nothing, boardRefusal(err)
	}
	if again {
		former.end(&se.out)
	}
	if se.watches.open == nil {
		se.watches.open = make(map[watched]watch)
	}
	se.watches.open[board] = watch{mark, leave}
	se.watches.count.Store(int32(len(se.watches.open)))
	se.reply(r, protocol.TypeBoardOK, protocol.Empty{})
	return nothing, nil
}

// onBoardUnwatch ends a watch, if there is one: nothing is pushed behind its
// reply.
func (se *session) onBoardUnwatch(_ context.Context, r request) (func(), error) {
	b, _, err := boardOf(r)
	if err != nil {
		return nothing, err
	}
	board := watchedOf(b)
	if w, ok := se.watches.open[board]; ok {
		w.end(&se.out)
		delete(se.watches.open, board)
		se.watches.count.Store(int32(len(se.watches.open)))
	}
	se.reply(r, protocol.TypeBoardOK, protocol.Empty{})
	return nothing, nil
}

// boardOf reads the data of both requests. The limit is 0 for none.
func boardOf(r request) (b protocol.BoardWatch, limit int, err error) {
	if err := r.Decode(&b); err != nil {
		return b, 0, err
	}
	if b.Limit == nil {
		return b, 0, nil
	}
	if *b.Limit < 1 || *b.Limit > leaderboard.MaxLimit {
		return b, 0, protocol.Errorf(protocol.CodeBadRequest, "limit is a whole number from 1 to %d", leaderboard.MaxLimit)
	}
	return b, *b.Limit, nil
}

// unwatchAll ends all watches of a session that ends.
func (se *session) unwatchAll() {
	for _, w := range se.watches.open {
		w.leave()
	}
}

// boardRefusal is what a client is told of why a board cannot be watched.
func boardRefusal(err error) error {
	switch {
	case errors.Is(err, leaderboard.ErrNoWindow):
		return protocol.Errorf(protocol.CodeNotFound, "there is no such leaderboard")
	case errors.Is(err, leaderboard.ErrBadQuery):
		return protocol.Errorf(protocol.CodeBadRequest, "%s", err)
	}
	return err
}
