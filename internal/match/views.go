package match

import (
	"cmp"
	"encoding/json"
	"slices"

	"laststand/internal/protocol"
)

// matchFoundView is the announcement of a match. In a large match it lists no
// players.
func matchFoundView(plan *Plan, view View) protocol.MatchFound {
	shown := protocol.MatchFound{
		Mode: string(plan.Mode), Questions: len(plan.Questions), Players: len(plan.Seats), StartsAt: plan.StartsAt,
		Scoring: protocol.Scoring(plan.scoring()),
	}
	if plan.Arena != nil {
		shown.ArenaID, shown.Players, shown.StartsAt = plan.Arena.ID, int(view.Players), view.StartsAt
		for _, t := range plan.Arena.Teams {
			shown.Teams = append(shown.Teams, protocol.ArenaTeam(t))
		}
	}
	if shown.Players <= FullListPlayers {
		shown.Seats = seatViews(plan, view)
	}
	return shown
}

// seatViews lists the seats of a duel in order, and those of an arena by player
// id, so that the order never changes.
func seatViews(plan *Plan, v View) []protocol.SeatView {
	seats := slices.Clone(plan.listedSeats(v))
	if plan.Arena != nil {
		slices.SortFunc(seats, func(a, b Seat) int { return cmp.Compare(a.Player, b.Player) })
	}
	views := make([]protocol.SeatView, 0, len(seats))
	for _, seat := range seats {
		view := protocol.SeatView{ID: seat.Player, Nickname: seat.Nickname, Team: seat.Team, Bot: seat.Bot}
		if seat.Rating != nil {
			r := seat.Rating.Rounded()
			view.Rating = &r
		}
		views = append(views, view)
	}
	return views
}

// questionView is the current question without anything about its answer.
func questionView(plan *Plan, state State) protocol.Question {
	question := plan.Questions[state.Question]
	shown := protocol.Question{
		Question: state.Question, Of: len(plan.Questions), Kind: string(question.Kind), Text: question.Text, Choices: question.Choices(),
		Category: question.Category, Difficulty: string(question.Difficulty), Lang: question.Lang, Media: question.Media,
		OpensAt: state.OpensAt, ClosesAt: state.ClosesAt, MaxPoints: plan.scoring().MaxPoints(plan.Multiplier(state.Question)), Points: plan.Multiplier(state.Question),
	}
	if plan.ReadingMS > 0 {
		readsUntil := state.readsUntil(plan)
		shown.ReadsUntil = &readsUntil
	}
	return shown
}

// questionClosedView reveals the current question, which accepts no more answers. In a
// large match it lists the best players.
func questionClosedView(plan *Plan, view View) protocol.QuestionClosed {
	question := plan.Questions[view.Question]
	closed := protocol.QuestionClosed{
		Question: view.Question, Reason: view.CloseReason, Answer: question.Solution(), Explanation: question.Explanation,
		Counts: choiceCounts(question, view), Top: topValues(question, view), Teams: teamViews(plan, view),
		Answered: view.Answered, Right: view.Right, Void: plan.Mode == Survival && view.isVoid(),
		Results: []protocol.QuestionResult{},
	}
	if f := view.First; f != nil && f.Question == view.Question {
		closed.First = &protocol.First{Player: f.Player, Nickname: f.Nickname, Team: f.Team, ElapsedMS: f.ElapsedMS}
	}
	for _, seat := range plan.listedSeats(view) {
		if t := view.Totals[seat.Player]; plan.Mode == Survival && (t.HasLeft || view.isEliminated(t)) {
			continue
		}
		shown := protocol.QuestionResult{Player: seat.Player, Nickname: seat.Nickname, Score: view.Totals[seat.Player].Score}
		if rec, ok := view.Records[seat.Player]; ok {
			shown.Given, shown.Correct, shown.ElapsedMS, shown.Points = rec.Given, rec.Correct, &rec.ElapsedMS, rec.Points
		}
		shown.Out = plan.Mode == Survival && !shown.Correct && !closed.Void
		closed.Results = append(closed.Results, shown)
	}
	return closed
}

// personalView is the effect of a question on one player of a large match. It must
// be computed after the reveal.
func personalView(plan *Plan, view View, player string) protocol.Own {
	t := view.Totals[player]
	shown := protocol.Own{
		Match: plan.ID, Question: view.Question, Score: t.Score, Rank: view.Ranks[player], ToNext: view.Gaps[player], Out: plan.Mode == Survival && view.isEliminated(t),
	}
	if record, ok := view.Records[player]; ok {
		shown.Given, shown.Correct, shown.ElapsedMS, shown.Points = record.Given, record.Correct, &record.ElapsedMS, record.Points
	}
	return shown
}

