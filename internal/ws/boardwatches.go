package ws

import (
	"cmp"

	"laststand/internal/leaderboard"
	"laststand/internal/protocol"
)

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

// unwatchAll stops all watches. The ending session calls it.
func (b *boardWatches) stopAll() {
	for _, w := range b.open {
		w.stop()
	}
}
