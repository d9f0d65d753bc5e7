package lobby

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/netip"

	"laststand/internal/overload"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// Request asks for an opponent. A nil BotAfterMS means the game's default.
// Address is the client's address; the zero value means unknown.
type Request struct {
	Game, Player string
	Filter       quiz.Filter
	BotAfterMS   *int64
	Address      netip.Addr
}

// maxBotAfterMS limits how long a player may wait for a bot.
const maxBotAfterMS = 10 * 60 * 1000

// Join adds a ticket. It returns the reply, and an error that is a *protocol.Error if
// the request is refused. It also returns a function that tries to pair the ticket.
// The caller must call that function after it has sent the reply. The function is
// never nil.
func (l *Lobby) Join(ctx context.Context, r Request) (protocol.DuelQueued, func(), error) {
	t, err := l.newTicket(r)
	if err != nil {
		return l.refuse(err)
	}
	former, err := l.readFormerActivity(ctx, r.Game, r.Player)
	if err != nil {
		return l.refuse(err)
	}
	if t.Seat, err = l.Players.Seat(ctx, r.Game, r.Player); err != nil {
		return l.refuse(err)
	}
	listing, err := l.Tickets.AddTicket(ctx, t, former, l.Now())
	if err != nil {
		return l.refuse(err)
	}
	if listing.Activity.Ticket != t.ID {
		return l.refuse(busyError(listing.Activity))
	}
	l.metrics.joins.WithLabelValues("queued").Inc()
	l.scheduleTry(t, tryInterval, false)
	return protocol.DuelQueued{Ticket: t.ID, Waiting: listing.Waiting}, func() { l.tryPairing(t, &listing) }, nil
}

// Leave removes a player's ticket, if there is one.
func (l *Lobby) Leave(ctx context.Context, game, player string) error {
	id, err := l.Tickets.RemoveTicket(ctx, game, player)
	if err == nil && id != "" {
		l.drop(playerKey{game, player}, id)
	}
	return err
}

// newTicket checks a request and returns its ticket without the seat.
func (l *Lobby) newTicket(r Request) (Ticket, error) {
	duel := l.Games[r.Game]
	if err := l.Matches.CheckOverload(); err != nil {
		return Ticket{}, protocol.RetryAfter(protocol.CodeOverloaded, 5000, "too many results wait to be settled; retry in 5 s")
	}
	if available := l.Bank.Count(quiz.Source{Game: r.Game}, r.Filter); available < duel.Questions {
		return Ticket{}, protocol.Errorf(protocol.CodeBadRequest,
			"a duel needs %d questions and only %d match; leave out category, lang or difficulty", duel.Questions, available).Because(protocol.ReasonTooFewQuestions)
	}
	botAfter := duel.BotAfterMS
	if r.BotAfterMS != nil {
		botAfter = *r.BotAfterMS
	}
	if botAfter < 0 || botAfter > maxBotAfterMS {
		return Ticket{}, protocol.Errorf(protocol.CodeBadRequest, "bot_after_ms is out of range; use 0 (never) to %d", maxBotAfterMS)
	}
	t := Ticket{ID: "t_" + newID(), Game: r.Game, Filter: r.Filter, JoinedAt: l.Now(), Address: l.addressHash(r.Game, r.Address)}
	if botAfter > 0 {
		t.BotAt = t.JoinedAt + botAfter
	}
	return t, nil
}

// refuse counts a failed or refused request, and returns the results of Join for it.
func (l *Lobby) refuse(err error) (protocol.DuelQueued, func(), error) {
	l.metrics.joins.WithLabelValues(protocol.Outcome(err, "queued")).Inc()
	return protocol.DuelQueued{}, func() {}, err
}

// addressHash returns a keyed hash of a player's IP address for the ticket. For IPv6
// it is the hash of the /64 network. It returns "" if the game counts duels between
// players with the same address, or if the address is unknown.
func (l *Lobby) addressHash(game string, address netip.Addr) string {
	if l.Games[game].CountSameAddress || !address.IsValid() {
		return ""
	}
	mac := hmac.New(sha256.New, l.AddressKey)
	mac.Write([]byte(game + "\x00" + overload.AddressKey(address).String()))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}
