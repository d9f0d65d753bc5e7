package match

import (
	"context"
	"maps"
	"slices"

	"laststand/internal/protocol"
)

// placesChunk is how many places are looked up at once.
const placesChunk = 500

// checkPlaces takes sessions out of an arena's feed whose places have ended
// without a word of it coming here. It looks only where places have ended since
// all was in order, and acts on what it finds twice: the word may be on its way,
// or somebody about to come back.
func (e *Engine) checkPlaces(ctx context.Context, l *live) error {
	fed, ended := l.doubtful()
	absent := make(map[string]Subscriber)
	for chunk := range slices.Chunk(slices.Collect(maps.Keys(fed)), placesChunk) {
		without, err := e.Store.Absent(ctx, l.plan.ID, chunk)
		if err != nil {
			return err
		}
		for _, player := range without {
			absent[player] = fed[player]
		}
	}
	for _, player := range l.foundAbsent(absent, ended) {
		e.expel(l, player, [][]byte{protocol.EncodePush(protocol.TypeArenaKicked, protocol.ArenaEnd{
			ArenaID: l.plan.Arena.ID, Reason: "kicked",
		})})
	}
	return nil
}

// doubtful are the sessions here whose places may have ended, none where there
// is no news, and how many places of the arena have.
func (l *live) doubtful() (fed map[string]Subscriber, ended int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.plan.Arena == nil || l.state.Ended == l.ended {
		return nil, l.ended
	}
	return maps.Clone(l.subs), l.state.Ended
}

// foundAbsent notes who has a session here and no place, and gives those of whom
// that was noted before.
func (l *live) foundAbsent(absent map[string]Subscriber, ended int64) (again []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for player, sub := range absent {
		if l.absent[player] == sub && l.subs[player] == sub {
			again = append(again, player)
		}
	}
	if l.absent = absent; len(absent) == len(again) {
		l.absent, l.ended = nil, ended
	}
	return again
}
