package match

import (
	"context"
	"maps"
	"slices"

	"laststand/internal/protocol"
)

// checkClose checks the reason of a closed question.
func (c *playthrough) checkClose(before, newState State) {
	all := c.oracle.haveAllAnswered()
	if newState.CloseReason == closeReasonAllAnswered && !all {
		c.Fatalf("not all have answered: %+v", before)
	}
	if grace := before.ClosesAt + sealGraceMS; newState.CloseReason == closeReasonTimeout && c.now < grace {
		c.Fatalf("closed at %d, before %d", c.now, grace)
	}
}

// checkFrames compares the log with the oracle.
func (c *playthrough) checkFrames() {
	view := c.view()
	for i, raw := range view.Frames[min(c.frames, len(view.Frames)):] {
		received := frameOf(c, raw)
		if received.Seq != int64(c.frames+i+1) {
			c.Fatalf("number %d: %s", c.frames+i+1, raw)
		}
		c.checkFrame(received, raw)
	}
	c.frames = len(view.Frames)
}

func (c *playthrough) checkFrame(received frame, raw []byte) {
	switch received.Type {
	case protocol.TypeQuestion:
		c.oracle.openQuestion()
		c.closesAt = received.Data.ClosesAt
		if received.Data.ClosesAt != received.Data.OpensAt+c.plan.LimitMS {
			c.Fatalf("%s", raw)
		}
	case protocol.TypeQuestionExtended:
		if len(c.oracle.answers) > 0 || c.extended == received.Data.Question ||
			received.Data.ClosesAt <= c.closesAt || received.Data.ClosesAt > max(c.closesAt, c.now+1000)+c.plan.LimitMS {
			c.Fatalf("%s after the answers %+v", raw, c.oracle.answers)
		}
		c.extended, c.closesAt = received.Data.Question, received.Data.ClosesAt
	case protocol.TypeQuestionClosed:
		c.checkClosed(received, raw)
	}
}

// checkClosed checks that a reveal agrees with the oracle.
func (c *playthrough) checkClosed(received frame, raw []byte) {
	answered, right := int64(len(c.oracle.answers)), int64(0)
	for _, s := range c.oracle.answers {
		if s.right {
			right++
		}
	}
	verdicts, isVoid := c.oracle.closeQuestion(received.Data.Question)
	if received.Data.Answered != answered || received.Data.Right != right || received.Data.Void != isVoid {
		c.Fatalf("void %v, %d answered, %d right: %s", isVoid, answered, right, raw)
	}
	if (received.Data.First != nil) != (c.oracle.first != "") || received.Data.First != nil && received.Data.First.Player != c.oracle.first {
		c.Fatalf("%q was first: %s", c.oracle.first, raw)
	}
	many := len(c.oracle.players) > FullListPlayers
	if !many && len(received.Data.Results) != len(verdicts) || many && len(received.Data.Results) > ShortListPlayers {
		c.Fatalf("%d players were asked: %s", len(verdicts), raw)
	}
	least := int64(1 << 50)
	for _, r := range received.Data.Results {
		c.checkResult(r, verdicts)
		least = min(least, r.Score)
		delete(verdicts, r.Player)
	}
	c.checkNotListed(verdicts, least, raw)
	for player, t := range c.oracle.players {
		c.reveals[player] = t.score
	}
	c.checkPersonal()
}

func (c *playthrough) checkResult(r protocol.QuestionResult, verdicts map[string]expectedResult) {
	want, asked := verdicts[r.Player]
	var elapsed *int64
	if want.answered {
		elapsed = &want.elapsed
	}
	if !asked || r.Correct != want.right || r.Points != want.points || r.Out != want.out ||
		r.Score != c.oracle.players[r.Player].score || (string(r.Given) != "null") != want.answered ||
		(r.ElapsedMS == nil) != (elapsed == nil) || elapsed != nil && *r.ElapsedMS != *elapsed {
		c.Fatalf("%+v, want %+v (asked: %v) and score %d", r, want, asked, c.oracle.players[r.Player].score)
	}
}

// checkNotListed checks that no player outside the list has more points than a listed
// one, except players who left or were eliminated.
func (c *playthrough) checkNotListed(verdicts map[string]expectedResult, least int64, raw []byte) {
	for player, v := range verdicts {
		if t := c.oracle.players[player]; t.score > least && !v.out && !t.hasLeft {
			c.Fatalf("%s has %d: %s", player, t.score, raw)
		}
	}
}

// checkPersonal checks the personal results of the players of a large match who
// have stayed.
func (c *playthrough) checkPersonal() {
	players := slices.Sorted(maps.Keys(c.oracle.players))
	v, err := c.store.Read(context.Background(), ReadQuery{Match: c.plan.ID, Players: players, WantRanks: true, AfterSeq: -1})
	if err != nil {
		c.Fatal(err)
	}
	for player, t := range c.oracle.players {
		if c.plan.Arena == nil || v.Phase != PhaseRevealed {
			return
		}
		if t.hasLeft {
			continue
		}
		own := personalView(c.plan, v, player)
		s, answered := c.oracle.answers[player]
		if own.Score != t.score || own.Rank != int64(c.oracle.rank(player)) || own.Out != t.out ||
			own.Correct != s.right || (own.Given != nil) != answered || own.Points != c.oracle.points(s) {
			c.Fatalf("%s: %+v, want %+v at rank %d", player, own, *t, c.oracle.rank(player))
		}
	}
}
