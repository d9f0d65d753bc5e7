package main

import (
	"encoding/json"
	"testing"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	player "laststand/loadtest/players"
)

// newPlayer connects a new guest until the test ends.
func newPlayer(t *testing.T, url string) *player.Player {
	t.Helper()
	g := testenv.Need(player.CreateGuest(t.Context(), url, "demo", ""))(t)
	return connect(t, url, g)
}

func connect(t *testing.T, url string, g player.Guest) *player.Player {
	t.Helper()
	p := testenv.Need(player.Connect(t.Context(), url, g, nil))(t)
	t.Cleanup(func() { p.Close() })
	return p
}

// joinDuel requests a duel in a language, and returns the reply.
func joinDuel(t *testing.T, p *player.Player, lang string) checker.Frame {
	t.Helper()
	noBot := int64(0)
	return request(t, p, protocol.TypeDuelJoin, protocol.DuelJoin{Lang: lang, BotAfterMS: &noBot})
}

// request sends a request and returns its reply. It ignores pushes before the reply.
func request(t *testing.T, p *player.Player, kind string, data any) checker.Frame {
	t.Helper()
	id := testenv.Need(p.Send(kind, data))(t)
	return readUntil(t, p, "the reply to "+kind, func(f checker.Frame) bool { return f.Re != nil && *f.Re == id })
}

// readUntil reads until the expected frame arrives.
func readUntil(t *testing.T, p *player.Player, description string, isWanted func(checker.Frame) bool) checker.Frame {
	t.Helper()
	for {
		f, err := p.Read(30 * time.Second)
		if err != nil {
			t.Fatalf("%s did not arrive: %v", description, err)
		}
		if isWanted(f) {
			return f
		}
	}
}

// readPush waits for a push of a kind and reads its data.
func readPush[T any](t *testing.T, p *player.Player, kind string) (data T) {
	t.Helper()
	readData(t, readUntil(t, p, kind, func(f checker.Frame) bool { return f.Type == kind }), &data)
	return data
}

// readData reads the data of a frame.
func readData(t *testing.T, f checker.Frame, into any) {
	t.Helper()
	if err := json.Unmarshal(f.Data, into); err != nil {
		t.Fatalf("%v: %s", err, f.Raw)
	}
}

func decodeAnswered(t *testing.T, f checker.Frame) (a protocol.Answered) {
	t.Helper()
	if f.Type != protocol.TypeAnswered {
		t.Fatalf("an answer was answered with %s", f.Raw)
	}
	readData(t, f, &a)
	return a
}

func decodeError(t *testing.T, f checker.Frame) (e protocol.Error) {
	t.Helper()
	if f.Type != protocol.TypeError {
		t.Fatalf("want an error, got %s", f.Raw)
	}
	readData(t, f, &e)
	return e
}
