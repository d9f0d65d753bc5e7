package redismatch

import (
	"reflect"
	"testing"

	"laststand/internal/match"
)

// shown returns the listed players in order.
func (p *testMatch) shown() []string {
	p.Helper()
	v := p.read()
	var players []string
	for _, seat := range v.Seats {
		players = append(players, seat.Player)
		if _, ok := v.Totals[seat.Player]; !ok {
			p.Errorf("no totals of %s", seat.Player)
		}
	}
	return players
}

// In a large match the best players are listed. The reveal of a survival match
// orders those who came furthest by score; afterwards the order is by rank.
func TestListedPlayersOfMany(t *testing.T) {
	eachArena(t, match.Survival, func(p *testMatch) {
		players := playerIDs(51)
		p.seat(players...)
		if n := len(p.shown()); n != match.ShortView {
			p.Errorf("%d are shown in the lobby", n)
		}
		open := p.start()
		scored, quick := p.attempt(open, "p_0007", 50), p.attempt(open, "p_0008", 10)
		scored.Record.Points, quick.Record.Points = 200, 199 // an order that no rule produces
		p.commit(scored, match.Accepted)
		p.commit(quick, match.Accepted)
		p.commit(wrong(p.attempt(open, "p_0009", 1)), match.Accepted)
		check := func(want ...string) {
			p.Helper()
			if got := p.shown(); len(got) != match.ShortView || !reflect.DeepEqual(got[:2], want) {
				p.Errorf("%v", got)
			}
		}
		check("p_0007", "p_0008")
		if v := p.read(); v.Records["p_0008"].Points != 199 || len(v.Records) != 2 || v.Teams["red"].Players != 26 {
			p.Errorf("%+v, %v", v.Records, v.Teams)
		}
		p.applyStep(match.Sealed, 0)
		check("p_0007", "p_0008")
		revealed := p.applyStep(match.Revealed, 0)
		check("p_0008", "p_0007")
		ending := p.step(revealed, match.Open, 1)
		ending.To.EndReason = match.Closed
		if _, err := p.Step(p.Context(), ending); err != nil {
			p.Fatal(err)
		}
		check("p_0008", "p_0007")
	})
}

func TestAllOfAFewAreListed(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		p.seat(playerIDs(50)...)
		open := p.start()
		p.race(p.first(open, "p_0042", 10), match.Accepted)
		if got := p.shown(); len(got) != 50 || got[0] != "p_0042" {
			p.Errorf("%v", got)
		}
		v, err := p.Read(p.Context(), match.ReadQuery{Match: p.plan.ID, Players: []string{"p_0001"}, After: -1})
		if err != nil || len(v.Seats) != 0 || v.Teams != nil || v.Ranks != nil || v.Firsts != nil || len(v.Totals) != 1 || v.Plan != nil {
			p.Errorf("%+v, %v", v, err)
		}
	})
}

// Equal players share a rank. A player without a seat has none.
func TestRanks(t *testing.T) {
	eachArena(t, match.Survival, func(p *testMatch) {
		p.seat("p_ada", "p_bob", "p_cyd", "p_dan")
		open := p.start()
		p.commit(p.attempt(open, "p_cyd", 10), match.Accepted)
		p.commit(p.attempt(open, "p_ada", 20), match.Accepted)
		p.commit(p.attempt(open, "p_bob", 20), match.Accepted)
		v, err := p.Read(p.Context(), match.ReadQuery{
			Match: p.plan.ID, Players: []string{"p_ada", "p_eve", "p_bob", "p_cyd", "p_dan"}, WantRanks: true, After: -1,
		})
		want := map[string]int64{"p_cyd": 1, "p_ada": 2, "p_bob": 2, "p_dan": 4}
		if err != nil || !reflect.DeepEqual(v.Ranks, want) {
			p.Errorf("%v, %v", v.Ranks, err)
		}
	})
}

// OmitRecords leaves out the records of requested players, and nothing else.
func TestRecordsLeftOut(t *testing.T) {
	eachArena(t, match.Survival, func(p *testMatch) {
		p.seat(playerIDs(51)...)
		open := p.start()
		for _, player := range []string{"p_0001", "p_0050"} {
			p.commit(p.attempt(open, player, 10), match.Accepted)
		}
		q := match.ReadQuery{Match: p.plan.ID, Players: []string{"p_0000", "p_0001"}, WantRanks: true, WantListed: true, After: -1}
		whole, err := p.Read(p.Context(), q)
		if err != nil || len(whole.Records) != 2 || whole.Totals["p_0001"].Answered != 1 {
			p.Fatalf("%+v, %v", whole, err)
		}
		q.Players, q.OmitRecords = append(playerIDs(51)[2:10], q.Players...), true
		left, err := p.Read(p.Context(), q)
		shown := 0
		for _, seat := range left.Seats {
			if _, ok := left.Records[seat.Player]; ok {
				shown++
			}
		}
		if err != nil || shown != 2 || left.Totals["p_0001"] != whole.Totals["p_0001"] || left.Ranks["p_0000"] != whole.Ranks["p_0000"] {
			p.Errorf("%+v, %v", left, err)
		}
		q.WantListed = false
		if none, err := p.Read(p.Context(), q); err != nil || len(none.Records) != 0 || len(none.Totals) != 10 {
			p.Errorf("%+v, %v", none, err)
		}
	})
}

// The scores of a reveal are kept until the next one.
func TestScoresAreKept(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		p.seat("p_ada", "p_bob")
		if open := p.start(); p.read().Scores != nil {
			p.Errorf("%s at %+v", p.read().Scores, open)
		}
		p.applyStep(match.Sealed, 0)
		reveal := p.step(p.read().State, match.Revealed, 0)
		reveal.Scores = []byte(`[{"player":"p_ada"}]`)
		if _, err := p.Step(p.Context(), reveal); err != nil {
			p.Fatal(err)
		}
		for range 2 {
			if got := string(p.read().Scores); got != `[{"player":"p_ada"}]` {
				p.Errorf("%s", got)
			}
			p.applyStep(match.Open, p.read().Question+1)
		}
	})
}

// A node that reads a match for a session is among its nodes from then on, also
// in the replies to steps and answers.
func TestNodesJoin(t *testing.T) {
	each(t, func(p *testMatch) {
		for _, node := range []string{"n_1", "n_1", "n_2", ""} {
			v, err := p.Read(p.Context(), match.ReadQuery{Match: p.plan.ID, Node: node, After: -1})
			if err != nil || node == "n_2" && len(v.Nodes) != 2 {
				p.Errorf("%v, %v", v.Nodes, err)
			}
		}
		done, err := p.Step(p.Context(), p.step(p.read().State, match.Open, 0))
		if err != nil || len(done.Nodes) != 2 {
			p.Errorf("%+v, %v", done, err)
		}
		a := p.attempt(p.read().State, "p_ada", 10)
		if out := p.commit(a, match.Accepted); len(out.Nodes) != 2 {
			p.Errorf("%+v", out)
		}
		if nodes, err := p.Nodes(p.Context(), p.plan.ID); err != nil || len(nodes) != 2 {
			p.Errorf("%v, %v", nodes, err)
		}
		if ttl := p.client.PTTL(p.Context(), p.keys.nodes()).Val(); ttl <= 0 {
			p.Errorf("they are kept for %v", ttl)
		}
		if nodes, err := p.Nodes(p.Context(), "m_none"); err != nil || len(nodes) != 0 {
			p.Errorf("%v, %v", nodes, err)
		}
	})
}
