package main

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"laststand/internal/cli"
	"laststand/internal/leaderboard"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
	player "laststand/loadtest/players"
)

// voidedRace is a race in which the host and then an operator make questions void.
type voidedRace struct {
	clients []*matchClient // the players
	match   string
	voided  map[int]bool
}

const voidedRaceQuestions = 5

// isRight is the plan of player i.
func (voidedRace) isRight(i, question int) bool { return (i+2*question)%3 != 0 }

// wantScore returns the score of player i without the void questions. A right answer scores 100
// and 10 for each right answer in a row before it; a wrong one costs 70.
func (r voidedRace) wantScore(i int) (score int64) {
	streak := int64(0)
	for question := range voidedRaceQuestions {
		switch {
		case r.voided[question]:
		case r.isRight(i, question):
			score += 100 + 10*streak
			streak++
		default:
			score, streak = max(score-70, 0), 0
		}
	}
	return score
}

// check checks the profile, history, leaderboard entry and answers of each player.
func (r voidedRace) check(t *testing.T, url string) {
	t.Helper()
	game := url + "/v1/games/demo"
	var stored struct {
		Questions int
		Voided    []int
		Standings []protocol.OverStanding
	}
	get(t, game+"/matches/"+r.match, &stored)
	if stored.Questions != voidedRaceQuestions-len(r.voided) || len(stored.Voided) != len(r.voided) {
		t.Errorf("the match has %d questions, void %v", stored.Questions, stored.Voided)
	}
	for place, s := range stored.Standings {
		if place > 0 && s.Score > stored.Standings[place-1].Score {
			t.Errorf("place %d: %+v", place, stored.Standings)
		}
	}
	for i, c := range r.clients {
		want := r.wantScore(i)
		profile := getProfile(t, url, "demo", c.id)
		var history struct{ Matches []struct{ Score int64 } }
		get(t, game+"/players/"+c.id+"/matches", &history)
		var standing leaderboard.Standing
		get(t, game+"/leaderboards/day/"+c.id, &standing)
		if profile.Score != want || history.Matches[0].Score != want || standing.Score != want || standing.Asked != int64(stored.Questions) {
			t.Errorf("player %d: profile %d, history %+v, leaderboard %+v, want the score %d", i, profile.Score, history, standing, want)
		}
		_, own := requestJSON(t, "GET", game+"/matches/"+r.match+"/answers", c.Token, nil)
		sum := int64(0)
		for number, question := range own["questions"].([]any) {
			fields := question.(map[string]any)
			sum += int64(fields["points"].(float64))
			if isVoid := fields["void"] == true; isVoid != r.voided[number] || isVoid && fields["given"] != nil {
				t.Errorf("player %d, question %d: %v", i, number, fields)
			}
		}
		if sum != want {
			t.Errorf("the answers of player %d have %d points, want %d", i, sum, want)
		}
	}
}

// waitForCorrections waits until each player was told the new score and rank.
func (r voidedRace) waitForCorrections(t *testing.T, question int) {
	t.Helper()
	for i, c := range r.clients {
		var corrected protocol.MatchCorrected
		for corrected.Match == "" {
			f := testenv.Need(c.Read(time.Minute))(t)
			if f.Type == protocol.TypeMatchCorrected {
				readData(t, f, &corrected)
			}
		}
		rank := 1
		for other := range r.clients {
			if r.wantScore(other) > r.wantScore(i) {
				rank++
			}
		}
		if want := (protocol.MatchCorrected{Match: r.match, Question: question, Score: r.wantScore(i), Rank: corrected.Rank}); corrected != want || corrected.Rank < rank {
			t.Errorf("player %d was told %+v, want %+v and at least rank %d", i, corrected, want, rank)
		}
	}
}

