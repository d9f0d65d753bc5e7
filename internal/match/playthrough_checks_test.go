package match

import (
	"context"
	"maps"
	"slices"

	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// checkCloseReason checks the reason of a closed question.
func (p *playthrough) checkCloseReason(before, newState State) {
	allAnswered := p.oracle.haveAllAnswered()
	if newState.CloseReason == closeReasonAllAnswered && !allAnswered {
		p.Fatalf("not all have answered: %+v", before)
	}
	if grace := before.ClosesAt + answerGraceMS; newState.CloseReason == closeReasonTimeout && p.now < grace {
		p.Fatalf("closed at %d, before %d", p.now, grace)
	}
	for player := range p.oracle.players {
		if ownClose := p.oracle.ownClose(player, before.ClosesAt); newState.CloseReason == closeReasonTimeout && p.oracle.canAnswer(player) && p.now < ownClose+answerGraceMS {
			p.Fatalf("closed at %d, while %s could answer until %d", p.now, player, ownClose)
		}
	}
	if lastDue := before.ClosesAt + p.oracle.limitMS() + answerGraceMS; before.DueAt > lastDue {
		p.Fatalf("%+v is due after %d", before, lastDue)
	}
}

// checkFrames compares the log with the oracle.
func (p *playthrough) checkFrames() {
	view := p.view()
	for i, raw := range view.Frames[min(p.checkedFrames, len(view.Frames)):] {
		received := decodeFrame(p, raw)
		if received.Seq != int64(p.checkedFrames+i+1) {
			p.Fatalf("number %d: %s", p.checkedFrames+i+1, raw)
		}
		p.checkFrame(received, raw)
	}
	p.checkedFrames = len(view.Frames)
}

func (p *playthrough) checkFrame(received frame, raw []byte) {
	switch received.Type {
	case protocol.TypeQuestion:
		p.oracle.openQuestion(received.Data.Question)
		p.closesAt = received.Data.ClosesAt
		if received.Data.ClosesAt != received.Data.OpensAt+p.plan.ReadingMS+p.oracle.limitMS() {
			p.Fatalf("%s", raw)
		}
	case protocol.TypeQuestionExtended:
		if len(p.oracle.answers) > 0 || p.lastExtended == received.Data.Question ||
			received.Data.ClosesAt <= p.closesAt || received.Data.ClosesAt > max(p.closesAt, p.now+1000)+p.oracle.limitMS() {
			p.Fatalf("%s after the answers %+v", raw, p.oracle.answers)
		}
		p.lastExtended, p.closesAt = received.Data.Question, received.Data.ClosesAt
	case protocol.TypeQuestionClosed:
		p.checkReveal(received, raw)
	}
}

// checkReveal checks that a reveal agrees with the oracle.
func (p *playthrough) checkReveal(received frame, raw []byte) {
	answered, right := int64(len(p.oracle.answers)), int64(0)
	for _, answer := range p.oracle.answers {
		if answer.right {
			right++
		}
	}
	wantResults, isVoid := p.oracle.closeQuestion(received.Data.Question)
	if received.Data.Answered != answered || received.Data.Right != right || received.Data.Void != isVoid {
		p.Fatalf("void %v, %d answered, %d right: %s", isVoid, answered, right, raw)
	}
	if (received.Data.First != nil) != (p.oracle.firstPlayer != "") || received.Data.First != nil && received.Data.First.Player != p.oracle.firstPlayer {
		p.Fatalf("%q was first: %s", p.oracle.firstPlayer, raw)
	}
	p.checkCounts(received, raw)
	isLarge := len(p.oracle.players) > FullListPlayers
	if !isLarge && len(received.Data.Results) != len(wantResults) || isLarge && len(received.Data.Results) > ShortListPlayers {
		p.Fatalf("%d players were asked: %s", len(wantResults), raw)
	}
	lowestScore := int64(1 << 50)
	for _, result := range received.Data.Results {
		p.checkResult(result, wantResults)
		lowestScore = min(lowestScore, result.Score)
		delete(wantResults, result.Player)
	}
	p.checkNotListed(wantResults, lowestScore, raw)
	for player, t := range p.oracle.players {
		p.revealedScores[player] = t.score
	}
	for _, team := range received.Data.Teams {
		if p.plan.Mode != Race || team.Score != p.oracle.teamScore(team.ID) {
			p.Fatalf("team %s has %d: %s", team.ID, p.oracle.teamScore(team.ID), raw)
		}
	}
	p.checkPersonalResults()
}

// checkCounts checks that a reveal counts each answer of an arena.
func (p *playthrough) checkCounts(closed frame, raw []byte) {
	question := p.plan.Questions[closed.Data.Question]
	right, wrong := int64(0), int64(0)
	for _, answer := range p.oracle.answers {
		if answer.right {
			right++
		} else {
			wrong++
		}
	}
	var chosen, wantChosen int64
	for i, n := range closed.Data.Counts {
		chosen += n
		if isRight := slices.Contains(question.RightIndexes(), i); isRight && n != right {
			p.Fatalf("choice %d was chosen %d times, %d were right: %s", i, n, right, raw)
		}
	}
	for _, top := range closed.Data.Top {
		chosen += top.N
	}
	if wantChosen = right + wrong; question.Kind == quiz.Multiple {
		wantChosen = right*int64(len(question.RightIndexes())) + wrong // see wrongAnswer
	}
	if p.plan.Arena == nil {
		wantChosen = 0
	}
	if chosen != wantChosen {
		p.Fatalf("%d choices are counted, want %d: %s", chosen, wantChosen, raw)
	}
}

func (p *playthrough) checkResult(result protocol.QuestionResult, wantResults map[string]expectedResult) {
	want, asked := wantResults[result.Player]
	var elapsed *int64
	if want.answered {
		elapsed = &want.elapsedMS
	}
	if !asked || result.Correct != want.right || result.Points != want.points || result.Out != want.eliminated ||
		result.Score != p.oracle.players[result.Player].score || (string(result.Given) != "null") != want.answered ||
		(result.ElapsedMS == nil) != (elapsed == nil) || elapsed != nil && *result.ElapsedMS != *elapsed {
		p.Fatalf("%+v, want %+v (asked: %v) and score %d", result, want, asked, p.oracle.players[result.Player].score)
	}
}

// checkNotListed checks that no player outside the list has more points than a listed
// one, except players who left or were eliminated.
func (p *playthrough) checkNotListed(notListed map[string]expectedResult, lowestScore int64, raw []byte) {
	for player, result := range notListed {
		if t := p.oracle.players[player]; t.score > lowestScore && !result.eliminated && !t.hasLeft {
			p.Fatalf("%s has %d: %s", player, t.score, raw)
		}
	}
}

// checkPersonalResults checks the personal results of the players of a large match who
// have stayed.
func (p *playthrough) checkPersonalResults() {
	players := slices.Sorted(maps.Keys(p.oracle.players))
	view, err := p.store.Read(context.Background(), ReadQuery{Match: p.plan.ID, Players: players, WantRanks: true, AfterSeq: -1})
	if err != nil {
		p.Fatal(err)
	}
	for player, t := range p.oracle.players {
		if p.plan.Arena == nil || view.Phase != PhaseRevealed {
			return
		}
		if t.hasLeft {
			continue
		}
		own := personalView(p.plan, view, player)
		answer, answered := p.oracle.answers[player]
		if own.Score != t.score || own.Rank != int64(p.oracle.rank(player)) || own.ToNext != p.oracle.gap(player) || own.Out != t.eliminated ||
			own.Correct != answer.right || (own.Given != nil) != answered || own.Points != p.oracle.lastPoints[player] {
			p.Fatalf("%s: %+v, want %+v at rank %d", player, own, *t, p.oracle.rank(player))
		}
	}
}
