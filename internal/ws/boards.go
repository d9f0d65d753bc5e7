package ws

import (
	"context"
	"errors"
	"fmt"

	"laststand/internal/leaderboard"
	"laststand/internal/overload"
	"laststand/internal/protocol"
)

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
	if err := r.services.LoadShedder.Check(overload.Watching); err != nil {
		return doNothing, err
	}
	r.watches.started++
	tag := fmt.Sprint("board ", r.watches.started)
	query := leaderboard.Query{Window: board.window, Order: board.order, Kind: board.kind, Limit: limit}
	stopWatch, err := r.services.Boards.Watch(ctx, r.game, query, func(frame []byte) { r.outbox.push(tag, frame) })
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
