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
	"laststand/loadtest/player"
)

// slow is a configuration whose duels last until all have answered.
const slow = `
games:
  demo:
    duel: {questions: 3, time_limit_ms: 60000, countdown_ms: 0, reveal_ms: 0, bot_after_ms: 0}
limits: {messages_per_second: 1000, guests_per_minute_per_address: 0}
`

// pair are two players in a duel.
type pair [2]*player.Player

// newPair has two new players meet, and gives the match.
func newPair(t *testing.T, url string) (both pair, match string) {
	t.Helper()
	for i := range both {
		both[i] = newPlayer(t, url)
		ask(t, both[i], protocol.TypeDuelJoin, protocol.DuelJoin{Lang: "en"})
	}
	for _, p := range both {
		match = await(t, p, "match.found", func(f player.Frame) bool { return f.Type == protocol.TypeMatchFound }).Match
	}
	return both, match
}

// finish answers the questions from one on to the end, which it gives.
func (both pair) finish(t *testing.T, match string, from, questions int) (over protocol.MatchOver) {
	t.Helper()
	for q := from; q < questions; q++ {
		for _, p := range both {
			asked := push[protocol.Question](t, p, protocol.TypeQuestion)
			if asked.Question != q {
				t.Fatalf("question %d was asked, and %d is due", asked.Question, q)
			}
			if f := answer(t, p, match, asked); f.Type != protocol.TypeAnswered {
				t.Fatalf("an answer got %s", f.Raw)
			}
		}
	}
	push[protocol.MatchOver](t, both[1], protocol.TypeMatchOver)
	return push[protocol.MatchOver](t, both[0], protocol.TypeMatchOver)
}

func answer(t *testing.T, p *player.Player, match string, asked protocol.Question) player.Frame {
	t.Helper()
	return ask(t, p, protocol.TypeAnswer, protocol.Answer{Match: match, Question: &asked.Question, Given: player.Guess(asked)})
}

// closed waits for the end of a connection and gives its code.
func closed(t *testing.T, p *player.Player) int {
	t.Helper()
	for {
		_, err := p.Read(30 * time.Second)
		if why, ok := errors.AsType[*websocket.CloseError](err); ok {
			return why.Code
		}
		if err != nil {
			t.Fatalf("the connection ended without a code: %v", err)
		}
	}
}

// kept holds what the server has of two players against the end of their only
// match.
func kept(t *testing.T, url string, over protocol.MatchOver) {
	t.Helper()
	for _, s := range over.Standings {
		var profile struct{ Score, Matches, Asked int64 }
		get(t, url+"/v1/games/demo/players/"+s.Player, &profile)
		if profile.Matches != 1 || profile.Score != s.Score || profile.Asked != int64(s.Asked) {
			t.Errorf("the profile says %+v, the match said %+v", profile, s)
		}
	}
}

// SIGTERM tells everybody, closes the idle at once and the players when their
// match is over; what they played is kept, and the process ends with 0.
func TestAStopWaitsForMatches(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		flags := append(ledgerOf(db), "--config="+configFile(t, slow))
		p := startProcess(t, flags...)
		idle := newPlayer(t, p.url)
		both, match := newPair(t, p.url)

		p.signal(syscall.SIGTERM)
		push[protocol.Draining](t, idle, protocol.TypeDraining)
		if code := closed(t, idle); code != protocol.CloseDraining {
			t.Errorf("an idle player was closed with %d", code)
		}
		if status := get(t, p.url+"/readyz", nil); status != http.StatusServiceUnavailable {
			t.Errorf("a node that leaves says %d of its readiness", status)
		}
		if status := get(t, p.url+"/healthz", nil); status != http.StatusOK {
			t.Errorf("a node that leaves says %d of its health", status)
		}
		over := both.finish(t, match, 0, 3)
		for _, playing := range both {
			if code := closed(t, playing); code != protocol.CloseDraining {
				t.Errorf("after the match a player was closed with %d", code)
			}
		}
		if code := p.wait(t); code != 0 {
			t.Errorf("the process ended with %d\n%s", code, p.log)
		}
		kept(t, startProcess(t, flags...).url, over)
	})
}

// A stop waits no longer than --drain.
func TestAStopWaitsNoLongerThanTheDrain(t *testing.T) {
	t.Parallel()
	p := startProcess(t, "--data="+t.TempDir(), "--drain=500ms", "--config="+configFile(t, slow))
	both, _ := newPair(t, p.url)
	p.signal(syscall.SIGTERM)
	for _, playing := range both {
		push[protocol.Draining](t, playing, protocol.TypeDraining)
		if code := closed(t, playing); code != protocol.CloseDraining {
			t.Errorf("a player was closed with %d", code)
		}
	}
	if code := p.wait(t); code != 0 {
		t.Errorf("the process ended with %d\n%s", code, p.log)
	}
}

// A second signal ends at once a stop that waits.
func TestASecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	p := startProcess(t, "--data="+t.TempDir(), "--drain=1h", "--config="+configFile(t, slow))
	both, _ := newPair(t, p.url)
	p.signal(syscall.SIGINT)
	push[protocol.Draining](t, both[0], protocol.TypeDraining)
	eventually(t, "the process ends", func() bool {
		p.signal(syscall.SIGINT) // again: the first may come while the last is being told
		select {
		case <-p.ended:
			return true
		default:
			return false
		}
	})
	if code := p.wait(t); code == 0 {
		t.Error("a stop cut short counts as one in order")
	}
}

// A kill in mid-match loses nothing that was settled, and nobody is stuck.
func TestAKillLosesNothingSettled(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		flags := append(ledgerOf(db), "--config="+configFile(t, fast))
		p := startProcess(t, flags...)
		games := playPairs(t, p.url, 5)
		both, _ := newPair(t, p.url)
		push[protocol.Question](t, both[0], protocol.TypeQuestion)
		p.signal(syscall.SIGKILL)
		p.wait(t)

		p = startProcess(t, flags...)
		checkKept(t, p.url, games)
		for i, cut := range both {
			var profile struct{ Matches int }
			if status := get(t, p.url+"/v1/games/demo/players/"+cut.ID, &profile); status != http.StatusOK || profile.Matches != 0 {
				t.Errorf("a player cut off in a match: %d, %+v", status, profile)
			}
			both[i] = connect(t, p.url, cut.Guest)
			ask(t, both[i], protocol.TypeDuelJoin, protocol.DuelJoin{Lang: "en"})
		}
		match := await(t, both[0], "match.found", func(f player.Frame) bool { return f.Type == protocol.TypeMatchFound }).Match
		over := both.finish(t, match, 0, questions)
		push[protocol.Settled](t, both[0], protocol.TypeSettled)
		kept(t, p.url, over)
	})
}
