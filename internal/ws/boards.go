package ws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"laststand/internal/leaderboard"
	"laststand/internal/loadshed"
	"laststand/internal/protocol"
)

// Boards pushes leaderboards to the sessions that watch them; *display.Display
// implements it. Watch calls push with an encoded frame now and after each change, until
// the caller calls leave.
type Boards interface {
	Watch(ctx context.Context, game string, q leaderboard.Query, push func(frame []byte)) (leave func(), err error)
}

// maxBoards is how many boards one session can watch.
const maxBoards = 8

// boardKey identifies a board that a session watches.
type boardKey struct {
	window leaderboard.Window
	order  leaderboard.Order
	kind   leaderboard.Kind
}

func boardKeyOf(b protocol.BoardWatch) boardKey {
	return boardKey{
		window: leaderboard.Window(b.Window),
		order:  cmp.Or(leaderboard.Order(b.Order), leaderboard.ByValue),
		kind:   cmp.Or(leaderboard.Kind(b.Kind), leaderboard.Players),
	}
}

// boardWatches are the boards that a session watches. The session's read loop owns
// them.
type boardWatches struct {
	started int          // watches started since the session began; numbers the tags
	count   atomic.Int32 // len(open); any goroutine may read it
	open    map[boardKey]boardWatch
}

// boardWatch is one watched board. tag marks its pushes in the outbox.
type boardWatch struct {
	tag  string
	stop func()
}

// stopAndDropHeld stops the watch and drops its pushes that the outbox holds back.
func (w boardWatch) end(out *outbox) {
	w.stop()
	out.dropHeld(w.tag)
}

func (se *session) onBoardWatch(ctx context.Context, r request) (func(), error) {
	b, limit, err := decodeBoard(r)
	if err != nil {
		return noop, err
	}
	board := boardKeyOf(b)
	former, replaces := se.watches.open[board]
	if !replaces && len(se.watches.open) >= maxBoards {
		return noop, protocol.Errorf(protocol.CodeBadRequest, "a connection can watch at most %d boards; unwatch one first", maxBoards)
	}
	if err := se.server.LoadShedder.Check(loadshed.Watching); err != nil {
		return noop, err
	}
	se.watches.started++
	tag := fmt.Sprint("board ", se.watches.started)
	q := leaderboard.Query{Window: board.window, Order: board.order, Kind: board.kind, Limit: limit}
	stop, err := se.server.Boards.Watch(ctx, se.game, q, func(frame []byte) { se.out.push(tag, frame) })
	if err != nil {
		return noop, boardError(err)
	}
	if replaces {
		former.end(&se.out)
	}
	if se.watches.open == nil {
		se.watches.open = make(map[boardKey]boardWatch)
	}
	se.watches.open[board] = boardWatch{tag, stop}
	se.watches.count.Store(int32(len(se.watches.open)))
	se.reply(r, protocol.TypeBoardOK, protocol.Empty{})
	return noop, nil
}

// onBoardUnwatch ends a watch if there is one. No push of the board follows the reply.
func (se *session) onBoardUnwatch(_ context.Context, r request) (func(), error) {
	b, _, err := decodeBoard(r)
	if err != nil {
		return noop, err
	}
	board := boardKeyOf(b)
	if w, ok := se.watches.open[board]; ok {
		w.end(&se.out)
		delete(se.watches.open, board)
		se.watches.count.Store(int32(len(se.watches.open)))
	}
	se.reply(r, protocol.TypeBoardOK, protocol.Empty{})
	return noop, nil
}

// decodeBoardWatch decodes the data of a board.watch or board.unwatch request. The limit
// is 0 if the request has none.
func decodeBoard(r request) (b protocol.BoardWatch, limit int, err error) {
	if err := r.Decode(&b); err != nil {
		return b, 0, err
	}
	if b.Limit == nil {
		return b, 0, nil
	}
	if *b.Limit < 1 || *b.Limit > leaderboard.MaxLimit {
		return b, 0, protocol.Errorf(protocol.CodeBadRequest, "limit %d is out of range; use 1 to %d", *b.Limit, leaderboard.MaxLimit)
	}
	return b, *b.Limit, nil
}

// unwatchAll stops all watches. The ending session calls it.
func (se *session) unwatchAll() {
	for _, w := range se.watches.open {
		w.stop()
	}
}

// boardError returns the error to reply if Boards.Watch has returned err.
func boardError(err error) error {
	switch {
	case errors.Is(err, leaderboard.ErrNoWindow):
		return protocol.Errorf(protocol.CodeNotFound, "leaderboard not found; check the window")
	case errors.Is(err, leaderboard.ErrBadQuery):
		return protocol.Errorf(protocol.CodeBadRequest, "%s", err)
	}
	return err
}