// After a race its host and then an operator make a question void. Connected players at all
// nodes are told; history, profiles, answers, report and leaderboards change, and the
// leaderboards equal those that are built from the ledger.
func TestVoidQuestionsReachEverything(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		cache := testenv.Redis(t).URL
		flags := cli.Flags{Config: configFile(t, fastArenasConfig), Data: &db.Dir, Database: &db.URL, Redis: &cache}
		node := startNode(t, flags)
		urls := []string{node.url}
		if db.URL != "" {
			urls = append(urls, startNode(t, flags).url)
		}
		host := node.token(t, "host", "quizmaster")
		race, arenaID := playVoidedRace(t, urls, host)
		url := urls[len(urls)-1]
		voids := url + "/v1/games/demo/arenas/" + arenaID + "/voids"
		for token, want := range map[string]int{race.clients[0].Token: http.StatusForbidden, node.token(t, "host", "other"): http.StatusForbidden} {
			if status, problem := requestJSON(t, "POST", voids, token, map[string]int{"question": 1}); status != want {
				t.Errorf("%d %v, want %d", status, problem, want)
			}
		}
		race.check(t, url)

		if status, answer := requestJSON(t, "POST", voids, host, map[string]any{"question": 1, "reason": "two right answers"}); status != http.StatusOK || answer["new"] != true {
			t.Fatalf("%d %v", status, answer)
		}
		race.voided[1] = true
		race.waitForCorrections(t, 1)
		race.check(t, url)

		run := func(wantOutput string, args ...string) {
			t.Helper()
			checkContains(t, node.run(t, 0, append(args, "--game=demo")...), wantOutput)
		}
		run("question 3 is void", "matches", "void", "--match="+race.match, "--question=3", "--reason=a wrong picture")
		race.voided[3] = true
		race.waitForCorrections(t, 3)
		run("question 3 was void before", "matches", "void", "--match="+race.match, "--question=3", "--reason=again")
		race.check(t, node.url)
		run(": 0 differences", "boards", "verify")
		run("new leaderboards are served", "boards", "rebuild", "--wait")
		run(": 0 differences", "boards", "verify")
		race.check(t, node.url)
		checkVoidReport(t, race, node.url+"/v1/games/demo/arenas/"+arenaID+"/report", host)
	})
}

// playVoidedRace plays a ranked race on all nodes until it is settled and its answers are stored.
func playVoidedRace(t *testing.T, urls []string, host string) (race voidedRace, arenaID string) {
	t.Helper()
	created := createArena(t, urls[0], host, protocol.NewArena{
		Mode: "race", Name: "Friday", Pace: "auto", Ranked: true, Questions: protocol.ArenaQuestions{Count: voidedRaceQuestions},
		Scoring: &protocol.NewScoring{Preset: "accuracy", Penalty: 70, Streak: 10},
	})
	hostClient := newMatchClient(t, urls[0], player.Guest{ID: "quizmaster", Token: host})
	request(t, hostClient.Player, protocol.TypeArenaJoin, protocol.ArenaJoin{Code: created.Code, As: "host"})
	race.voided = map[int]bool{}
	key := newAnswerKey(t)
	for i, guest := range newGuests(t, urls, 4) {
		c := joinArena(t, urls[i%len(urls)], guest, protocol.ArenaJoin{Code: created.Code})
		c.key, c.waitForSettled = key, true
		c.plan = func(question int) (right, silent bool) { return race.isRight(i, question), false }
		race.clients = append(race.clients, c)
	}
	hostClient.mustRequest(t, protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: created.ArenaID})
	playAll(t, race.clients)
	race.match = race.clients[0].match
	waitUntil(t, "the answers are stored", func() bool {
		status, _ := requestJSON(t, "GET", fmt.Sprintf("%s/v1/games/demo/matches/%s/answers", urls[0], race.match), race.clients[0].Token, nil)
		return status == http.StatusOK
	})
	return race, created.ArenaID
}

// checkVoidReport checks the questions of the report.
func checkVoidReport(t *testing.T, race voidedRace, url, token string) {
	t.Helper()
	status, body := requestJSON(t, "GET", url, token, nil)
	if status != http.StatusOK {
		t.Fatalf("%d %v", status, body)
	}
	for number, question := range body["questions"].([]any) {
		fields := question.(map[string]any)
		if isVoid := fields["void"] == true; isVoid != race.voided[number] || isVoid != (fields["answered"] == 0.0) {
			t.Errorf("question %d of the report: %v", number, fields)
		}
	}
	last := -1.0
	for _, entry := range body["players"].([]any) {
		fields := entry.(map[string]any)
		score := fields["score"].(float64)
		if last >= 0 && score > last {
			t.Errorf("the report is not in the order of ranks: %v", body["players"])
		}
		last = score
	}
}
