package ws

import (
	"context"

	"laststand/internal/overload"
)

// Limits holds the limits of one node's connections, hellos and requests. With the zero
// value only Config.MaxConnections and Config.MessagesPerSecond apply. A Cap counts the
// refusals of a limit and decides whether the limit is enforced. A nil Cap enforces the
// limit and does not count.
type Limits struct {
	overload.PlacesConfig // Max is Config.MaxConnections

	IdleCap    *overload.Cap // of idle sessions while the node is nearly full: they are evicted
	MessageCap *overload.Cap // of messages per session and second

	CodeAttempts  *overload.FailureLimiter // of arenas' join codes; nil for no limit
	Hellos        *overload.Rule           // per address; nil for no limit
	HellosPerNode *overload.Rule           // of all clients of this node; nil for no limit

	ReplaysPerPlayer *overload.Rule // long replays; this node alone counts them; nil for no limit
	Replays          *overload.Rule // KiB of long replays per address, likewise

	EarlyForfeits *overload.ActionLimit // duels that a player leaves before the first question closes; nil for no limit
	Matches       *overload.ActionLimit // duels and arenas that a player has joined; nil for no limit
}

// The keys of the two buckets of HellosPerNode. Players in a match have their own bucket,
// so that a flood of other hellos cannot lock them out.
var (
	newHelloKey     = overload.ObjectKey("", "new")
	resumedHelloKey = overload.ObjectKey("", "resume")
)

// checkHello takes a token for a hello from the address's bucket, or returns a
// *protocol.Error. It runs before the player's token is verified. For a hello without
// resume it also takes a token from the node's bucket. For a resume checkResume does that
// later, when the server knows whether the player is in a match.
func (l *Limits) checkHello(ctx context.Context, address overload.Key, isResume bool) error {
	if err := l.Hellos.Take(ctx, address, 1); err != nil || isResume {
		return err
	}
	return l.HellosPerNode.Take(ctx, newHelloKey, 1)
}

// checkResume takes a token for a resume from one of the node's buckets. It runs after
// the player's token was verified.
func (l *Limits) checkResume(ctx context.Context, isPlaying bool) error {
	key := newHelloKey
	if isPlaying {
		key = resumedHelloKey
	}
	return l.HellosPerNode.Take(ctx, key, 1)
}
