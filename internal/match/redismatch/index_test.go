package redismatch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
)

func TestListDueFindsMatchesAfterTheirDeadline(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		checkListed := func(before int64, want bool) {
			m.Helper()
			ids, err := m.ListDue(m.Context(), before)
			if err != nil || slices.Contains(ids, m.plan.ID) != want {
				m.Errorf("before %d: %v, %v", before, ids, err)
			}
		}
		checkListed(epoch, false)
		checkListed(epoch+1, true)
		open := m.applyStep(match.PhaseOpen, 0)
		checkListed(open.DueAt, false)
		checkListed(open.DueAt+1, true)
		m.must(m.RemoveIndexEntries(m.Context(), m.plan.ID))
		checkListed(open.DueAt+1, false)
		m.checkNoProgress()
	})
}

func TestReadProgressReadsManyPartitions(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		ids := []string{"m_none", m.plan.ID}
		for range 20 { // in many partitions
			other := newPlan()
			m.createDuel(other)
			ids = append(ids, other.ID)
		}
		m.applyStep(match.PhaseOpen, 0)
		progress, err := m.ReadProgress(m.Context(), ids)
		if err != nil || len(progress) != 21 || progress[m.plan.ID] != (match.Progress{Seq: 2, Version: 2}) || progress[ids[2]] != (match.Progress{Seq: 1, Version: 1}) {
			m.Errorf("%v, %v", progress, err)
		}
		for _, id := range ids[2:] {
			if err := m.RemoveIndexEntries(m.Context(), id); err != nil {
				m.Error(err)
			}
		}
		if empty, err := m.ReadProgress(m.Context(), nil); err != nil || len(empty) != 0 {
			m.Errorf("%v, %v", empty, err)
		}
	})
}

func TestReadResultsObeysLimit(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		var settled []match.Result
		for range 10 {
			m.plan = newPlan()
			m.createDuel(m.plan)
			m.applyStep(match.PhaseOver, 0)
			settled = append(settled, match.Result{Match: m.plan.ID})
		}
		for limit := 1; limit <= 10; limit++ {
			if got := m.pendingResults(limit); len(got) != limit {
				m.Errorf("%d of at most %d", len(got), limit)
			}
		}
		if err := m.MarkSettled(m.Context(), settled); err != nil {
			m.Error(err)
		}
	})
}

// A result whose stored text is damaged is read with that text, so that it can be set aside.
func TestReadResultsReturnsDamagedResults(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		m.applyStep(match.PhaseOver, 0)
		m.must(m.client.HSet(m.Context(), m.keys.result(), m.plan.ID, "{damaged").Err())
		results := slices.DeleteFunc(m.pendingResults(1000), func(result match.Result) bool { return result.Match != m.plan.ID })
		if len(results) != 1 || results[0].Undecodable != "{damaged" || results[0].Game != m.plan.Game || results[0].IsComplete() {
			m.Errorf("read %+v", results)
		}
		m.markSettled()
		m.checkPending(false)
	})
}

// Every key of a match expires. The exceptions are the indexes, which steps and
// sweeps maintain, and results and answers, which wait for the ledger.
func TestEveryKeyExpires(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		checkTTLs := func(moment string, maxTTL time.Duration) {
			m.Helper()
			for _, key := range m.allKeys() {
				ttl, err := m.client.PTTL(m.Context(), key).Result()
				if err != nil || ttl <= 0 || ttl > maxTTL && key != m.keys.tombstone() {
					m.Errorf("%s: %s lives for %v, %v", moment, key, ttl, err)
				}
			}
		}
		checkTTLs("countdown", 48*time.Hour)
		open := m.applyStep(match.PhaseOpen, 0)
		m.accept(m.attempt(open, "p_ada", 10))
		if n := len(m.allKeys()); n != 5 {
			m.Errorf("%d keys: %v", n, m.allKeys())
		}
		checkTTLs("open", 48*time.Hour)
		m.applyStep(match.PhaseSealed, 0)
		m.applyStep(match.PhaseRevealed, 0)
		m.applyStep(match.PhaseOver, 0)
		m.checkTTLs(func(key string, ttl time.Duration) bool {
			return slices.Contains(m.keys.resultKeys(m.plan.Mode), key) == (ttl == -1)
		})
		m.markSettled()
		checkTTLs("settled", 48*time.Hour)
		m.releaseAnswers()
		checkTTLs("released", 360*time.Second)
	})
}

