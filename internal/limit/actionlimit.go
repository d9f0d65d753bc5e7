package limit

import "context"

// ActionLimit bounds actions that count only once they are done, such as joining a
// match. Check uses this node's buckets alone, so that it costs no round trip. The node
// learns what other nodes have counted when it counts an action itself. A nil
// *ActionLimit allows all. It is safe for concurrent use.
type ActionLimit struct {
	PerPlayer  *Rule // nil: any number
	PerAddress *Rule // nil: any number

	// Free is how many tokens of PerPlayer a player may have used and still not be
	// refused by PerAddress. So one busy player does not lock out a school behind the
	// same address.
	Free int
}

// Check refuses a player or address without a token with a *protocol.Error of code
// rate_limited. It takes no token.
func (l *ActionLimit) Check(player, address Key) error {
	if l == nil {
		return nil
	}
	if err := l.PerPlayer.checkLocal(player); err != nil {
		return err
	}
	if l.PerPlayer != nil && l.PerPlayer.used(player) <= l.Free {
		return nil
	}
	return l.PerAddress.checkLocal(address)
}

// Count takes a token of the player and one of the address. Missing tokens become a
// debt.
func (l *ActionLimit) Count(ctx context.Context, player, address Key) {
	if l == nil {
		return
	}
	l.PerPlayer.Charge(ctx, player, 1)
	l.PerAddress.Charge(ctx, address, 1)
}
