package redismatch

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"laststand/internal/match"
)

// The result of a large match waits for the ledger with everything that paging
// needs. It expires some time later.
func TestRankedPlayers(t *testing.T) {
	eachArena(t, match.Survival, func(p *testMatch) {
		p.plan.Arena.MaxPlayers = 600
		players := playerIDs(60)
		p.seat(players...)
		open := p.start()
		for i, player := range players { // later players are faster
			p.commit(p.attempt(open, player, int64(600-10*i)), match.Accepted)
		}
		p.next()
		p.applyStep(match.Sealed, 1)
		over := p.step(p.applyStep(match.Revealed, 1), match.Over, 1)
		over.Result.Paged = true
		if done, err := p.Step(p.Context(), over); err != nil || !done.Applied {
			p.Fatal(done, err)
		}
		p.addWatchers()
		p.expirePlayKeys()
		p.checkPages(players)
		p.checkEnds(func(key string, ttl time.Duration) bool {
			return slices.Contains(p.keys.rankingKeys(), key) == (ttl == -1)
		})
		if err := p.Settled(p.Context(), []match.Result{{Match: p.plan.ID, ArenaID: p.plan.Arena.ID}}); err != nil {
			p.Fatal(err)
		}
		p.checkPages(players)
		p.checkEnds(func(key string, ttl time.Duration) bool {
			return ttl > 0 && (ttl <= 6*time.Minute || ttl <= time.Hour && (key == p.keys.tomb() || strings.Contains(key, ":lock:")))
		})
	})
}

// If a result became a dead letter without its standings, the keys for paging
// stay for two days, because it may be requeued.
func TestAnIncompleteResultStaysReadable(t *testing.T) {
	eachArena(t, match.Survival, func(p *testMatch) {
		players := playerIDs(60)
		p.plan.Arena.MaxPlayers = 600
		p.seat(players...)
		p.commit(p.attempt(p.start(), players[0], 100), match.Accepted)
		p.next()
		p.applyStep(match.Sealed, 1)
		over := p.step(p.applyStep(match.Revealed, 1), match.Over, 1)
		over.Result.Paged, over.Result.Standings = true, nil
		if done, err := p.Step(p.Context(), over); err != nil || !done.Applied {
			p.Fatal(done, err)
		}
		if err := p.Settled(p.Context(), []match.Result{{Match: p.plan.ID, ArenaID: p.plan.Arena.ID, Paged: true}}); err != nil {
			p.Fatal(err)
		}
		for _, key := range p.keys.rankingKeys() {
			if ttl := p.client.PTTL(p.Context(), key).Val(); ttl != -2 && ttl < 47*time.Hour { // -2: no such key
				p.Errorf("%s lives for %v", key, ttl)
			}
		}
		r := *over.Result
		if err := match.CompleteStandings(p.Context(), p, &r); err != nil || len(r.Standings) != len(players) {
			p.Errorf("%v, %+v", err, r)
		}
	})
}

// addWatchers adds a node to a match without expiry.
func (p *testMatch) addWatchers() {
	p.Helper()
	if _, err := p.Read(p.Context(), match.ReadQuery{Match: p.plan.ID, Node: "n_late", After: -1}); err != nil {
		p.Fatal(err)
	}
}

// expirePlayKeys simulates the expiry of the keys after the end of a match.
func (p *testMatch) expirePlayKeys() {
	p.Helper()
	if err := p.client.Del(p.Context(), p.keys.playKeys()...).Err(); err != nil {
		p.Fatal(err)
	}
}

func (p *testMatch) checkPages(players []string) {
	p.Helper()
	v, err := p.Read(p.Context(), match.ReadQuery{Match: p.plan.ID, WantPlan: true, After: -1})
	if err != nil || v.Plan == nil || v.Phase != match.Over && v.Phase != match.Settled {
		p.Fatalf("%+v, %v", v, err)
	}
	var got []string
	for {
		page, err := p.RankedPlayers(p.Context(), p.plan.ID, len(got), 25)
		if err != nil {
			p.Fatal(err)
		}
		for _, one := range page {
			want := match.Totals{
				Score: 190, Correct: 1, Answered: 1, LastCorrect: 1, LastAnswered: 1,
				SavedMS: 9400 + 10*int64(slices.Index(players, one.Seat.Player)),
			}
			if one.Totals != want || one.Seat.Nickname != "Nick of "+one.Seat.Player || one.Seat.Team == "" {
				p.Errorf("%+v, want %+v", one, want)
			}
			got = append(got, one.Seat.Player)
		}
		if len(page) < 25 {
			break
		}
	}
	slices.Reverse(got)
	if !reflect.DeepEqual(got, players) {
		p.Errorf("%v", got)
	}
}

func (p *testMatch) checkEnds(right func(key string, ttl time.Duration) bool) {
	p.Helper()
	for _, key := range p.allKeys() {
		if ttl := p.client.PTTL(p.Context(), key).Val(); !right(key, ttl) {
			p.Errorf("%s lives for %v", key, ttl)
		}
	}
}

// The result of a small match is complete, and the match ends like a duel.
func TestASmallArenaEnds(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		p.seat("p_ada", "p_bob")
		p.race(p.first(p.start(), "p_ada", 10), match.Accepted)
		p.applyStep(match.Revealed, 0)
		p.applyStep(match.Over, 0)
		p.checkEnds(func(key string, ttl time.Duration) bool {
			return ttl > 0 && (ttl <= 6*time.Minute || ttl <= time.Hour && (key == p.keys.tomb() || strings.Contains(key, ":lock:")))
		})
	})
}

func TestRankedPlayersOfNoMatch(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		for _, limit := range []int{-1, 0, 10, 10_000} {
			if page, err := p.RankedPlayers(p.Context(), p.plan.ID, 0, limit); err != nil || len(page) != 0 {
				p.Errorf("%v, %v", page, err)
			}
		}
		p.plan.Arena.MaxPlayers = 501
		p.seat(playerIDs(501)...)
		for from, want := range map[int]int{0: 500, 1: 500, 2: 499, 500: 1, 501: 0} {
			if page, err := p.RankedPlayers(p.Context(), p.plan.ID, from, 10_000); err != nil || len(page) != want {
				p.Errorf("from %d: %d, %v", from, len(page), err)
			}
		}
		if _, err := p.Read(p.Context(), match.ReadQuery{Match: p.plan.ID, Players: playerIDs(501)}); err == nil {
			p.Error("501 players are read at once")
		}
		v, err := p.Read(p.Context(), match.ReadQuery{Match: p.plan.ID, Players: playerIDs(500), WantRanks: true, WantListed: true})
		if err != nil || len(v.Ranks) != 500 || len(v.Totals) < 500 {
			p.Errorf("%d ranks, %d totals, %v", len(v.Ranks), len(v.Totals), err)
		}
	})
}
