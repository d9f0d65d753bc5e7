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
func (e *Engine) checkPlaces(ctx context.Context, l *localMatch) error {
	sessions, ended := l.sessionsToCheck()
	withoutPlace := make(map[string]Subscriber)
	for chunk := range slices.Chunk(slices.Collect(maps.Keys(sessions)), placesChunk) {
		missing, err := e.Store.WithoutPlace(ctx, l.plan.ID, chunk)
		if err != nil {
			return err
		}
		for _, player := range missing {
			withoutPlace[player] = sessions[player]
		}
	}
	for _, player := range l.confirmWithoutPlace(withoutPlace, ended) {
		e.expel(l, player, [][]byte{protocol.EncodePush(protocol.TypeArenaKicked, protocol.ArenaEnd{
			ArenaID: l.plan.Arena.ID, Reason: "kicked",
		})})
	}
	return nil
}

// sessionsToCheck are the sessions here whose places may have ended, none where there
// is no news, and how many places of the arena have.
func (l *localMatch) sessionsToCheck() (sessions map[string]Subscriber, ended int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.plan.Arena == nil || l.state.EndedPlaces == l.checkedEndedPlaces {
		return nil, l.checkedEndedPlaces
	}
	return maps.Clone(l.subs), l.state.EndedPlaces
}

// confirmWithoutPlace notes who has a session here and no place, and gives those of whom
// that was noted before.
func (l *localMatch) confirmWithoutPlace(withoutPlace map[string]Subscriber, ended int64) (confirmed []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for player, sub := range withoutPlace {
		if l.withoutPlace[player] == sub && l.subs[player] == sub {
			confirmed = append(confirmed, player)
		}
	}
	if l.withoutPlace = withoutPlace; len(withoutPlace) == len(confirmed) {
		l.withoutPlace, l.checkedEndedPlaces = nil, ended
	}
	return confirmed
}
