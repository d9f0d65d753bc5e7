package main

import (
	"errors"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	player "laststand/loadtest/players"
)

// slowDuelsConfig is a configuration of duels whose questions wait until both players have
// answered.
const slowDuelsConfig = `
games:
  demo:
    duel: {questions: 3, time_limit_ms: 60000, countdown_ms: 0, reveal_ms: 0, bot_after_ms: 0}
limits: {messages_per_second: 1000, guests_per_minute_per_address: 0}
`

// playerPair are two players in a duel.
type playerPair [2]*player.Player

// newPlayerPair pairs two new players, and returns the match.
func newPlayerPair(t *testing.T, url string) (players playerPair, match string) {
	t.Helper()
	for i := range players {
		players[i] = newPlayer(t, url)
		request(t, players[i], protocol.TypeDuelJoin, protocol.DuelJoin{Lang: "en"})
	}
	for _, p := range players {
		match = readUntil(t, p, "match.found", func(f checker.Frame) bool { return f.Type == protocol.TypeMatchFound }).Match
	}
	return players, match
}

// finishMatch answers the questions from a given one to the end, and returns the end.
func (players playerPair) finishMatch(t *testing.T, match string, from, questions int) (over protocol.MatchOver) {
	t.Helper()
	for q := from; q < questions; q++ {
		for _, p := range players {
			asked := readPush[protocol.Question](t, p, protocol.TypeQuestion)
			if asked.Question != q {
				t.Fatalf("question %d was asked, want question %d", asked.Question, q)
			}
			if f := answer(t, p, match, asked); f.Type != protocol.TypeAnswered {
				t.Fatalf("an answer was answered with %s", f.Raw)
			}
		}
	}
	readPush[protocol.MatchOver](t, players[1], protocol.TypeMatchOver)
	return readPush[protocol.MatchOver](t, players[0], protocol.TypeMatchOver)
}

func answer(t *testing.T, p *player.Player, match string, asked protocol.Question) checker.Frame {
	t.Helper()
	return request(t, p, protocol.TypeAnswer, protocol.Answer{Match: match, Question: &asked.Question, Given: player.ArbitraryAnswer(asked)})
}

// readClose waits for the end of a connection and returns its code.
func readClose(t *testing.T, p *player.Player) int {
	t.Helper()
	for {
		_, err := p.Read(30 * time.Second)
		if closeErr, ok := errors.AsType[*websocket.CloseError](err); ok {
			return closeErr.Code
		}
		if err != nil {
			t.Fatalf("the connection ended without a code: %v", err)
		}
	}
}

// checkProfiles compares the profiles of two players with the end of their only match.
func checkProfiles(t *testing.T, url string, over protocol.MatchOver) {
	t.Helper()
	for _, s := range over.Standings {
		var profile struct{ Score, Matches, Asked int64 }
		get(t, url+"/v1/games/demo/players/"+s.Player, &profile)
		if profile.Matches != 1 || profile.Score != s.Score || profile.Asked != int64(s.Asked) {
			t.Errorf("the profile has %+v, the match has %+v", profile, s)
		}
	}
}

// SIGTERM notifies all clients. The server closes idle sessions immediately and sessions of players
// when their match is over. It stores the result, and the process ends with 0.
func TestAStopWaitsForMatches(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		flags := append(ledgerFlags(db), "--config="+configFile(t, slowDuelsConfig))
		p := startProcess(t, flags...)
		idle := newPlayer(t, p.url)
		players, match := newPlayerPair(t, p.url)

		p.signal(syscall.SIGTERM)
		readPush[protocol.Draining](t, idle, protocol.TypeDraining)
		if code := readClose(t, idle); code != protocol.CloseDraining {
			t.Errorf("an idle player was closed with %d", code)
		}
		if status := get(t, p.url+"/readyz", nil); status != http.StatusServiceUnavailable {
			t.Errorf("/readyz of a stopping node returns %d", status)
		}
		if status := get(t, p.url+"/healthz", nil); status != http.StatusOK {
			t.Errorf("/healthz of a stopping node returns %d", status)
		}
		over := players.finishMatch(t, match, 0, 3)
		for _, playing := range players {
			if code := readClose(t, playing); code != protocol.CloseDraining {
				t.Errorf("after the match a player was closed with %d", code)
			}
		}
		if code := p.wait(t); code != 0 {
			t.Errorf("the process ended with %d\n%s", code, p.log)
		}
		checkProfiles(t, startProcess(t, flags...).url, over)
	})
}

// A stop waits at most for the time of --drain.
func TestAStopWaitsNoLongerThanTheDrain(t *testing.T) {
	t.Parallel()
	p := startProcess(t, "--data="+t.TempDir(), "--drain=500ms", "--config="+configFile(t, slowDuelsConfig))
	players, _ := newPlayerPair(t, p.url)
	p.signal(syscall.SIGTERM)
	for _, playing := range players {
		readPush[protocol.Draining](t, playing, protocol.TypeDraining)
		if code := readClose(t, playing); code != protocol.CloseDraining {
			t.Errorf("a player was closed with %d", code)
		}
	}
	if code := p.wait(t); code != 0 {
		t.Errorf("the process ended with %d\n%s", code, p.log)
	}
}

// A second signal ends the process immediately, although the stop still waits for matches.
func TestASecondSignalEndsTheProcessImmediately(t *testing.T) {
	t.Parallel()
	p := startProcess(t, "--data="+t.TempDir(), "--drain=1h", "--config="+configFile(t, slowDuelsConfig))
	players, _ := newPlayerPair(t, p.url)
	p.signal(syscall.SIGINT)
	readPush[protocol.Draining](t, players[0], protocol.TypeDraining)
	waitUntil(t, "the process ends", func() bool {
		p.signal(syscall.SIGINT) // again: the server may miss the first while it still announces the stop
		select {
		case <-p.exited:
			return true
		default:
			return false
		}
	})
	if code := p.wait(t); code == 0 {
		t.Error("the exit code 0 reports an interrupted stop as a clean one")
	}
}

// A kill during a match loses no settled result, and every player can play again.
func TestAKillLosesNothingSettled(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		flags := append(ledgerFlags(db), "--config="+configFile(t, fastDuelsConfig))
		p := startProcess(t, flags...)
		transcripts := playDuels(t, p.url, 5)
		players, _ := newPlayerPair(t, p.url)
		readPush[protocol.Question](t, players[0], protocol.TypeQuestion)
		p.signal(syscall.SIGKILL)
		p.wait(t)

		p = startProcess(t, flags...)
		checkStoredResults(t, p.url, transcripts)
		for i, disconnected := range players {
			var profile struct{ Matches int }
			if status := get(t, p.url+"/v1/games/demo/players/"+disconnected.ID, &profile); status != http.StatusOK || profile.Matches != 0 {
				t.Errorf("a player cut off in a match: %d, %+v", status, profile)
			}
			players[i] = connect(t, p.url, disconnected.Guest)
			request(t, players[i], protocol.TypeDuelJoin, protocol.DuelJoin{Lang: "en"})
		}
		match := readUntil(t, players[0], "match.found", func(f checker.Frame) bool { return f.Type == protocol.TypeMatchFound }).Match
		over := players.finishMatch(t, match, 0, duelQuestions)
		readPush[protocol.Settled](t, players[0], protocol.TypeSettled)
		checkProfiles(t, p.url, over)
	})
}
