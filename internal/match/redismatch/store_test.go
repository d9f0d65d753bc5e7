package redismatch

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"laststand/internal/arena"
	"laststand/internal/match"
)

var (
	_ match.StateStore  = (*Matches)(nil)
	_ match.AnswerStore = (*Answers)(nil)
	_ match.PlaceStore  = (*Places)(nil)
	_ match.Index       = (*Index)(nil)
	_ match.ResultStore = (*Results)(nil)
	_ match.RankReader  = (*Matches)(nil)
	_ arena.Seats       = (*Places)(nil)
	_ arena.Codes       = (*Codes)(nil)
)

func TestCreateWritesMatchOnce(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		view, err := m.Read(m.Context(), match.ReadQuery{Match: m.plan.ID, WantPlan: true})
		want := duelState()
		want.Seq, want.Version = 1, 1
		if err != nil || !reflect.DeepEqual(view.State, want) || !reflect.DeepEqual(view.Plan, m.plan) {
			m.Errorf("%+v, %+v, %v", view.State, view.Plan, err)
		}
		if got := string(view.Frames[0]); got != string(foundPush(m.plan).Frame(1)) {
			m.Errorf("first frame %s", got)
		}
		if m.indexedDueAt() != epoch {
			m.Errorf("due at %d", m.indexedDueAt())
		}
		m.checkLog()

		m.applyStep(match.PhaseOpen, 0)
		other := newPlan()
		other.ID, other.StartsAt = m.plan.ID, 1
		created, err := m.Create(m.Context(), newDuel(other))
		if created || err != nil {
			m.Errorf("created again: %v, %v", created, err)
		}
		if view := m.read(); view.Phase != match.PhaseOpen || len(view.Frames) != 2 || m.indexedDueAt() != view.DueAt {
			m.Errorf("the second Create changed the match: %+v, due at %d", view.State, m.indexedDueAt())
		}
	})
}

func TestReadReturnsRequestedFrames(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		open := m.applyStep(match.PhaseOpen, 0)
		m.accept(m.attempt(open, "p_ada", 1000))
		for after, want := range map[int64]int{-1: 0, 0: 3, 1: 2, 3: 0, 9: 0} {
			view, err := m.Read(m.Context(), match.ReadQuery{Match: m.plan.ID, Players: []string{"p_bob", "p_ada"}, AfterSeq: after})
			if err != nil || len(view.Frames) != want || view.Plan != nil {
				m.Errorf("after %d: %d frames, want %d, plan %v, %v", after, len(view.Frames), want, view.Plan, err)
			}
			if _, ok := view.Records["p_bob"]; ok || view.Records["p_ada"].Points != 190 {
				m.Errorf("records %+v", view.Records)
			}
			if totals := (match.Totals{Score: 190, Correct: 1, Answered: 1, SavedMS: 9000, LastCorrect: 1, LastAnswered: 1, Streak: 1}); view.Totals["p_ada"] != totals || view.Totals["p_bob"] != (match.Totals{}) {
				m.Errorf("totals %+v", view.Totals)
			}
		}
		m.applyStep(match.PhaseSealed, 0)
		m.applyStep(match.PhaseRevealed, 0)
		m.applyStep(match.PhaseOpen, 1)
		if view := m.read(); len(view.Records) != 0 || view.Totals["p_ada"].Score != 190 || view.Answered != 0 || view.Right != 0 {
			m.Errorf("after the next question opened: %+v", view)
		}
	})
}

func TestReadRefusesUnknownMatchAndOtherForm(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		if _, err := m.Read(m.Context(), match.ReadQuery{Match: "m_none"}); !errors.Is(err, match.ErrNotFound) {
			m.Errorf("no such match: %v", err)
		}
		for form, want := range map[int]string{match.CurrentForm + 1: "upgrade", match.CurrentForm - 1: "older"} {
			other := newPlan()
			other.Form = form
			m.createDuel(other)
			_, err := m.Read(m.Context(), match.ReadQuery{Match: other.ID, WantPlan: true})
			if !errors.Is(err, match.ErrUnreadable) || !errors.Is(err, match.ErrNotFound) || !strings.Contains(err.Error(), want) {
				m.Errorf("form %d: %v", form, err)
			}
			if err := m.RemoveIndexEntries(m.Context(), other.ID); err != nil {
				m.Error(err)
			}
		}
	})
}

func TestRecordFindsAcceptedAnswer(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		open := m.applyStep(match.PhaseOpen, 0)
		attempt := m.attempt(open, "p_ada", 1234)
		m.accept(attempt)
		shared := New(nil, m.client) // Record runs as a script on the shared pipeline, because it is as frequent as answers
		record, ok, err := shared.Record(m.Context(), m.plan.ID, "p_ada", 0)
		if err != nil || !ok || !reflect.DeepEqual(record, attempt.Record) {
			m.Errorf("%+v, %v, %v", record, ok, err)
		}
		for _, other := range []struct {
			match, player string
			question      int
		}{{m.plan.ID, "p_bob", 0}, {m.plan.ID, "p_ada", 1}, {"m_none", "p_ada", 0}} {
			if _, ok, err := shared.Record(m.Context(), other.match, other.player, other.question); ok || err != nil {
				m.Errorf("%+v: %v, %v", other, ok, err)
			}
		}
	})
}

func TestClaimedCodeIsFreeAnHourAfterRetirement(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		game := m.plan.ID // not used by other tests
		claim := func(code, id string, want bool) {
			m.Helper()
			for range 2 { // a repeated claim changes nothing
				if got, err := m.ClaimCode(m.Context(), game, code, id); err != nil || got != want {
					m.Errorf("%s for %s: %v, %v", code, id, got, err)
				}
			}
		}
		find := func(game, code, want string) {
			m.Helper()
			if got, err := m.FindCode(m.Context(), game, code); err != nil || got != want {
				m.Errorf("%s belongs to %q, %v", code, got, err)
			}
		}
		find(game, "123456", "")
		claim("123456", "m_one", true)
		claim("123456", "m_two", false)
		claim("654321", "m_two", true)
		find(game, "123456", "m_one")
		find("other", "123456", "")
		key := codeKey(game, "123456")
		if ttl := m.client.TTL(m.Context(), key).Val(); ttl < 24*time.Hour {
			m.Errorf("claimed for %v", ttl)
		}
		m.must(m.RetireCode(m.Context(), game, "123456"))
		find(game, "123456", "m_one")
		claim("123456", "m_two", false)
		if ttl := m.client.TTL(m.Context(), key).Val(); ttl > time.Hour || ttl < 50*time.Minute {
			m.Errorf("retired for %v", ttl)
		}
		m.client.Del(m.Context(), key) // simulate the expiry
		claim("123456", "m_two", true)
	})
}
