package ws

import (
	"context"

	"laststand/internal/protocol"
)

// Numbers numbers the sessions of players over all nodes: of two of one player
// the one with the higher number is the newer.
type Numbers interface {
	// Next numbers a session that begins here, higher than all before, and
	// says at which node the one before it was, "" where none is known.
	Next(ctx context.Context, game, player string) (number int64, former string, err error)
	// Newest is the highest number given; 0 where none is known.
	Newest(ctx context.Context, game, player string) (int64, error)
}

const replaced = "replaced by a newer connection"

// takePlace makes the session its player's one here, and closes a former one;
// false where a newer one has the place already.
func (se *session) takePlace() bool {
	s := se.server
	s.places.Lock()
	former := s.find(se.game, se.player)
	newest := former == nil || former.number < se.number
	if newest {
		s.Presence.Enter(se.game, se.player, se)
	}
	s.places.Unlock()
	if newest && former != nil {
		former.close(protocol.CloseReplaced, replaced)
		former.place.Lock()   // until it has given up its place, if it is about to
		former.place.Unlock() //nolint:staticcheck // an empty critical section is the waiting
	}
	return newest
}

// find is a player's session here; nil for none.
func (s *Server) find(game, player string) *session {
	sub, _ := s.Presence.Find(game, player)
	se, _ := sub.(*session)
	return se
}

// Replaced closes a player's session here, unless its number is as high: a
// newer one has begun at another node. It does not block.
func (s *Server) Replaced(game, player string, number int64) {
	if se := s.find(game, player); se != nil && se.number < number {
		se.close(protocol.CloseReplaced, replaced)
	}
}

// lookForNewer closes the session where a newer one has begun at another node
// and word of it was lost. What cannot be looked up now is at the next beat.
func (se *session) lookForNewer() {
	ctx, cancel := context.WithTimeout(context.Background(), se.server.callWithin)
	defer cancel()
	if newest, err := se.server.Numbers.Newest(ctx, se.game, se.player); err == nil && newest > se.number {
		se.close(protocol.CloseReplaced, replaced)
	}
}

// giveUpPlace takes the player out of presence, and the player's ticket out of
// the lobby, unless a newer session has taken over both. One that does so just
// now waits for it: what it enters afterwards is its own. A seat stays.
func (se *session) giveUpPlace() {
	se.place.Lock()
	defer se.place.Unlock()
	if se.server.find(se.game, se.player) == se {
		se.withdraw()
	}
	se.server.Presence.Leave(se.game, se.player, se)
	se.server.Engine.Detach(se.game, se.player, se) // after that, for good
}

// withdraw takes the player's ticket out of the lobby, unless a session at
// another node has taken it over.
func (se *session) withdraw() {
	ctx, cancel := context.WithTimeout(context.Background(), se.server.callWithin)
	defer cancel()
	newest, err := se.server.Numbers.Newest(ctx, se.game, se.player)
	if err == nil && newest > se.number {
		return
	}
	if err == nil {
		err = se.server.Lobby.Leave(ctx, se.game, se.player)
	}
	if err != nil {
		se.server.Logger.Warn("ticket removal failed; the ticket expires by itself", "error", err)
	}
}
