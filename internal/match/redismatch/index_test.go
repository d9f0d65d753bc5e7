package redismatch

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
)

func TestListDue(t *testing.T) {
	each(t, func(p *testMatch) {
		check := func(before int64, want bool) {
			p.Helper()
			ids, err := p.ListDue(p.Context(), before)
			if err != nil || slices.Contains(ids, p.plan.ID) != want {
				p.Errorf("before %d: %v, %v", before, ids, err)
			}
		}
		check(epoch, false)
		check(epoch+1, true)
		open := p.applyStep(match.Open, 0)
		check(open.DueAt, false)
		check(open.DueAt+1, true)
		if err := p.RemoveIndex(p.Context(), p.plan.ID); err != nil {
			p.Fatal(err)
		}
		check(open.DueAt+1, false)
		if marks, err := p.ReadProgress(p.Context(), []string{p.plan.ID}); err != nil || len(marks) != 0 {
			p.Errorf("forgotten, and yet %v, %v", marks, err)
		}
	})
}

func TestReadProgress(t *testing.T) {
	each(t, func(p *testMatch) {
		ids := []string{"m_none", p.plan.ID}
		for range 20 { // in many partitions
			other := newPlan()
			if _, err := p.Create(p.Context(), other, duelState(), found(other)); err != nil {
				p.Fatal(err)
			}
			ids = append(ids, other.ID)
		}
		p.applyStep(match.Open, 0)
		marks, err := p.ReadProgress(p.Context(), ids)
		if err != nil || len(marks) != 21 || marks[p.plan.ID] != (match.Progress{Seq: 2, Version: 2}) || marks[ids[2]] != (match.Progress{Seq: 1, Version: 1}) {
			p.Errorf("%v, %v", marks, err)
		}
		for _, id := range ids[2:] {
			if err := p.RemoveIndex(p.Context(), id); err != nil {
				p.Error(err)
			}
		}
		if none, err := p.ReadProgress(p.Context(), nil); err != nil || len(none) != 0 {
			p.Errorf("%v, %v", none, err)
		}
	})
}

func TestResultsKeepToTheirLimit(t *testing.T) {
	each(t, func(p *testMatch) {
		var all []match.Result
		for range 10 {
			p.plan = newPlan()
			if _, err := p.Create(p.Context(), p.plan, duelState(), found(p.plan)); err != nil {
				p.Fatal(err)
			}
			p.applyStep(match.Over, 0)
			all = append(all, match.Result{Match: p.plan.ID})
		}
		for limit := 1; limit <= 10; limit++ {
			if got, err := p.Results(p.Context(), limit); err != nil || len(got) != limit {
				p.Errorf("%d of at most %d, %v", len(got), limit, err)
			}
		}
		if err := p.Settled(p.Context(), all); err != nil {
			p.Error(err)
		}
	})
}

// Every key of a match expires. The exceptions are the indexes, which steps and
// sweeps maintain, and results, which wait for the ledger.
func TestEveryKeyExpires(t *testing.T) {
	each(t, func(p *testMatch) {
		check := func(when string, longest time.Duration) {
			p.Helper()
			for _, key := range p.allKeys() {
				ttl, err := p.client.PTTL(p.Context(), key).Result()
				if err != nil || ttl <= 0 || ttl > longest && !strings.Contains(key, ":lock:") && key != p.keys.tomb() {
					p.Errorf("%s: %s lives for %v, %v", when, key, ttl, err)
				}
			}
		}
		check("countdown", 48*time.Hour)
		open := p.applyStep(match.Open, 0)
		p.commit(p.attempt(open, "p_ada", 10), match.Accepted)
		if n := len(p.allKeys()); n != 6 {
			p.Errorf("%d keys: %v", n, p.allKeys())
		}
		check("open", 48*time.Hour)
		p.applyStep(match.Sealed, 0)
		p.applyStep(match.Revealed, 0)
		p.applyStep(match.Over, 0)
		check("over", 360*time.Second)
		if err := p.Settled(p.Context(), []match.Result{{Match: p.plan.ID}}); err != nil {
			p.Fatal(err)
		}
		check("settled", 360*time.Second)
	})
}

