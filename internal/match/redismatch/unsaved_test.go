package redismatch

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"laststand/internal/answers"
	"laststand/internal/match"
)

var _ answers.Store = (*Store)(nil)

// claim claims up to limit matches of all that wait in a Redis that tests share, and
// returns those of want.
func (m *testMatch) claim(now, until int64, want ...string) (claimed []string) {
	m.Helper()
	ids, waiting, err := m.ClaimAnswers(m.Context(), now, until, 1000)
	if err != nil || waiting < int64(len(ids)) {
		m.Fatalf("%d of %d, %v", len(ids), waiting, err)
	}
	for _, id := range ids {
		if slices.Contains(want, id) {
			claimed = append(claimed, id)
		}
	}
	return claimed
}

func (m *testMatch) releaseAnswers() {
	m.Helper()
	m.must(m.ReleaseAnswers(m.Context(), m.plan.ID))
}

// settleDuel plays a duel of one question and marks it settled.
func (m *testMatch) settleDuel() {
	m.Helper()
	open := m.applyStep(match.PhaseOpen, 0)
	m.accept(m.attempt(open, "p_ada", 1000))
	m.applyStep(match.PhaseSealed, 0)
	m.applyStep(match.PhaseRevealed, 0)
	m.applyStep(match.PhaseOver, 0)
	for range 2 { // a lost reply repeats it
		m.markSettled()
	}
}

// The answers of a settled match can be claimed by one node at a time, and by another when
// the claim has ended, until they are released.
func TestAnswersOfASettledMatchAreClaimedOnceAtATime(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		id := m.plan.ID
		if got := m.claim(epoch, epoch+1, id); got != nil {
			m.Errorf("claimed %q before the match is settled", got)
		}
		m.settleDuel()
		for _, c := range []struct {
			now, until int64
			want       []string
		}{{100, 200, []string{id}}, {150, 250, nil}, {200, 300, []string{id}}, {299, 400, nil}, {300, 400, []string{id}}} {
			if got := m.claim(c.now, c.until, id); !slices.Equal(got, c.want) {
				m.Errorf("at %d: %q, want %q", c.now, got, c.want)
			}
		}
		for range 2 {
			m.releaseAnswers()
		}
		if got := m.claim(1000, 2000, id); got != nil {
			m.Errorf("claimed %q after the release", got)
		}
		m.must(m.MarkSettled(m.Context(), []match.Result{{Match: id}}))
		if got := m.claim(3000, 4000, id); got != nil {
			m.Errorf("claimed %q after it was marked again", got)
		}
		m.checkClaimLimit()
	})
}

// checkClaimLimit claims five matches, two at a time.
func (m *testMatch) checkClaimLimit() {
	m.Helper()
	var ids, claimed []string
	for i := range 5 {
		plan := newPlan()
		plan.ID = fmt.Sprint(plan.ID, i)
		m.newMatch(plan, duelState()).settleDuel()
		ids = append(ids, plan.ID)
	}
	for page := []string{""}; len(page) > 0; claimed = append(claimed, page...) {
		var waiting int64
		var err error
		if page, waiting, err = m.ClaimAnswers(m.Context(), 5000, 6000, 2); err != nil || len(page) > 2 || waiting < 5 {
			m.Fatalf("%q of %d, %v", page, waiting, err)
		}
	}
	m.must(m.PostponeAnswers(m.Context(), append(ids[:2:2], "m_unknown"), 5500))
	if got := m.claim(5500, 6000, ids...); len(got) != 2 || !slices.Contains(ids[:2], got[0]) || m.claim(6500, 7000, "m_unknown") != nil {
		m.Errorf("claimed %q after the end of their claims", got)
	}
	slices.Sort(claimed)
	if claimed = slices.DeleteFunc(claimed, func(id string) bool { return !slices.Contains(ids, id) }); !slices.Equal(claimed, ids) {
		m.Errorf("claimed %q, want %q", claimed, ids)
	}
}

// All records and totals of a match can be read after it is settled.
func TestRecordsOfASettledMatchAreRead(t *testing.T) {
	runArenaOnEachRedis(t, match.Survival, func(m *testMatch) {
		m.plan.Arena.MaxPlayers = 600
		players := playerIDs(60)
		m.addSeats(players...)
		want := []match.Record{}
		open := m.startArena()
		for i, player := range players[:50] {
			attempt := m.attempt(open, player, int64(100+i))
			m.commit(attempt, match.VerdictAccepted)
			want = append(want, attempt.Record)
		}
		m.removePlace(players[49], "left")
		m.removePlace(players[59], "left")
		totals, err := m.AllTotals(m.Context(), m.plan.ID)
		if err != nil || len(totals) != 51 || !totals[players[49]].HasLeft || !totals[players[59]].HasLeft || totals[players[0]].LastAnswered != 1 || totals[players[0]].Score != want[0].Points {
			m.Errorf("%d totals, %+v, %v", len(totals), totals[players[49]], err)
		}
		settled := match.State{Phase: match.PhaseSettled}
		if !settled.IsUncounted(want[49], totals[players[49]]) || settled.IsUncounted(want[48], totals[players[48]]) {
			m.Error("only the answer of the player who left before the reveal must not count")
		}
		got, unreadable, err := m.RecordsOf(m.Context(), m.plan.ID, players, 30) // several commands
		slices.SortFunc(got, func(a, b match.Record) int { return cmp.Compare(a.ElapsedMS, b.ElapsedMS) })
		if err != nil || unreadable != 0 || !reflect.DeepEqual(got, want) {
			m.Errorf("%d records, %v, %v", len(got), unreadable, err)
		}
		m.must(m.client.HSet(m.Context(), m.keys.answers(), answerField(0, players[0]), "{").Err())
		if got, unreadable, err := m.RecordsOf(m.Context(), m.plan.ID, players[:2], 1); err != nil || unreadable != 1 || len(got) != 1 {
			m.Errorf("%d records, %d unreadable, %v", len(got), unreadable, err)
		}
	})
}

// A match that is claimed after its keys have expired is reported as gone.
func TestExpiredMatchIsNotFound(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		m.settleDuel()
		if ttl := m.client.PTTL(m.Context(), m.keys.answers()).Val(); ttl <= 47*time.Hour || ttl > 48*time.Hour {
			m.Errorf("the answers live for %v", ttl)
		}
		m.deleteMatchKeys()
		if _, err := m.Read(m.Context(), match.ReadQuery{Match: m.plan.ID, WantPlan: true, AfterSeq: -1}); err == nil {
			m.Error("no error")
		}
		if totals, err := m.AllTotals(m.Context(), m.plan.ID); err != nil || len(totals) != 0 {
			m.Errorf("%v, %v", totals, err)
		}
	})
}
