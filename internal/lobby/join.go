package lobby

import (
	"context"
	"net/netip"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

// Request asks for an opponent. BotAfterMS nil means the game's default. Address
// is the client's; the zero value means unknown.
type Request struct {
	Game, Player string
	Filter       Filter
	BotAfterMS   *int64
	Address      netip.Addr
}

// maxBotAfterMS bounds how long a bot may be waited for.
const maxBotAfterMS = 10 * 60 * 1000

// Join puts a ticket in. What it gives is the reply, an *protocol.Error where
// it is refused, and what is to be done once the reply is on its way: the first
// try at a pairing. The second is never nil.
func (l *Lobby) Join(ctx context.Context, r Request) (protocol.DuelQueued, func(), error) {
	t, err := l.newTicket(r)
	if err != nil {
		return l.refuse(err)
	}
	former, err := l.readFormer(ctx, r)
	if err != nil {
		return l.refuse(err)
	}
	if t.Seat, err = l.Players.Seat(ctx, r.Game, r.Player); err != nil {
		return l.refuse(err)
	}
	waiting, with, err := l.Store.AddTicket(ctx, t, former, l.Now())
	if err != nil {
		return l.refuse(err)
	}
	if with != (Activity{}) {
		return l.refuse(busyError(with))
	}
	l.metrics.joins.WithLabelValues("queued").Inc()
	l.scheduleTry(t, tryEvery)
	return protocol.DuelQueued{Ticket: t.ID, Waiting: waiting}, func() { l.tryPairing(t) }, nil
}

// Leave takes a player's ticket out; there need not be one.
func (l *Lobby) Leave(ctx context.Context, game, player string) error {
	id, err := l.Store.RemoveTicket(ctx, game, player)
	if err == nil && id != "" {
		l.dropTicket(id)
	}
	return err
}

// newTicket checks a request and makes its ticket, but for the seat.
func (l *Lobby) newTicket(r Request) (Ticket, error) {
	duel := l.Games[r.Game]
	if err := l.Matches.CheckOverload(); err != nil {
		return Ticket{}, protocol.RetryAfter(protocol.CodeOverloaded, 5000, "too much is waiting to be settled; try again in some seconds")
	}
	if have := l.Bank.Count(r.Game, r.Filter); have < duel.Questions {
		return Ticket{}, newRefusal(protocol.CodeBadRequest,
			"a duel needs %d questions and only %d meet this wish; leave out category, lang or difficulty", duel.Questions, have)
	}
	botAfter := duel.BotAfterMS
	if r.BotAfterMS != nil {
		botAfter = *r.BotAfterMS
	}
	if botAfter < 0 || botAfter > maxBotAfterMS {
		return Ticket{}, newRefusal(protocol.CodeBadRequest, "bot_after_ms is a number from 0 (never) to %d", maxBotAfterMS)
	}
	t := Ticket{ID: "t_" + newID(), Game: r.Game, Filter: r.Filter, JoinedAt: l.Now(), Address: l.addressHash(r.Game, r.Address)}
	if botAfter > 0 {
		t.BotAt = t.JoinedAt + botAfter
	}
	return t, nil
}

func (l *Lobby) refuse(err error) (protocol.DuelQueued, func(), error) {
	l.metrics.joins.WithLabelValues(codeOf(err)).Inc()
	return protocol.DuelQueued{}, func() {}, err
}

// seats are the seats of a pairing; where one ticket is alone a bot sits down.
func (p Pairing) seats() []match.Seat {
	seats := make([]match.Seat, 0, 2)
	for _, t := range p.Tickets {
		seats = append(seats, t.Seat)
	}
	if len(seats) == 1 {
		seats = append(seats, match.NewBot())
	}
	return seats
}
