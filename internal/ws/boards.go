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

// maxBoards is how many boards one session can watch.
const maxBoards = 8

type boardKey struct {
	window leaderboard.Window
	order  leaderboard.Order
	kind   leaderboard.Kind
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

// stopAll stops all watches. The ending session calls it.
func (b *boardWatches) stopAll() {
	for _, w := range b.open {
		w.stop()
	}
}

func (r *requests) onBoardWatch(ctx context.Context, watch protocol.BoardWatch) (outcome, error) {
	board, limit, err := readBoard(watch)
	if err != nil {
		return outcome{}, err
	}
	if _, isReplacement := r.watches.open[board]; !isReplacement && len(r.watches.open) >= maxBoards {
		return outcome{}, protocol.Errorf(protocol.CodeBadRequest, "a connection can watch at most %d boards; unwatch one first", maxBoards)
	}
	if err := r.services.LoadShedder.Check(overload.Watching); err != nil {
		return outcome{}, err
	}
	r.watches.started++
	tag := fmt.Sprint("board ", r.watches.started)
	query := leaderboard.Query{Window: board.window, Order: board.order, Kind: board.kind, Limit: limit}
	stop, err := r.services.Boards.Watch(ctx, r.game, query, func(frame []byte) { r.outbox.push(tag, frame) })
	if err != nil {
		return outcome{}, boardError(err)
	}
	r.replaceWatch(board, &boardWatch{tag, stop})
	return outcome{replyType: protocol.TypeBoardOK, reply: protocol.Empty{}}, nil
}

// onBoardUnwatch ends a watch if there is one. No push of the board follows the reply.
func (r *requests) onBoardUnwatch(_ context.Context, watch protocol.BoardWatch) (outcome, error) {
	board, _, err := readBoard(watch)
	if err == nil {
		r.replaceWatch(board, nil)
	}
	return outcome{replyType: protocol.TypeBoardOK, reply: protocol.Empty{}}, err
}

// replaceWatch stops the watch of a board, if there is one, and drops its pushes that the
// outbox holds back. The new watch takes its place; nil: none.
func (r *requests) replaceWatch(board boardKey, watch *boardWatch) {
	if former, ok := r.watches.open[board]; ok {
		former.stop()
		r.outbox.dropHeld(former.tag)
		delete(r.watches.open, board)
	}
	if r.watches.open == nil {
		r.watches.open = make(map[boardKey]boardWatch)
	}
	if watch != nil {
		r.watches.open[board] = *watch
	}
	r.watchCount.Store(int32(len(r.watches.open)))
}

// readBoard reads the data of a board.watch or board.unwatch request. The limit is 0 if the
// request has none.
func readBoard(watch protocol.BoardWatch) (board boardKey, limit int, err error) {
	if watch.Limit != nil {
		limit = *watch.Limit
		if limit < 1 || limit > leaderboard.MaxLimit {
			return board, 0, protocol.Errorf(protocol.CodeBadRequest, "limit %d is out of range; use 1 to %d", limit, leaderboard.MaxLimit)
		}
	}
	return boardKey{
		window: leaderboard.Window(watch.Window),
		order:  cmp.Or(leaderboard.Order(watch.Order), leaderboard.ByValue),
		kind:   cmp.Or(leaderboard.Kind(watch.Kind), leaderboard.Players),
	}, limit, nil
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
