package redismatch

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"laststand/internal/match"
)

// The result of a large match waits for the ledger with everything that paging
// needs. It expires some time later.
func TestLargeResultIsReadableUntilItExpires(t *testing.T) {
	runArenaOnEachRedis(t, match.Survival, func(m *testMatch) {
		m.plan.Arena.MaxPlayers = 600
		players := playerIDs(60)
		open := m.startArena(players...)
		for i, player := range players { // later players are faster
			m.commit(m.attempt(open, player, int64(600-10*i)), match.VerdictAccepted)
		}
		m.openNextQuestion()
		m.applyStep(match.PhaseSealed, 1)
		over := m.step(m.applyStep(match.PhaseRevealed, 1), match.PhaseOver, 1)
		over.Result.Paged = true
		m.apply(over)
		m.addReadingNode("n_late")
		m.deletePlayKeys()
		m.checkPages(players)
		m.checkTTLs(func(key string, ttl time.Duration) bool {
			return slices.Contains(m.keys.resultKeys(m.plan.Mode), key) == (ttl == -1)
		})
		m.must(m.MarkSettled(m.Context(), []match.Result{{Match: m.plan.ID, ArenaID: m.plan.Arena.ID}}))
		m.checkPages(players)
		m.checkTTLs(func(key string, ttl time.Duration) bool {
			return slices.Contains(m.keys.resultKeys(m.plan.Mode), key) == (ttl > 47*time.Hour && ttl <= 48*time.Hour)
		})
		m.releaseAnswers()
		m.checkPages(players)
		m.checkTTLs(isTTLAfterEnd(m))
	})
}

// isTTLAfterEnd returns whether a key of a match with its remaining time can expire soon.
func isTTLAfterEnd(m *testMatch) func(key string, ttl time.Duration) bool {
	return func(key string, ttl time.Duration) bool {
		return ttl > 0 && (ttl <= 6*time.Minute || ttl <= time.Hour && key == m.keys.tombstone())
	}
}

// If a result became a dead letter without its standings, the keys for paging
// stay for two days, because it may be requeued.
func TestIncompleteResultStaysReadable(t *testing.T) {
	runArenaOnEachRedis(t, match.Survival, func(m *testMatch) {
		players := playerIDs(60)
		m.plan.Arena.MaxPlayers = 600
		m.commit(m.attempt(m.startArena(players...), players[0], 100), match.VerdictAccepted)
		m.openNextQuestion()
		m.applyStep(match.PhaseSealed, 1)
		over := m.step(m.applyStep(match.PhaseRevealed, 1), match.PhaseOver, 1)
		over.Result.Paged, over.Result.Standings = true, nil
		m.apply(over)
		m.must(m.MarkSettled(m.Context(), []match.Result{{Match: m.plan.ID, ArenaID: m.plan.Arena.ID, Paged: true}}))
		for _, key := range m.keys.resultKeys(m.plan.Mode) {
			if ttl := m.client.PTTL(m.Context(), key).Val(); ttl != -2 && ttl < 47*time.Hour { // -2: no such key
				m.Errorf("%s lives for %v", key, ttl)
			}
		}
		result := *over.Result
		if err := match.CompleteStandings(m.Context(), m, &result); err != nil || len(result.Standings) != len(players) {
			m.Errorf("%v, %+v", err, result)
		}
	})
}

// addReadingNode adds a node that reads the match for a session.
func (m *testMatch) addReadingNode(node string) {
	m.Helper()
	_, err := m.Read(m.Context(), match.ReadQuery{Match: m.plan.ID, Node: node, AfterSeq: -1})
	m.must(err)
}

// deletePlayKeys simulates the expiry of the keys after the end of a match.
func (m *testMatch) deletePlayKeys() {
	m.Helper()
	m.must(m.client.Del(m.Context(), m.keys.playKeys(m.plan.Mode)...).Err())
}

func (m *testMatch) checkPages(players []string) {
	m.Helper()
	view, err := m.Read(m.Context(), match.ReadQuery{Match: m.plan.ID, WantPlan: true, AfterSeq: -1})
	if err != nil || view.Plan == nil || view.Phase != match.PhaseOver && view.Phase != match.PhaseSettled {
		m.Fatalf("%+v, %v", view, err)
	}
	var got []string
	for {
		page, err := m.RankedPlayers(m.Context(), m.plan.ID, len(got), 25)
		if err != nil {
			m.Fatal(err)
		}
		for _, ranked := range page {
			want := match.Totals{
				Score: 190, Correct: 1, Answered: 1, LastCorrect: 1, LastAnswered: 1, Streak: 1,
				SavedMS: 9400 + 10*int64(slices.Index(players, ranked.Seat.Player)),
			}
			if ranked.Totals != want || ranked.Seat.Nickname != "Nick of "+ranked.Seat.Player || ranked.Seat.Team == "" {
				m.Errorf("%+v, want %+v", ranked, want)
			}
			got = append(got, ranked.Seat.Player)
		}
		if len(page) < 25 {
			break
		}
	}
	slices.Reverse(got)
	if !reflect.DeepEqual(got, players) {
		m.Errorf("%v", got)
	}
}

func (m *testMatch) checkTTLs(isExpected func(key string, ttl time.Duration) bool) {
	m.Helper()
	for _, key := range m.allKeys() {
		if ttl := m.client.PTTL(m.Context(), key).Val(); !isExpected(key, ttl) {
			m.Errorf("%s lives for %v", key, ttl)
		}
	}
}

// The result of a small match is complete. Its answers stay until the ledger has them.
func TestSmallArenaExpiresAfterItsAnswersAreSaved(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		m.commitIfFirst(m.firstAttempt(m.startArena("p_ada", "p_bob"), "p_ada", 10), match.VerdictAccepted)
		m.applyStep(match.PhaseRevealed, 0)
		m.applyStep(match.PhaseOver, 0)
		m.checkTTLs(func(key string, ttl time.Duration) bool {
			return slices.Contains(m.keys.resultKeys(m.plan.Mode), key) == (ttl == -1)
		})
		m.markSettled()
		m.releaseAnswers()
		m.checkTTLs(isTTLAfterEnd(m))
	})
}

func TestRankedPlayersAreLimitedPerPage(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		for _, limit := range []int{-1, 0, 10, 10_000} {
			if page, err := m.RankedPlayers(m.Context(), m.plan.ID, 0, limit); err != nil || len(page) != 0 {
				m.Errorf("%v, %v", page, err)
			}
		}
		m.plan.Arena.MaxPlayers = 501
		m.addSeats(playerIDs(501)...)
		for from, want := range map[int]int{0: 500, 1: 500, 2: 499, 500: 1, 501: 0} {
			if page, err := m.RankedPlayers(m.Context(), m.plan.ID, from, 10_000); err != nil || len(page) != want {
				m.Errorf("from %d: %d, %v", from, len(page), err)
			}
		}
		if _, err := m.Read(m.Context(), match.ReadQuery{Match: m.plan.ID, Players: playerIDs(501)}); err == nil {
			m.Error("501 players are read in one query")
		}
		view, err := m.Read(m.Context(), match.ReadQuery{Match: m.plan.ID, Players: playerIDs(500), WantRanks: true, WantListed: true})
		if err != nil || len(view.Ranks) != 500 || len(view.Totals) < 500 {
			m.Errorf("%d ranks, %d totals, %v", len(view.Ranks), len(view.Totals), err)
		}
	})
}
