package lobby

import (
	"context"
	"errors"
	"math"
	"time"

	"laststand/internal/match"
	"laststand/internal/quiz"
)

// tryPairing tries to pair a ticket of this node. If the ticket still waits after
// that, it schedules the next try. The listing is that of FirstSlice, nil if it must be read.
func (l *Lobby) tryPairing(t Ticket, listing *Listing) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	isWaiting, err := l.pair(ctx, t, listing)
	switch {
	case err != nil:
		l.Logger.Warn("ticket pairing failed; retrying", "ticket", t.ID, "error", err)
		l.scheduleTry(t, tryInterval, true)
	case isWaiting:
		l.scheduleTry(t, l.nextTryDelay(t), true)
	default:
		l.drop(t.key(), t.ID)
	}
}

// scheduleTry makes this node try to pair a ticket after a wait. If isHandled is true, it
// does nothing unless this node handles the ticket already.
func (l *Lobby) scheduleTry(t Ticket, wait time.Duration, isHandled bool) {
	l.schedule(t, wait, isHandled, func() { l.tryPairing(t, nil) })
}

// maxPairingAttempts limits how often one try looks for an opponent again because another
// try or node took the one that it had found.
const maxPairingAttempts = 8

// pair tries to pair a ticket with another one or with a bot, and then creates the
// match. It reports whether this node must still handle the ticket: it waits for an
// opponent, or for a match that another try or node is creating.
func (l *Lobby) pair(ctx context.Context, t Ticket, listing *Listing) (isWaiting bool, err error) {
	for range maxPairingAttempts {
		if l.isClaimed(t.ID) {
			return true, nil
		}
		opponent, activity, err := l.findOpponent(ctx, t, listing)
		if err != nil {
			return true, err
		}
		if activity.Ticket != t.ID {
			return l.attachPaired(ctx, t.key(), activity)
		}
		listing = nil // the next search needs a new one
		now := l.Now()
		p := Pairing{Match: "m_" + newID(), PairedAt: now, Tickets: []Ticket{t}}
		if opponent != nil {
			p.Tickets = append(p.Tickets, *opponent)
		} else if t.BotAt == 0 || now < t.BotAt {
			return true, nil
		}
		if isPaired, err := l.pairClaimed(ctx, p); err != nil || isPaired {
			return err != nil, err
		}
	}
	return true, nil
}

// pairClaimed moves the tickets of a pairing out of the queue and creates the match. It
// returns false if another try or node pairs one of them. After an error this node must
// extend the life of the tickets until the match exists.
func (l *Lobby) pairClaimed(ctx context.Context, p Pairing) (isPaired bool, err error) {
	release, ok := l.claim(p.Tickets)
	if !ok {
		return false, nil
	}
	defer release()
	if isPaired, err := l.Pairings.Pair(ctx, p); err != nil || !isPaired {
		return false, err
	}
	return true, l.createMatch(ctx, p)
}

// createMatch creates the match of a pairing that this node has made.
func (l *Lobby) createMatch(ctx context.Context, p Pairing) error {
	opponent := "player"
	if len(p.Tickets) == 1 {
		opponent = "bot"
	}
	l.metrics.pairings.WithLabelValues(opponent).Inc()
	l.metrics.waitSeconds.Observe(float64(p.PairedAt-min(p.Tickets[0].JoinedAt, p.Tickets[len(p.Tickets)-1].JoinedAt)) / 1000)
	if err := l.startMatch(ctx, p); err != nil {
		return err
	}
	for _, ticket := range p.Tickets {
		l.drop(ticket.key(), ticket.ID)
	}
	return nil
}

// findOpponent returns the best opponent among the waiting tickets, or nil if none is
// suitable. It also returns the activity of the ticket's player. It reads one slice after
// another, as long as the next may contain a better opponent. It starts with the listing of
// the first slice, unless that is nil.
func (l *Lobby) findOpponent(ctx context.Context, t Ticket, listing *Listing) (opponent *Ticket, activity Activity, err error) {
	var candidates []Ticket
	for i, s := range searchSlices {
		if i > 0 || listing == nil {
			next, err := l.Tickets.ListNearest(ctx, t, s, l.Now())
			if err != nil || next.Activity.Ticket != t.ID {
				return nil, next.Activity, err
			}
			listing = &next
		}
		found, err := l.findCandidates(t, listing.Nearest)
		if err != nil {
			return nil, Activity{}, err
		}
		candidates = append(candidates, found...)
		if best, ok := pickOpponent(t, candidates, l.Now()); ok {
			opponent = &best
		}
		higher, lower := s.minUnreadDistances(t, listing.Nearest)
		if opponent != nil && isCertainlyBest(t, *opponent, higher, lower) || math.IsInf(min(higher, lower), 1) {
			break
		}
	}
	return opponent, Activity{Ticket: t.ID}, nil
}

