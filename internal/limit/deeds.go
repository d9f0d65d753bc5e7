package limit

import "context"

// Deeds bound how often something is done that counts only once it is done,
// such as a match that was joined. Refuse looks at this node's buckets alone, so
// it costs no round trip. What other nodes have counted this node learns when it
// counts something itself. A nil *Deeds allows all. It is safe for concurrent
// use.
type Deeds struct {
	Each *Rule // by who does it; nil: any number
	From *Rule // by the address it is done from; nil: any number

	// Free is how much of Each a player may have used and still not be refused by
	// From. So one who does too much does not shut out a school behind the same
	// address.
	Free int
}

// Refuse refuses who has no token left with a *protocol.Error of the code
// rate_limited, and takes nothing.
func (d *Deeds) Refuse(by, from Key) error {
	if d == nil {
		return nil
	}
	if err := d.Each.recall(by); err != nil {
		return err
	}
	if d.Each != nil && d.Each.used(by) <= d.Free {
		return nil
	}
	return d.From.recall(from)
}

// Count takes a token of who did it, and one of the address; those that are not
// there are owed.
func (d *Deeds) Count(ctx context.Context, by, from Key) {
	if d == nil {
		return
	}
	d.Each.Charge(ctx, by, 1)
	d.From.Charge(ctx, from, 1)
}
