package ws

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"

	"laststand/internal/identity"
	"laststand/internal/match"
	"laststand/internal/pressure"
	"laststand/internal/protocol"
)

// Pressure says what the node refuses since it has too much to do;
// *pressure.Gauge. Presses only says whether Refuse would.
type Pressure interface {
	Presses(w pressure.What) bool
	Refuse(w pressure.What) error
}

// Room is for how many play duels at the node, or wait for one; *pressure.Room. Each
// Enter that refused nobody, and each Return, ends with one Leave. Await is for who
// comes in at all.
type Room interface {
	Await(ctx context.Context) error
	Enter() error
	Return() // of who is in a duel already
	Leave()
}

// calm is the Pressure on a node that has no gauge, and its Room.
type calm struct{}

func (calm) Presses(pressure.What) bool  { return false }
func (calm) Refuse(pressure.What) error  { return nil }
func (calm) Await(context.Context) error { return nil }
func (calm) Enter() error                { return nil }
func (calm) Return()                     {}
func (calm) Leave()                      {}

// await has a newcomer wait for a turn to be welcomed, or refuses. Who is in a match
// is refused nothing. Nobody waits at a node that has drained.
func (se *session) await(ctx context.Context, c identity.Claims) error {
	turn, stop := context.WithCancel(ctx)
	defer context.AfterFunc(se.server.welcomes, stop)()
	defer stop()
	refused := se.server.Room.Await(turn)
	if refused == nil {
		return nil
	}
	playing, err := se.server.Lobby.Playing(ctx, c.Game, c.Subject)
	if err != nil || playing == nil {
		return errors.Join(refused, err)
	}
	return nil
}

// enterRoom lets the player in for a duel, or refuses; it says whether the player was
// not in before.
func (se *session) enterRoom() (entered bool, err error) {
	if se.inRoom.Load() {
		return false, nil
	}
	if err := se.server.Room.Enter(); err != nil {
		return false, err
	}
	if se.inRoom.Swap(true) { // a duel has just begun, see follow
		se.server.Room.Leave()
		return false, nil
	}
	return true, nil
}

// returnToRoom lets in who was in a duel before the session.
func (se *session) returnToRoom() {
	if !se.inRoom.Swap(true) {
		se.server.Room.Return()
	}
}

// leaveRoom notes that there is no duel any more, if there was one.
func (se *session) leaveRoom() {
	if se.inRoom.Swap(false) {
		se.server.Room.Leave()
	}
}

// How pushes begin, and what they say, by which a player is in a duel.
var (
	beginsFound = []byte(`{"type":"` + protocol.TypeMatchFound + `",`)
	beginsOver  = []byte(`{"type":"` + protocol.TypeMatchOver + `",`)
	beforeData  = []byte(`,"data":`)
	ofDuel      = []byte(`{"mode":"` + match.Duel + `",`)
)

// follow has the player be in the room from the beginning of a duel to its end: a
// ticket may have come with another session, or be paired while it is taken back.
func (se *session) follow(push []byte) {
	switch {
	case bytes.HasPrefix(push, beginsOver):
		se.leaveRoom()
	case bytes.HasPrefix(push, beginsFound):
		if _, data, _ := bytes.Cut(push, beforeData); bytes.HasPrefix(data, ofDuel) {
			se.returnToRoom()
		}
	}
}

// turnAway closes a session whose hello is refused for now, and says when to come
// again: not at once, since others wait too, and not with all of them.
func (se *session) turnAway(err error) {
	wait := retryMS + rand.Int64N(retryMS) //nolint:gosec // a wait is no secret
	if refused, ok := errors.AsType[*protocol.Error](err); ok {
		wait = max(refused.RetryAfterMS, wait)
	}
	se.close(protocol.CloseOverloaded, again(wait))
}