// allKeys returns the keys that belong only to this match.
func (p *testMatch) allKeys() []string {
	p.Helper()
	var mu sync.Mutex
	var all []string
	p.eachMaster(func(ctx context.Context, c redis.Cmdable) error {
		keys, err := c.Keys(ctx, "*"+p.plan.ID+"*").Result()
		mu.Lock()
		defer mu.Unlock()
		all = append(all, keys...)
		return err
	})
	return all
}

func TestSeenQuestions(t *testing.T) {
	each(t, func(p *testMatch) {
		ada, bob := p.plan.ID+"_ada", p.plan.ID+"_bob" // ids that no other test uses
		if err := p.AddSeen(p.Context(), "demo", []string{ada, bob}, []string{"q_1", "q_2"}); err != nil {
			p.Fatal(err)
		}
		if err := p.AddSeen(p.Context(), "demo", []string{bob}, []string{"q_3"}); err != nil {
			p.Fatal(err)
		}
		for game, want := range map[string]map[string]int{"demo": {ada: 2, bob: 3, "nobody" + ada: 0}, "other": {ada: 0}} {
			for player, n := range want {
				seen, err := p.SeenQuestions(p.Context(), game, []string{player})
				if err != nil || len(seen) != n {
					p.Errorf("%s of %s saw %v, %v", player, game, seen, err)
				}
			}
		}
		if both, err := p.SeenQuestions(p.Context(), "demo", []string{ada, bob}); err != nil || len(both) != 3 {
			p.Errorf("%v, %v", both, err)
		}
		for range 4 {
			var many []string
			for i := range 100 {
				many = append(many, "q_"+strings.Repeat("x", i))
			}
			if err := p.AddSeen(p.Context(), "demo", []string{ada}, many); err != nil {
				p.Fatal(err)
			}
		}
		key := seenKey("demo", ada)
		if n := p.client.LLen(p.Context(), key).Val(); n != maxSeen {
			p.Errorf("%d are remembered", n)
		}
		if ttl := p.client.TTL(p.Context(), key).Val(); ttl <= 0 || ttl > seenTTL {
			p.Errorf("for %v", ttl)
		}
	})
}

func TestPartitions(t *testing.T) {
	t.Parallel()
	used := map[string]int{}
	for range 10_000 {
		used[newKeys(newPlan().ID).tag]++
	}
	for tag, n := range used {
		if n > 120 {
			t.Errorf("%s has %d of 10,000", tag, n)
		}
	}
	if len(used) != Partitions {
		t.Errorf("%d partitions are used", len(used))
	}
}

// The mark is stored with a match; nothing is stored if the match is gone.
func TestSetSettledNotified(t *testing.T) {
	each(t, func(p *testMatch) {
		ratings := map[string]int{"p_ada": 1533}
		if _, err := p.Read(p.Context(), match.ReadQuery{Match: p.plan.ID, Node: "n_1", After: -1}); err != nil {
			p.Fatal(err)
		}
		p.applyStep(match.Open, 0)
		p.applyStep(match.Over, 0)
		for range 2 {
			if p.read().SettledNotified {
				p.Error("told before it is")
			}
			nodes, err := p.SetSettledNotified(p.Context(), p.plan.ID, ratings)
			if v := p.read(); err != nil || !slices.Equal(nodes, []string{"n_1"}) || !v.SettledNotified || !maps.Equal(v.Ratings, ratings) {
				p.Errorf("%q, %v, %+v", nodes, err, v.State)
			}
			ratings = nil // as for an unrated match
			p.client.HDel(p.Context(), p.keys.match(), "told")
		}
		if nodes, err := p.SetSettledNotified(p.Context(), "m_none", nil); err != nil || len(nodes) != 0 || p.client.Exists(p.Context(), newKeys("m_none").match()).Val() != 0 {
			p.Errorf("%q, %v", nodes, err)
		}
	})
}
