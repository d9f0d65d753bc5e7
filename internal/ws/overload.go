package ws

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"

	"laststand/internal/identity"
	"laststand/internal/loadshed"
	"laststand/internal/match"
	"laststand/internal/protocol"
)

// LoadShedder says which work the node refuses while it is overloaded; *loadshed.Gauge
// implements it. Presses returns true if Refuse would return an error.
type LoadShedder interface {
	ShouldShed(w loadshed.Kind) bool
	Check(w loadshed.Kind) error
}

// DuelLimit bounds the players at this node who play a duel or wait for one;
// *loadshed.Room implements it. Each successful Enter and each Return is followed by
// one Leave. Await is for new hellos.
type DuelLimit interface {
	AwaitHello(ctx context.Context) error
	Acquire() error
	Add() // for a player who is already in a duel
	Release()
}

// unlimited is the LoadShedder and the DuelLimit of a node without them.
type unlimited struct{}

func (unlimited) ShouldShed(loadshed.Kind) bool    { return false }
func (unlimited) Check(loadshed.Kind) error        { return nil }
func (unlimited) AwaitHello(context.Context) error { return nil }
func (unlimited) Acquire() error                   { return nil }
func (unlimited) Add()                             {}
func (unlimited) Release()                         {}

// awaitAdmission makes a new player wait for admission, or returns the refusal. A
// player in a match is never refused. No hello waits any more after a drain has closed
// all sessions.
func (se *session) awaitAdmission(ctx context.Context, c identity.Claims) error {
	waitCtx, stop := context.WithCancel(ctx)
	defer context.AfterFunc(se.server.awaiting, stop)()
	defer stop()
	refused := se.server.DuelLimit.AwaitHello(waitCtx)
	if refused == nil {
		return nil
	}
	playing, err := se.server.Lobby.Playing(ctx, c.Game, c.Subject)
	if err != nil || playing == nil {
		return errors.Join(refused, err)
	}
	return nil
}

// acquireDuel counts the player for a duel, or returns the refusal. acquired is false
// if the player was counted before.
func (se *session) acquireDuel() (acquired bool, err error) {
	if se.inDuelLimit.Load() {
		return false, nil
	}
	if err := se.server.DuelLimit.Acquire(); err != nil {
		return false, err
	}
	if se.inDuelLimit.Swap(true) { // a duel has begun in the meantime, see trackDuel
		se.server.DuelLimit.Release()
		return false, nil
	}
	return true, nil
}

// addDuel counts a player who was in a duel before this session.
func (se *session) addDuel() {
	if !se.inDuelLimit.Swap(true) {
		se.server.DuelLimit.Add()
	}
}

// releaseDuel stops counting the player, if it was counted.
func (se *session) releaseDuel() {
	if se.inDuelLimit.Swap(false) {
		se.server.DuelLimit.Release()
	}
}

// The beginnings of the pushes that start and end a duel, and of their data.
var (
	matchFoundPrefix = []byte(`{"type":"` + protocol.TypeMatchFound + `",`)
	matchOverPrefix  = []byte(`{"type":"` + protocol.TypeMatchOver + `",`)
	dataSeparator    = []byte(`,"data":`)
	duelModePrefix   = []byte(`{"mode":"` + match.Duel + `",`)
)

// trackDuel counts the player from the beginning of a duel to its end. Pushes decide:
// the ticket may come from another session, or be paired while it is withdrawn.
func (se *session) trackDuel(push []byte) {
	switch {
	case bytes.HasPrefix(push, matchOverPrefix):
		se.releaseDuel()
	case bytes.HasPrefix(push, matchFoundPrefix):
		if _, data, _ := bytes.Cut(push, dataSeparator); bytes.HasPrefix(data, duelModePrefix) {
			se.addDuel()
		}
	}
}

// rejectHello closes a session whose hello is refused for now, and sends when to retry.
// The delay is random and at least retryMS, since many clients may be waiting.
func (se *session) rejectHello(err error) {
	wait := retryMS + rand.Int64N(retryMS) //nolint:gosec // a delay is no secret
	if refused, ok := errors.AsType[*protocol.Error](err); ok {
		wait = max(refused.RetryAfterMS, wait)
	}
	se.close(protocol.CloseOverloaded, retryReasonAfter(wait))
}
