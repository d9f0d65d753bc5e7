package ws

import (
	"context"
	"errors"
	"math/rand/v2"

	"laststand/internal/identity"
	"laststand/internal/overload"
	"laststand/internal/protocol"
)

// LoadShedder decides which work the node refuses while it is overloaded;
// *overload.Shedder implements it. ShouldShed returns true if the node refuses work of a
// kind now. Check returns the refusal, or nil if the work is allowed.
type LoadShedder interface {
	ShouldShed(kind overload.Kind) bool
	Check(kind overload.Kind) error
}

// DuelLimit limits the players at this node who play a duel or wait for one;
// *overload.DuelLimit implements it. The caller calls Release once for each successful
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
type unlimitedLoad struct{}

func (unlimitedLoad) ShouldShed(overload.Kind) bool    { return false }
func (unlimitedLoad) Check(overload.Kind) error        { return nil }
func (unlimitedLoad) AwaitHello(context.Context) error { return nil }
func (unlimitedLoad) Acquire() error                   { return nil }
func (unlimitedLoad) Add()                             {}
func (unlimitedLoad) Release()                         {}

// awaitAdmission waits until DuelLimit admits a new player, or returns the refusal. It
// never refuses a player in a match. The wait ends early when ctx ends, or when a drain
// has closed all sessions.
func (se *session) awaitAdmission(ctx context.Context, claims identity.Claims) error {
	waitCtx, stop := context.WithCancel(ctx)
	defer context.AfterFunc(se.server.helloWaits, stop)()
	defer stop()
	refusal := se.server.DuelLimit.AwaitHello(waitCtx)
	if refusal == nil {
		return nil
	}
	playing, err := se.server.Lobby.RunningMatch(ctx, claims.Game, claims.Subject)
	if err != nil || playing == nil {
		return errors.Join(refusal, err)
	}
	return nil
}

// acquireDuelPlace counts the player in DuelLimit, or returns the refusal. acquired is
// false if the player was counted before.
func (se *session) acquireDuelPlace() (acquired bool, err error) {
	if se.hasDuelPlace.Load() {
		return false, nil
	}
	if err := se.server.DuelLimit.Acquire(); err != nil {
		return false, err
	}
	if se.hasDuelPlace.Swap(true) { // a duel has started in the meantime, see DuelChanged
		se.server.DuelLimit.Release()
		return false, nil
	}
	return true, nil
}

// addDuelPlace counts a player in DuelLimit who is in a duel already. A player who is
// counted stays counted once.
func (se *session) addDuelPlace() {
	if !se.hasDuelPlace.Swap(true) {
		se.server.DuelLimit.Add()
	}
}

// releaseDuelPlace stops counting the player in DuelLimit, if the player was counted.
func (se *session) releaseDuelPlace() {
	if se.hasDuelPlace.Swap(false) {
		se.server.DuelLimit.Release()
	}
}

// DuelChanged counts the player in DuelLimit from the start of a duel to its end. Requests
// do not tell, since another session may have joined, or the lobby may pair a ticket while
// the player withdraws it.
func (se *session) DuelChanged(_ string, running bool) {
	if running {
		se.addDuelPlace()
		return
	}
	se.releaseDuelPlace()
}

// rejectHello closes a session whose hello is refused for now, and sends the client a
// time to retry. The time is random and at least retryMS, so that many rejected clients
// do not retry at the same time.
func (se *session) rejectHello(err error) {
	retryAfterMS := retryMS + rand.Int64N(retryMS) //nolint:gosec // a delay is no secret
	if refusal, ok := errors.AsType[*protocol.Error](err); ok {
		retryAfterMS = max(refusal.RetryAfterMS, retryAfterMS)
	}
	se.close(protocol.CloseOverloaded, retryReasonAfter(retryAfterMS))
}
