package ws

import (
	"context"
	"errors"
	"math/rand/v2"

	"laststand/internal/identity"
	"laststand/internal/overload"
	"laststand/internal/protocol"
)

// admission decides about a session's hello, the first message, and welcomes the player.
// The read loop owns it.
type admission struct {
	*presence

	requests *requests
	place    overload.Place
}

// awaitAdmission waits until LoadShedder admits a new player, or returns the refusal. It
// never refuses a player in a match.
func (a *admission) awaitAdmission(ctx context.Context, claims identity.Claims) error {
	refusal := a.services.LoadShedder.AwaitHello(ctx)
	if refusal == nil {
		return nil
	}
	playing, err := a.services.Lobby.RunningMatch(ctx, claims.Game, claims.Subject)
	if err != nil || playing == nil {
		return errors.Join(refusal, err)
	}
	return nil
}

// checkAdmission rejects a player who is in no match and in no arena's lobby, if the node
// is overloaded or the place is reserved. It also rejects a resume above the limit of
// hellos. A resume does not prove that the player is in a match, since any client can
// send one.
func (a *admission) checkAdmission(ctx context.Context, player identity.Player, isResume bool) error {
	server := a.services
	isLimitedResume := isResume && server.Limits.HellosPerNode != nil
	if !isLimitedResume && (a.claims.Role != identity.RolePlayer || a.place.IsForAnyone() && !server.LoadShedder.ShouldShed(overload.NewSessions)) {
		return nil
	}
	isPlaying := a.claims.Role != identity.RolePlayer // a host always counts as playing
	if !isPlaying {
		match, err := server.Lobby.RunningMatch(ctx, player.Game, player.ID)
		if err != nil {
			return err
		}
		isPlaying = match != nil
	}
	if isLimitedResume {
		if err := server.Limits.checkResume(ctx, isPlaying); err != nil {
			return err
		}
	}
	if isPlaying {
		return nil
	}
	if refusal := server.places.CheckNotPlaying(&a.place); refusal != nil {
		return refusal
	}
	return server.LoadShedder.Check(overload.NewSessions)
}

// rejectHello closes a session whose hello is refused for now, and sends the client a
// time to retry. The time is random and at least retryMS, so that many rejected clients
// do not retry at the same time.
func (a *admission) rejectHello(refusal *protocol.Error) {
	retryAfterMS := max(refusal.RetryAfterMS, retryMS+rand.Int64N(retryMS)) //nolint:gosec // a delay is no secret
	a.close(protocol.CloseOverloaded, retryReasonAfter(retryAfterMS))
}