// findCandidates returns the listed tickets that no other try of this node is pairing, and with
// which a duel has enough questions.
func (l *Lobby) findCandidates(t Ticket, listed []ListedTicket) (candidates []Ticket, err error) {
	for _, other := range listed {
		if l.isClaimed(other.ID) {
			continue
		}
		candidate, err := other.Decode()
		if err != nil {
			return nil, err
		}
		if l.hasEnoughQuestions(t.Game, t.Filter.Merge(candidate.Filter)) {
			candidates = append(candidates, candidate)
		}
	}
	return candidates, nil
}

// hasEnoughQuestions reports whether enough questions for a duel match a filter. Few
// questions may match the merged filter of two compatible filters.
func (l *Lobby) hasEnoughQuestions(game string, filter quiz.Filter) bool {
	return l.Bank.Count(quiz.Source{Game: game}, filter) >= l.Games[game].Questions
}

// attachPaired attaches the session of a player, whose ticket another node has
// paired, to the match. It returns true if the match does not exist yet.
func (l *Lobby) attachPaired(ctx context.Context, key playerKey, activity Activity) (isForming bool, err error) {
	if activity.Match == "" || activity.Forming {
		return activity.Forming, nil
	}
	err = l.Matches.AttachSession(ctx, key.game, activity.Match, key.player)
	if errors.Is(err, match.ErrNotFound) { // the match has expired
		return false, nil
	}
	return false, err
}

// startMatch creates the match of a pairing unless it exists, and completes the
// pairing.
func (l *Lobby) startMatch(ctx context.Context, p Pairing) error {
	plan, err := l.newPlan(ctx, p)
	if err != nil {
		return err
	}
	if err := l.Matches.StartDuel(ctx, plan); err != nil {
		return err
	}
	return l.Pairings.CompletePairing(ctx, p)
}

// newPlan returns the plan of a pairing's match with its questions. It avoids
// questions that the players saw recently if there are enough others. It records the
// drawn ones as seen.
func (l *Lobby) newPlan(ctx context.Context, p Pairing) (*match.Plan, error) {
	game, filter := p.Tickets[0].Game, p.Tickets[0].Filter
	var players []string
	var seats []match.Seat
	for _, t := range p.Tickets {
		players, seats = append(players, t.Seat.Player), append(seats, t.Seat)
		filter = filter.Merge(t.Filter)
	}
	if len(seats) == 1 {
		seats = append(seats, match.NewBot())
	}
	seen, err := l.SeenStore.SeenQuestions(ctx, game, players)
	if err != nil {
		return nil, err
	}
	duel := l.Games[game]
	questions, err := l.Bank.Draw(quiz.Source{Game: game}, filter, duel.Questions, seen)
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
		Form: match.CurrentForm, ID: p.Match, Game: game, Mode: match.Duel, Questions: questions, Seats: seats,
		StartsAt: l.Now() + duel.CountdownMS, Rules: match.Rules{LimitMS: duel.LimitMS}, CountdownMS: duel.CountdownMS, RevealMS: duel.RevealMS,
		Rated: duel.Rated && counts, CountsForLeaderboards: counts,
	}, nil
}

// shouldCount reports whether a duel counts for leaderboards and ratings. A duel against a
// bot does not count. A duel of a pair that has reached its daily limit does not count. A
// duel between players with the same address counts only if the game counts such duels.
func (l *Lobby) shouldCount(ctx context.Context, p Pairing, players []string) (bool, error) {
	if len(players) < 2 || p.Tickets[0].Address != "" && p.Tickets[0].Address == p.Tickets[1].Address {
		return false, nil
	}
	game := p.Tickets[0].Game
	limit := l.Games[game].PairLimitPerDay
	if limit == 0 {
		return true, nil
	}
	countedToday, err := l.DuelCounter.PairDuels(ctx, game, players[0], players[1])
	return countedToday < limit, err
}

// nextTryDelay returns the delay until a ticket's next try: tryInterval, or less if a
// bot may be the opponent earlier.
func (l *Lobby) nextTryDelay(t Ticket) time.Duration {
	if untilBot := time.Duration(t.BotAt-l.Now()) * time.Millisecond; t.BotAt > 0 && untilBot < tryInterval {
		return max(untilBot, time.Millisecond)
	}
	return tryInterval
}
