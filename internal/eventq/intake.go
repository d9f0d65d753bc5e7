package eventq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
)

// ErrNoQueue says that the service does not serve the game.
var ErrNoQueue = errors.New("the game has no queue of behaviours")

// intake accepts behaviours, and pushes them to the queues.
type intake struct {
	*shared
	sender   *sender
	buffered atomic.Int64 // items of all games that are not pushed yet
	filled   chan *game   // games with a filled buffer that nobody pushes yet
}

// Offer accepts a behaviour of a player of this server, if the game reports its
// type. It never blocks. The behaviour is queued within about 100 ms, or
// dropped if too many wait. An At of 0 means now. The queue accepts each ID once
// within DedupeWindowMS. An empty ID gets a new one, which costs less, because
// Redis keeps no set of such ids. Data must be a compact object, as json.Marshal
// returns it.
func (s *intake) Offer(game string, b Behaviour) {
	g := s.games[game]
	if !g.reports(b.Type) {
		return
	}
	now, named := s.Now(), b.ID != ""
	if !named {
		b.ID = s.ids.next()
	}
	if b.At == 0 {
		b.At = now
	}
	item, reason := g.admit(&b, now)
	item.Unique = named
	s.addToBuffer(g, item, reason)
}

// Post validates up to MaxPush posted behaviours one by one, and queues the
// good ones. After an error the caller can repeat the post, because accepted
// ids are not accepted again. It returns ErrFull, ErrNoQueue, or an error of
// the store.
func (s *intake) Post(ctx context.Context, game string, bodies []json.RawMessage) (PostResult, error) {
	g := s.games[game]
	if g == nil {
		return PostResult{}, ErrNoQueue
	}
	if len(bodies) > MaxPush {
		return PostResult{}, fmt.Errorf("%d behaviours posted at once: at most %d", len(bodies), MaxPush)
	}
	push := Push{ID: s.ids.next(), Posted: true, Refused: map[Reason]int64{}, Now: s.Now()}
	for _, raw := range bodies {
		b, isParsed := parse(raw)
		switch item, reason := g.admit(&b, push.Now); {
		case !isParsed:
			push.Refused[Invalid]++
		case reason != "":
			push.Refused[reason]++
		default:
			push.Items = append(push.Items, item)
		}
	}
	pushed, err := s.Queue.Push(ctx, g.Policy, push)
	if err != nil {
		return PostResult{}, err
	}
	s.sender.pushed(g, pushed)
	dropped := push.Refused
	for reason, n := range pushed.Dropped {
		dropped[reason] += n
	}
	return PostResult{Accepted: pushed.Queued, Dropped: dropped}, nil
}

// admit returns the item of a behaviour, or why it is dropped.
func (g *game) admit(b *Behaviour, now int64) (item Item, reason Reason) {
	body, ok := encode(b)
	switch {
	case !ok || !b.isValid():
		reason = Invalid
	case b.At > now+MaxAheadMS:
		reason = Future
	case b.At < now-g.MaxAgeMS:
		reason = TooOld
	case !g.canReport(b):
		reason = Invalid
	}
	return Item{ID: b.ID, Unique: true, At: b.At, QueuedAt: now, Body: body}, reason
}

// canReport asks the sink whether it can report the behaviour. A sink that panics
// cannot.
func (g *game) canReport(b *Behaviour) (ok bool) {
	defer func() { _ = recover() }() // ok is false then
	return g.sink == nil || g.sink.Check(*b) == nil
}
