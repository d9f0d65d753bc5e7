package match

import (
	"context"
	"maps"
	"slices"

	"laststand/internal/protocol"
)

// placesChunkSize is how many places are looked up per call.
const placesChunkSize = 500

// checkPlaces removes sessions from an arena whose places have ended without a
// message to this node. It checks only if places have ended since the last
// clean check. It removes a session only when two checks in a row find no place,
// because the message may be on its way or the player may be rejoining.
func (e *Engine) checkPlaces(ctx context.Context, local *localMatch) error {
	sessions, ended := local.sessionsToCheck()
	withoutPlace := make(map[string]Subscriber)
	for chunk := range slices.Chunk(slices.Collect(maps.Keys(sessions)), placesChunkSize) {
		missing, err := e.Store.PlayersWithoutPlace(ctx, local.plan.ID, chunk)
		if err != nil {
			return err
		}
		for _, player := range missing {
			withoutPlace[player] = sessions[player]
		}
	}
	for _, player := range local.confirmWithoutPlace(withoutPlace, ended) {
		e.expel(local, player, [][]byte{protocol.EncodePush(protocol.TypeArenaKicked, protocol.ArenaEnd{
			ArenaID: local.plan.Arena.ID, Reason: "kicked",
		})})
	}
	return nil
}

// sessionsToCheck returns the local sessions whose places may have ended, and
// how many places of the arena have ended. It returns no sessions if no place
// has ended since the last clean check.
func (l *localMatch) sessionsToCheck() (sessions map[string]Subscriber, ended int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.plan.Arena == nil || l.state.EndedPlaces == l.checkedEndedPlaces {
		return nil, l.checkedEndedPlaces
	}
	return maps.Clone(l.sessions), l.state.EndedPlaces
}

// confirmWithoutPlace records which sessions have no place, and returns the
// players who had none at the previous check either.
func (l *localMatch) confirmWithoutPlace(withoutPlace map[string]Subscriber, ended int64) (confirmed []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for player, session := range withoutPlace {
		if l.withoutPlace[player] == session && l.sessions[player] == session {
			confirmed = append(confirmed, player)
		}
	}
	if l.withoutPlace = withoutPlace; len(withoutPlace) == len(confirmed) {
		l.withoutPlace, l.checkedEndedPlaces = nil, ended
	}
	return confirmed
}
