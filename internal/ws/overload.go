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

// LoadShedder decides which work the node refuses while it is overloaded;
// *loadshed.Shedder implements it. ShouldShed returns true if the node refuses work of a
// kind now. Check returns the refusal, or nil if the work is allowed.
type LoadShedder interface {
	ShouldShed(w loadshed.Kind) bool
	Check(w loadshed.Kind) error
}

// DuelLimit limits the players at this node who play a duel or wait for one;
// *loadshed.DuelLimit implements it. The caller calls Release once for each successful
// Acquire and each Add. AwaitHello makes a new hello wait until the node has capacity, or
// returns the refusal.
type DuelLimit interface {
	AwaitHello(ctx context.Context) error
	Acquire() error
	Add() // like Acquire, but always succeeds: for a player who is already in a duel
	Release()
}

// unlimitedLoad is the LoadShedder and the DuelLimit if the Config has none: it refuses
// nothing.
type unlimited struct{}

func (unlimited) ShouldShed(loadshed.Kind) bool    { return false }
func (unlimited) Check(loadshed.Kind) error        { return nil }
func (unlimited) AwaitHello(context.Context) error { return nil }
func (unlimited) Acquire() error                   { return nil }
func (unlimited) Add()                             {}
func (unlimited) Release()                         {}

// awaitAdmission waits until DuelLimit admits a new player, or returns the refusal. It
// never refuses a player in a match. The wait ends early when ctx ends, or when a drain
// has closed all sessions.
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

// acquireDuelPlace counts the player in DuelLimit, or returns the refusal. acquired is
// false if the player was counted before.
func (se *session) acquireDuel() (acquired bool, err error) {
	if se.inDuelLimit.Load() {
		return false, nil
	}
	if err := se.server.DuelLimit.Acquire(); err != nil {
		return false, err
	}
	if se.inDuelLimit.Swap(true) { // a duel has started in the meantime, see trackDuelPlace
		se.server.DuelLimit.Release()
		return false, nil
	}
	return true, nil
}

// addDuelPlace counts a player in DuelLimit who is in a duel already. A player who is
// counted stays counted once.
func (se *session) addDuel() {
	if !se.inDuelLimit.Swap(true) {
		se.server.DuelLimit.Add()
	}
}

// releaseDuelPlace stops counting the player in DuelLimit, if the player was counted.
func (se *session) releaseDuel() {
	if se.inDuelLimit.Swap(false) {
		se.server.DuelLimit.Release()
	}
}

// The first bytes of the pushes that start and end a match, and of their data. They avoid
// decoding each push.
var (
	matchFoundPrefix = []byte(`{"type":"` + protocol.TypeMatchFound + `",`)
	matchOverPrefix  = []byte(`{"type":"` + protocol.TypeMatchOver + `",`)
	dataSeparator    = []byte(`,"data":`)
	duelModePrefix   = []byte(`{"mode":"` + match.Duel + `",`)
)

// trackDuelPlace counts the player in DuelLimit from the start of a duel to its end. It
// learns both from the pushes to the session: requests do not tell, since another session
// may have joined, or the lobby may pair a ticket while the player withdraws it.
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

// rejectHello closes a session whose hello is refused for now, and sends the client a
// time to retry. The time is random and at least retryMS, so that many rejected clients
// do not retry at the same time.
func (se *session) rejectHello(err error) {
	wait := retryMS + rand.Int64N(retryMS) //nolint:gosec // a delay is no secret
	if refused, ok := errors.AsType[*protocol.Error](err); ok {
		wait = max(refused.RetryAfterMS, wait)
	}
	se.close(protocol.CloseOverloaded, retryReasonAfter(wait))
}
