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

// SIGTERM notifies all clients. The server closes idle sessions immediately and sessions of players
// when their match is over. It stores the result, and the process ends with 0.
func TestAStopWaitsForMatches(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		flags := append(ledgerFlags(db), "--config="+configFile(t, slowDuelsConfig))
		p := startProcess(t, flags...)
		idle := newPlayer(t, p.url)
		duel := startDuel(t, p.url, p.url, "demo")

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
		playToEnd(t, duel[:]...)
		for _, playing := range duel {
			if code := readClose(t, playing.Player); code != protocol.CloseDraining {
				t.Errorf("after the match a player was closed with %d", code)
			}
		}
		if code := p.wait(t); code != 0 {
			t.Errorf("the process ended with %d\n%s", code, p.log)
		}
		checkSettledOnce(t, startProcess(t, flags...).url, "demo", duel[0].over)
	})
}

// A stop waits at most for the time of --drain.
func TestAStopWaitsNoLongerThanTheDrain(t *testing.T) {
	t.Parallel()
	p := startProcess(t, "--data="+t.TempDir(), "--drain=500ms", "--config="+configFile(t, slowDuelsConfig))
	duel := startDuel(t, p.url, p.url, "demo")
	p.signal(syscall.SIGTERM)
	for _, playing := range duel {
		playing.readUntilPush(t, protocol.TypeDraining)
		if code := readClose(t, playing.Player); code != protocol.CloseDraining {
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
	duel := startDuel(t, p.url, p.url, "demo")
	p.signal(syscall.SIGINT)
	duel[0].readUntilPush(t, protocol.TypeDraining)
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
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		flags := append(ledgerFlags(db), "--config="+configFile(t, fastDuelsConfig))
		p := startProcess(t, flags...)
		settled := playDuels(t, p.url, 5)
		cutOff := startDuel(t, p.url, p.url, "demo")
		cutOff[0].readUntilPush(t, protocol.TypeQuestion)
		p.signal(syscall.SIGKILL)
		p.wait(t)

		p = startProcess(t, flags...)
		checkStoredResults(t, p.url, settled)
		checkUnsettled(t, p.url, "demo", cutOff[:]...)
		again := pairUp(t, cutOff[0].newClientAt(t, p.url), cutOff[1].newClientAt(t, p.url)).waitForMatch(t)
		again[0].waitForSettled = true
		playToEnd(t, again[:]...)
		checkSettledOnce(t, p.url, "demo", again[0].over)
	})
}
