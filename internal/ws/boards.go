package ws

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"laststand/internal/leaderboard"
	"laststand/internal/overload"
	"laststand/internal/protocol"
)

// Boards pushes leaderboards to the sessions that watch them; *display.Display
// implements it. Watch calls push with an encoded frame now and after each change, until
// the caller calls leave.
type Boards interface {
	Watch(ctx context.Context, game string, query leaderboard.Query, push func(frame []byte)) (leave func(), err error)
}

// maxBoards is how many boards one session can watch.
const maxBoards = 8

// boardKey identifies a board that a session watches.
type boardKey struct {
	window leaderboard.Window
	order  leaderboard.Order
	kind   leaderboard.Kind
}

func newBoardKey(watch protocol.BoardWatch) boardKey {
	return boardKey{
		window: leaderboard.Window(watch.Window),
		order:  cmp.Or(leaderboard.Order(watch.Order), leaderboard.ByValue),
		kind:   cmp.Or(leaderboard.Kind(watch.Kind), leaderboard.Players),
	}
}

// boardWatches are the boards that a session watches. The session's read loop owns
// them.
type boardWatches struct {
	started int // watches started since the session began; numbers the tags
	open    map[boardKey]boardWatch
}

// boardWatch is one watched board. tag marks its pushes in the outbox.
type boardWatch struct {
	tag  string
	stop func()
}

// stopAndDropHeld stops the watch and drops its pushes that the outbox holds back.
func (w boardWatch) stopAndDropHeld(outbox *outbox) {
	w.stop()
	outbox.dropHeld(w.tag)
}

func (r *requests) onBoardWatch(ctx context.Context, req request) (func(), error) {
	watch, limit, err := decodeBoardWatch(req)
	if err != nil {
		return doNothing, err
	}
	board := newBoardKey(watch)
	formerWatch, isReplacement := r.watches.open[board]
	if !isReplacement && len(r.watches.open) >= maxBoards {
		return doNothing, protocol.Errorf(protocol.CodeBadRequest, "a connection can watch at most %d boards; unwatch one first", maxBoards)
	}
	if err := r.server.LoadShedder.Check(overload.Watching); err != nil {
		return doNothing, err
	}
	r.watches.started++
	tag := fmt.Sprint("board ", r.watches.started)
	query := leaderboard.Query{Window: board.window, Order: board.order, Kind: board.kind, Limit: limit}
	stopWatch, err := r.server.Boards.Watch(ctx, r.game, query, func(frame []byte) { r.outbox.push(tag, frame) })
	if err != nil {
		return doNothing, boardError(err)
	}
	if isReplacement {
		formerWatch.stopAndDropHeld(&r.outbox)
	}
	if r.watches.open == nil {
		r.watches.open = make(map[boardKey]boardWatch)
	}
	r.watches.open[board] = boardWatch{tag, stopWatch}
	r.watchCount.Store(int32(len(r.watches.open)))
	r.reply(req, protocol.TypeBoardOK, protocol.Empty{})
	return doNothing, nil
}

// onBoardUnwatch ends a watch if there is one. No push of the board follows the reply.
func (r *requests) onBoardUnwatch(_ context.Context, req request) (func(), error) {
	watch, _, err := decodeBoardWatch(req)
	if err != nil {
		return doNothing, err
	}
	board := newBoardKey(watch)
	if w, ok := r.watches.open[board]; ok {
		w.stopAndDropHeld(&r.outbox)
		delete(r.watches.open, board)
		r.watchCount.Store(int32(len(r.watches.open)))
	}
	r.reply(req, protocol.TypeBoardOK, protocol.Empty{})
	return doNothing, nil
}

// decodeBoardWatch decodes the data of a board.watch or board.unwatch request. The limit
// is 0 if the request has none.
func decodeBoardWatch(req request) (watch protocol.BoardWatch, limit int, err error) {
	if err := req.Decode(&watch); err != nil {
		return watch, 0, err
	}
	if watch.Limit == nil {
		return watch, 0, nil
	}
	if *watch.Limit < 1 || *watch.Limit > leaderboard.MaxLimit {
		return watch, 0, protocol.Errorf(protocol.CodeBadRequest, "limit %d is out of range; use 1 to %d", *watch.Limit, leaderboard.MaxLimit)
	}
	return watch, *watch.Limit, nil
}

// unwatchAll stops all watches. The ending session calls it.
func (r *requests) unwatchAll() {
	for _, w := range r.watches.open {
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
