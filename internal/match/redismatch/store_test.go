package redismatch

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"laststand/internal/arena"
	"laststand/internal/match"
)

var (
	_ match.Store      = (*Store)(nil)
	_ match.Index      = (*Store)(nil)
	_ match.RankReader = (*Store)(nil)
	_ arena.Seats      = (*Store)(nil)
	_ arena.Codes      = (*Store)(nil)
)

func TestCreate(t *testing.T) {
	each(t, func(p *testMatch) {
		v, err := p.Read(p.Context(), match.ReadQuery{Match: p.plan.ID, WantPlan: true})
		want := duelState()
		want.Seq, want.Version = 1, 1
		if err != nil || !reflect.DeepEqual(v.State, want) || !reflect.DeepEqual(v.Plan, p.plan) {
			p.Errorf("%+v, %+v, %v", v.State, v.Plan, err)
		}
		if got := string(v.Frames[0]); got != string(found(p.plan).Frame(1)) {
			p.Errorf("first frame %s", got)
		}
		if p.due() != epoch {
			p.Errorf("due at %d", p.due())
		}
		p.checkLog()

		p.applyStep(match.Open, 0)
		other := newPlan()
		other.ID, other.StartsAt = p.plan.ID, 1
		created, err := p.Create(p.Context(), other, duelState(), found(other))
		if created || err != nil {
			p.Errorf("created again: %v, %v", created, err)
		}
		if s := p.read(); s.Phase != match.Open || len(s.Frames) != 2 || p.due() != s.DueAt {
			p.Errorf("the second changed it: %+v, due at %d", s.State, p.due())
		}
	})
}

func TestRead(t *testing.T) {
	each(t, func(p *testMatch) {
		open := p.applyStep(match.Open, 0)
		p.commit(p.attempt(open, "p_ada", 1000), match.Accepted)
		for after, want := range map[int64]int{-1: 0, 0: 3, 1: 2, 3: 0, 9: 0} {
			v, err := p.Read(p.Context(), match.ReadQuery{Match: p.plan.ID, Players: []string{"p_bob", "p_ada"}, After: after})
			if err != nil || len(v.Frames) != want || v.Plan != nil {
				p.Errorf("after %d: %d frames, want %d, plan %v, %v", after, len(v.Frames), want, v.Plan, err)
			}
			if _, ok := v.Records["p_bob"]; ok || v.Records["p_ada"].Points != 190 {
				p.Errorf("records %+v", v.Records)
			}
			if totals := (match.Totals{Score: 190, Correct: 1, Answered: 1, SavedMS: 9000, LastCorrect: 1, LastAnswered: 1}); v.Totals["p_ada"] != totals || v.Totals["p_bob"] != (match.Totals{}) {
				p.Errorf("totals %+v", v.Totals)
			}
		}
		p.applyStep(match.Sealed, 0)
		p.applyStep(match.Revealed, 0)
		p.applyStep(match.Open, 1)
		if v := p.read(); len(v.Records) != 0 || v.Totals["p_ada"].Score != 190 || v.Answered != 0 || v.Right != 0 {
			p.Errorf("with the next question: %+v", v)
		}
	})
}

func TestReadRefusals(t *testing.T) {
	each(t, func(p *testMatch) {
		if _, err := p.Read(p.Context(), match.ReadQuery{Match: "m_none"}); !errors.Is(err, match.ErrNotFound) {
			p.Errorf("no such match: %v", err)
		}
		for form, want := range map[int]string{match.Form + 1: "upgrade", match.Form - 1: "older"} {
			other := newPlan()
			other.Form = form
			if _, err := p.Create(p.Context(), other, duelState(), found(other)); err != nil {
				p.Fatal(err)
			}
			_, err := p.Read(p.Context(), match.ReadQuery{Match: other.ID, WantPlan: true})
			if !errors.Is(err, match.ErrUnreadable) || !errors.Is(err, match.ErrNotFound) || !strings.Contains(err.Error(), want) {
				p.Errorf("form %d: %v", form, err)
			}
			if err := p.RemoveIndex(p.Context(), other.ID); err != nil {
				p.Error(err)
			}
		}
	})
}

func TestRecord(t *testing.T) {
	each(t, func(p *testMatch) {
		open := p.applyStep(match.Open, 0)
		a := p.attempt(open, "p_ada", 1234)
		p.commit(a, match.Accepted)
		r, ok, err := p.Record(p.Context(), p.plan.ID, "p_ada", 0)
		if err != nil || !ok || !reflect.DeepEqual(r, a.Record) {
			p.Errorf("%+v, %v, %v", r, ok, err)
		}
		for _, other := range []struct {
			match, player string
			question      int
		}{{p.plan.ID, "p_bob", 0}, {p.plan.ID, "p_ada", 1}, {"m_none", "p_ada", 0}} {
			if _, ok, err := p.Record(p.Context(), other.match, other.player, other.question); ok || err != nil {
				p.Errorf("%+v: %v, %v", other, ok, err)
			}
		}
	})
}
