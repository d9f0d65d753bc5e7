package eventq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"laststand/internal/identity"
)

// ErrNoQueue says that a game is not among those of the service.
var ErrNoQueue = errors.New("the game has no queue of behaviours")

// Offer takes a behaviour of the server's own player, if its game has its type
// reported. It never blocks: it is queued within about 100 ms, and dropped where too
// many wait for that. An ID of "" gets one, an At of 0 is now. Its id is not
// looked for: who may say the same again offers it once.
func (s *Service) Offer(game string, b Behaviour) { s.offer(game, b, false) }

// OfferOnce is Offer for what several nodes may offer, or one again: within
// SeenForMS one of that id is taken. It costs more, by a set of the ids.
func (s *Service) OfferUnique(game string, b Behaviour) { s.offer(game, b, true) }

func (s *Service) offer(game string, b Behaviour, once bool) {
	g := s.games[game]
	if g == nil || !slices.Contains(g.Report, b.Type) {
		return
	}
	now, named := s.Now(), b.ID != ""
	if !named {
		b.ID = s.ids.next()
	}
	if b.At == 0 {
		b.At = now
	}
	var room [usualBody]byte
	body, reason := g.admit(&b, now, room[:0])
	if named && !identity.ValidID(b.ID) {
		reason = Invalid
	}
	s.addToBuffer(g, Item{ID: b.ID, Unique: once, At: b.At, QueuedAt: now}, body, reason)
}

// Post judges up to MaxPush behaviours as they were posted, each by itself, and
// queues the good ones. It may be repeated after an error, as ids that were
// taken are not taken again: ErrFull, ErrNoQueue, or the store's.
func (s *Service) Post(ctx context.Context, game string, bodies []json.RawMessage) (PostResult, error) {
	g := s.games[game]
	if g == nil {
		return PostResult{}, ErrNoQueue
	}
	if len(bodies) > MaxPush {
		return PostResult{}, fmt.Errorf("%d behaviours posted at once: at most %d", len(bodies), MaxPush)
	}
	push := Push{ID: s.ids.next(), Posted: true, Refused: map[Reason]int64{}, Now: s.Now()}
	for _, raw := range bodies {
		item, reason := g.admitPosted(raw, push.Now)
		if reason != "" {
			push.Refused[reason]++
			continue
		}
		push.Items = append(push.Items, item)
	}
	pushed, err := s.Queue.Push(ctx, g.Policy, push)
	if err != nil {
		return PostResult{}, err
	}
	s.notifyPushed(g, pushed)
	return posted(push, pushed), nil
}

func posted(push Push, pushed PushResult) PostResult {
	p := PostResult{Accepted: pushed.Queued, Dropped: map[Reason]int{}}
	for _, dropped := range []map[Reason]int64{push.Refused, pushed.Dropped} {
		for reason, n := range dropped {
			p.Dropped[reason] += int(n)
		}
	}
	return p
}

func (g *game) admitPosted(raw json.RawMessage, now int64) (Item, Reason) {
	b, err := parse(raw)
	if err != nil {
		return Item{}, Invalid
	}
	body, reason := g.admit(&b, now, nil)
	return Item{ID: b.ID, Unique: true, At: b.At, QueuedAt: now, Body: body}, reason
}

// admit gives a behaviour's body, in the room where it suffices, or says why it
// is dropped.
func (g *game) admit(b *Behaviour, now int64, room []byte) (body []byte, reason Reason) {
	body, err := encode(room, b)
	switch {
	case err != nil, b.validate() != nil:
		reason = Invalid
	case b.At > now+MaxAheadMS:
		reason = Future
	case b.At < now-g.MaxAgeMS:
		reason = TooOld
	case g.checkSink(b) != nil:
		reason = Invalid
	}
	return body, reason
}

// reportable asks the sink; one that panics cannot report it.
func (g *game) checkSink(b *Behaviour) (err error) {
	if g.sink == nil {
		return nil
	}
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the sink panicked: %v", fault)
		}
	}()
	return g.sink.Check(*b)
}
