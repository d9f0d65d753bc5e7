package overload

import "context"

// ActionLimit limits actions that count only when they have succeeded, such as joining a
// match. Check uses only the buckets at this node, so that it needs no call of the shared
// store. CountAction also updates the shared buckets. From its result the node learns the
// actions at other nodes. A nil *ActionLimit allows all. It is safe for concurrent use.
type ActionLimit struct {
	PerPlayer  *Rule // nil: no limit
	PerAddress *Rule // nil: no limit

	// AddressGrace exempts players with few actions from PerAddress: a player who has used
	// at most so many tokens of PerPlayer is checked by PerPlayer only. So one busy player
	// does not lock out a school behind the same address.
	AddressGrace int
}

// Check returns a *protocol.Error of code rate_limited if the player or the address has no
// token. It takes no token.
func (l *ActionLimit) Check(player, address Key) error {
	if l == nil {
		return nil
	}
	if err := l.PerPlayer.checkLocal(player); err != nil {
		return err
	}
	if l.PerPlayer != nil && l.PerPlayer.buckets.usedTokens(player) <= l.AddressGrace {
		return nil
	}
	return l.PerAddress.checkLocal(address)
}

// CountAction counts an action: it takes a token of the player and one of the address. A
// missing token becomes a debt of the bucket.
func (l *ActionLimit) CountAction(ctx context.Context, player, address Key) {
	if l == nil {
		return
	}
	l.PerPlayer.Charge(ctx, player, 1)
	l.PerAddress.Charge(ctx, address, 1)
}