// matchOverView is the end of a match for its players: all standings up to FullListPlayers
// players, else the best.
func matchOverView(plan *Plan, view View, result *Result) protocol.MatchOver {
	matchOver := protocol.MatchOver{Reason: string(result.Reason), Winner: result.Winner, Standings: []protocol.OverStanding{}}
	matchOver.Teams = teamStandings(result.Teams)
	standings := result.Standings
	if result.Paged {
		standings = rankedStandings(plan, view, view.Seats)
	}
	for _, s := range standings {
		matchOver.Standings = append(matchOver.Standings, s.View())
	}
	return matchOver
}

// View returns a standing as players see it.
func (s Standing) View() protocol.OverStanding {
	shown := protocol.OverStanding{
		Rank: s.Rank, Player: s.Player, Nickname: s.Nickname, Team: s.Team, Score: s.Score,
		Correct: s.Correct, Answered: s.Answered, Asked: s.Asked, TimeMS: s.TimeMS,
	}
	if s.Rating != nil {
		after := s.Rating.After.Rounded()
		delta := after - s.Rating.Before.Rounded()
		shown.Rating, shown.RatingDelta = &after, &delta
	}
	return shown
}

// stateView is the current state of a match for one of its players or watchers.
// Scores are those of the last reveal, so they disclose no open answer.
func stateView(plan *Plan, view View, player string) protocol.MatchState {
	shown := protocol.MatchState{Seq: view.Seq, Phase: phaseForPlayers(view.Phase), Found: matchFoundView(plan, view)}
	if view.Phase == PhaseOpen || view.Phase == PhaseSealed || view.Phase == PhaseRevealed {
		current := questionView(plan, view.State)
		shown.Question = &current
		if record, ok := view.Records[player]; ok {
			shown.YourAnswer = acceptedAnswerView(record)
		}
		shown.OwnDeadline = ownDeadlineView(plan, view.State, player)
	}
	shown.Scores = revealedScores(plan, view)
	if view.Players > FullListPlayers {
		shown.Scores = decodeScores(view.Scores)
	}
	if t, seated := view.Totals[player]; seated {
		shown.Out = plan.Mode == Survival && view.isEliminated(t)
		shown.Own = protocol.OwnScore{Score: view.revealedTotals(player).Score, Rank: revealedRank(view, player, shown.Scores)}
	}
	return shown
}

// revealedRank is a player's rank at the last reveal. In a large match it is 0
// while a question is unrevealed.
func revealedRank(view View, player string, shown []protocol.ScoreView) int {
	if view.Players > FullListPlayers {
		if view.isUnrevealed() {
			return 0
		}
		return int(view.Ranks[player])
	}
	rank := 1
	for _, other := range shown {
		if other.Score > view.revealedTotals(player).Score {
			rank++
		}
	}
	return rank
}

// revealedScores returns the scores of the last reveal, highest first, then by player id. The
// store's order of an arena's seats cannot be used, because open answers have
// already changed it.
func revealedScores(plan *Plan, view View) []protocol.ScoreView {
	all := make([]protocol.ScoreView, 0, len(plan.listedSeats(view)))
	for _, seat := range plan.listedSeats(view) {
		all = append(all, protocol.ScoreView{Player: seat.Player, Nickname: seat.Nickname, Score: view.revealedTotals(seat.Player).Score})
	}
	slices.SortFunc(all, func(a, b protocol.ScoreView) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Player, b.Player))
	})
	return all
}

// encodeScores encodes the scores of a reveal in a large match.
func encodeScores(plan *Plan, view View) []byte {
	view.Phase = PhaseRevealed
	raw, _ := json.Marshal(revealedScores(plan, view)) // plain texts and numbers always encode
	return raw
}

func decodeScores(raw []byte) []protocol.ScoreView {
	all := []protocol.ScoreView{}
	_ = json.Unmarshal(raw, &all) // written by encodeScores, or nothing yet
	return all
}

func acceptedAnswerView(record Record) *protocol.AcceptedAnswer {
	return &protocol.AcceptedAnswer{Question: record.Question, Given: record.Given, At: record.ArrivedAt, ElapsedMS: record.ElapsedMS}
}

func phaseForPlayers(phase Phase) string {
	switch phase {
	case PhaseSealed:
		return string(PhaseOpen)
	case PhaseSettled:
		return string(PhaseOver)
	}
	return string(phase)
}

// lobbyClosedFrame tells the players in a lobby that the match will not begin.
func lobbyClosedFrame(plan *Plan, reason Reason) []byte {
	return protocol.EncodePush(protocol.TypeArenaClosed, protocol.ArenaEnd{ArenaID: plan.Arena.ID, Reason: string(reason)})
}

// TeamCounts lists the teams of an arena with their number of players, in the
// arena's order. The list is never nil.
func (v View) TeamCounts(arena *Arena) []protocol.TeamCount {
	counts := make([]protocol.TeamCount, 0, len(arena.Teams))
	for _, t := range arena.Teams {
		counts = append(counts, protocol.TeamCount{ID: t.ID, Name: t.Name, Players: v.Teams[t.ID].Players})
	}
	return counts
}
