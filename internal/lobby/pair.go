package lobby

import (
	"context"
	"errors"
	"math"
	"time"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

// tryPairing looks for an opponent for a ticket of this node, and else for the next
// time to look.
func (l *Lobby) tryPairing(t Ticket) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	waits, err := l.pair(ctx, t)
	switch {
	case err != nil:
		l.Logger.Warn("a ticket could not be paired; trying again", "ticket", t.ID, "error", err)
		l.scheduleTry(t, tryEvery)
	case waits:
		l.scheduleTry(t, l.nextTryDelay(t))
	default:
		l.dropTicket(t.ID)
	}
}

// pair tries to pair a ticket, and says whether it still waits, be it for
// the match that another node is about to create.
func (l *Lobby) pair(ctx context.Context, t Ticket) (waits bool, err error) {
	other, waits, err := l.findOpponent(ctx, t)
	if err != nil {
		return true, err
	}
	if !waits {
		return l.attachPaired(ctx, t)
	}
	now := l.Now()
	p := Pairing{Match: "m_" + newID(), At: now, Tickets: []Ticket{t}}
	if other != nil {
		p.Tickets = append(p.Tickets, *other)
	} else if t.BotAt == 0 || now < t.BotAt {
		return true, nil
	}
	won, err := l.Store.Pair(ctx, p)
	if err != nil || !won {
		return true, err
	}
	l.metrics.pairings.WithLabelValues(opponentKind(p)).Inc()
	l.metrics.waitSeconds.Observe(float64(now-min(t.JoinedAt, p.Tickets[len(p.Tickets)-1].JoinedAt)) / 1000)
	if err := l.startMatch(ctx, p); err != nil {
		return true, err // the tickets are looked after until there is a match
	}
	for _, paired := range p.Tickets {
		l.dropTicket(paired.ID)
	}
	return false, nil
}

// findOpponent looks for an opponent among the tickets that wait, the nearest first,
// nil for none, and says whether the ticket itself still waits. It looks at the
// next slice as long as that may hold a better one.
func (l *Lobby) findOpponent(ctx context.Context, t Ticket) (other *Ticket, waits bool, err error) {
	var seen []Ticket
	for _, s := range searchSlices {
		near, waits, err := l.Store.ListNearest(ctx, t, s, l.Now())
		if err != nil || !waits {
			return nil, waits, err
		}
		for _, c := range near {
			if l.hasEnoughQuestions(t.Game, t.Filter.Merge(c.Filter)) {
				seen = append(seen, c)
			}
		}
		if best, ok := pickOpponent(t, seen, l.Now()); ok {
			other = &best
		}
		higher, lower := s.distanceToUnseen(t, near)
		if other != nil && isCertainlyBest(t, *other, higher, lower) || math.IsInf(min(higher, lower), 1) {
			break
		}
	}
	return other, true, nil
}

// hasEnoughQuestions says whether the bank holds a duel's questions for a wish: two wishes
// that fit may leave too few together.
func (l *Lobby) hasEnoughQuestions(game string, w Filter) bool {
	return l.Bank.Count(game, w) >= l.Games[game].Questions
}

// attachPaired leads the player of a ticket that another node has paired into the
// match, and says whether that has still to be created.
func (l *Lobby) attachPaired(ctx context.Context, t Ticket) (forming bool, err error) {
	activity, err := l.Store.ReadActivity(ctx, t.Game, t.Seat.Player)
	if err != nil || activity.Match == "" || activity.Forming {
		return activity.Forming, err
	}
	err = l.Matches.AttachSession(ctx, t.Game, activity.Match, t.Seat.Player)
	if errors.Is(err, match.ErrNotFound) { // long over
		return false, nil
	}
	return false, err
}

// startMatch creates the match of a pairing, unless it has been created before.
func (l *Lobby) startMatch(ctx context.Context, p Pairing) error {
	plan, err := l.newPlan(ctx, p)
	if err != nil {
		return err
	}
	if err := l.Matches.Start(ctx, plan); err != nil {
		return err
	}
	return l.Store.CompletePairing(ctx, p)
}

// newPlan draws the questions of a pairing's match: none that its players saw
// lately, as long as there are others.
func (l *Lobby) newPlan(ctx context.Context, p Pairing) (*match.Plan, error) {
	game, filter := p.Tickets[0].Game, p.Tickets[0].Filter
	players := make([]string, len(p.Tickets))
	for i, t := range p.Tickets {
		players[i] = t.Seat.Player
		filter = filter.Merge(t.Filter)
	}
	seen, err := l.SeenStore.SeenQuestions(ctx, game, players)
	if err != nil {
		return nil, err
	}
	duel := l.Games[game]
	questions, err := l.Bank.Draw(game, filter, duel.Questions, seen)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(questions))
	for i, q := range questions {
		ids[i] = q.ID
	}
	if err := l.SeenStore.AddSeen(ctx, game, players, ids); err != nil {
		return nil, err
	}
	counts, err := l.shouldCount(ctx, p, players)
	if err != nil {
		return nil, err
	}
	return &match.Plan{
		Form: match.Form, ID: p.Match, Game: game, Mode: match.Duel, Questions: questions, Seats: p.seats(),
		StartsAt: l.Now() + duel.CountdownMS, LimitMS: duel.LimitMS, CountdownMS: duel.CountdownMS, RevealMS: duel.RevealMS,
		Rated: duel.Rated && counts, Counts: counts,
	}, nil
}

// shouldCount says whether a duel counts for boards and ratings: not one against a
// bot, nor one of a pair that has met too often today, nor one of players at the
// same address if the game does not count those.
func (l *Lobby) shouldCount(ctx context.Context, p Pairing, players []string) (bool, error) {
	if len(players) < 2 || p.hasSameAddress() {
		return false, nil
	}
	game := p.Tickets[0].Game
	limit := l.Games[game].PairLimitPerDay
	if limit == 0 {
		return true, nil
	}
	met, err := l.Pairs.PairDuels(ctx, game, players[0], players[1])
	return met < limit, err
}

// nextTryDelay is how long until a ticket's next try: the next look at the others, or
// the instant at which a bot may play.
func (l *Lobby) nextTryDelay(t Ticket) time.Duration {
	if untilBot := time.Duration(t.BotAt-l.Now()) * time.Millisecond; t.BotAt > 0 && untilBot < tryEvery {
		return max(untilBot, time.Millisecond)
	}
	return tryEvery
}

func opponentKind(p Pairing) string {
	if len(p.Tickets) == 1 {
		return "bot"
	}
	return "player"
}

func codeOf(err error) string {
	var refused *protocol.Error
	if errors.As(err, &refused) {
		return string(refused.Code)
	}
	return "failed"
}