// allKeys returns the keys that belong only to this match.
func (m *testMatch) allKeys() []string {
	m.Helper()
	var mu sync.Mutex
	var matchKeys []string
	m.runOnEachMaster(func(ctx context.Context, client redis.Cmdable) error {
		keys, err := client.Keys(ctx, "*"+m.plan.ID+"*").Result()
		mu.Lock()
		defer mu.Unlock()
		matchKeys = append(matchKeys, keys...)
		return err
	})
	return matchKeys
}

func TestSeenQuestionsAreRemembered(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		ada, bob := m.plan.ID+"_ada", m.plan.ID+"_bob" // ids that no other test uses
		m.addSeen([]string{ada, bob}, "q_1", "q_2")
		m.addSeen([]string{bob}, "q_3")
		m.wantSeen("demo", []string{ada}, "q_1 q_2")
		m.wantSeen("demo", []string{bob}, "q_1 q_2 q_3")
		m.wantSeen("demo", []string{ada, bob}, "q_1 q_2 q_3")
		m.wantSeen("demo", []string{"nobody" + ada}, "")
		m.wantSeen("other", []string{ada}, "")
		m.must(m.ForgetSeen(m.Context(), "demo", bob))
		m.wantSeen("demo", []string{bob}, "")
	})
}

// The oldest questions are forgotten, and those of a player who plays no more.
func TestNewestSeenQuestionsAreKept(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		ada := m.plan.ID + "_ada"
		key := seenKey("demo", ada)
		for i := range 40 {
			questions := []string{fmt.Sprint("newest", i)}
			for len(questions) < 50 {
				questions = append([]string{fmt.Sprint("q_", i, "_", len(questions))}, questions...)
			}
			m.addSeen([]string{ada}, questions...)
			if length := m.client.StrLen(m.Context(), key).Val(); length > 2*seenBytes {
				m.Fatalf("%d bytes are stored", length)
			}
			m.wantSeen("demo", []string{ada}, fmt.Sprint("newest", i))
		}
		seen, err := m.SeenQuestions(m.Context(), "demo", []string{ada})
		if err != nil || !seen("newest35") || seen("newest0") {
			m.Errorf("the newest and the first: %v, %v, %v", seen("newest35"), seen("newest0"), err)
		}
		if ttl := m.client.TTL(m.Context(), key).Val(); ttl <= 0 || ttl > seenTTL {
			m.Errorf("seen questions are stored for %v", ttl)
		}
	})
}

func (m *testMatch) addSeen(players []string, questions ...string) {
	m.Helper()
	m.must(m.AddSeen(m.Context(), "demo", players, questions))
}

// wantSeen checks which of some questions the players have seen. Some are parts of others.
func (m *testMatch) wantSeen(game string, players []string, want string) {
	m.Helper()
	seen, err := m.SeenQuestions(m.Context(), game, players)
	if err != nil {
		m.Fatal(err)
	}
	for _, id := range append(strings.Fields(want), "q_1", "q_2", "q_3", "q_", "_1", "q_11") {
		if wanted := slices.Contains(strings.Fields(want), id); seen(id) != wanted {
			m.Errorf("%s of %v in game %s: seen %v", id, players, game, !wanted)
		}
	}
}

func TestMatchesAreSpreadOverAllPartitions(t *testing.T) {
	t.Parallel()
	matchesByTag := map[string]int{}
	for range 10_000 {
		matchesByTag[newKeys(newPlan().ID).tag]++
	}
	for tag, n := range matchesByTag {
		if n > 120 {
			t.Errorf("%s has %d of 10,000", tag, n)
		}
	}
	if len(matchesByTag) != Partitions {
		t.Errorf("%d partitions are used", len(matchesByTag))
	}
}

// The match of a settled result says whether the result counts, with the final ratings.
// Every node with its players can then notify them.
func TestCountedResultIsStoredWithMatch(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		m.applyStep(match.PhaseOpen, 0)
		m.applyStep(match.PhaseOver, 0)
		change := &match.RatingChange{After: match.Rating{R: 1533}}
		result := match.Result{Match: m.plan.ID, Mode: match.Duel, Standings: []match.Standing{{Player: "p_ada", Rating: change}, {Player: "p_bob", Rating: change}}}
		ratings := map[string]int{"p_ada": 1533, "p_bob": 1533}
		for _, call := range []struct{ counts, wantCounted bool }{{false, false}, {true, true}, {false, true}} {
			result.CountsForLeaderboards = call.counts
			m.must(m.MarkSettled(m.Context(), []match.Result{result}))
			if view := m.read(); view.Counted != call.wantCounted || view.Counted && !maps.Equal(view.Ratings, ratings) {
				m.Errorf("%+v: %+v", call, view.State)
			}
		}
	})
}
