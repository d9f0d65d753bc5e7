package ws

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"laststand/internal/identity"
	"laststand/internal/protocol"
)

// A revoked session is closed immediately, with the code of the reason; other sessions
// stay.
func TestRevokedSessionsAreClosed(t *testing.T) {
	n := startParallel(t)
	banned, revoked, erased, other := n.connectPlayer("bea"), n.connectPlayer("rob"), n.connectPlayer("eve"), n.connectPlayer("ada")
	n.identity.setRevoked("bea", &identity.BannedError{Reason: "two accounts"})
	n.identity.setRevoked("rob", identity.ErrTokenRevoked)
	n.identity.setRevoked("eve", identity.ErrErased)
	n.identity.setRevoked("absent", identity.ErrTokenRevoked)
	n.Recheck()
	if _, reason := banned.expectClose(4410); !strings.Contains(reason, "two accounts") {
		t.Errorf("banned without a reason: %q", reason)
	}
	revoked.expectClose(4401)
	erased.expectClose(4401)
	other.expectPong()
	n.eventually("the revoked sessions have ended", func() bool { return len(n.openSessions()) == 1 })
}

// A player whose token was revoked keeps the seat and continues with a new token. The
// opponent continues, too.
func TestPlayerResumesAfterRevocation(t *testing.T) {
	n := startParallel(t)
	playerA, playerB := n.startDuel("d")
	playerA.mayLoseReplies = true
	playerA.handle(playerA.expectFrame(protocol.TypeMatchFound))
	runConcurrently(func() { playerB.play(nil) }, func() {
		former := playerA.client
		n.identity.setRevoked(playerA.name, identity.ErrTokenRevoked)
		n.Recheck()
		former.expectClose(4401)
		n.identity.setRevoked(playerA.name, nil)
		n.reconnectAndResume(playerA)
		playerA.play(nil)
	})
	n.checkSameFrames(playerA, playerB, duel.Questions)
}

// A player who is banned between the check of the token and the welcome is closed.
func TestPlayerBannedDuringHelloIsClosed(t *testing.T) {
	n := startParallel(t)
	n.identity.setRevoked("bea", &identity.BannedError{Reason: "late"}) // only CheckActive returns it
	c := n.dialAndGreet("bea", nil)
	if frames, _ := c.expectClose(4410); len(frames) > 0 {
		t.Errorf("%s before the close frame", frames[0].raw)
	}
}

func TestBannedPlayerIsRefused(t *testing.T) {
	n := startParallel(t)
	for token, code := range map[string]int{"banned": 4410, "revoked": 4401} {
		c := n.dial()
		c.send(fmt.Sprintf(`{"id":1,"type":"hello","data":{"token":%q}}`, token))
		if _, reason := c.expectClose(code); reason == "" {
			t.Errorf("%s: closed without a reason", token)
		}
	}
}

// A host whose subject is erased is refused, even when the session's check no longer
// knows of the erasure.
func TestErasedHostIsRefused(t *testing.T) {
	n := startParallel(t)
	c := n.dial()
	c.sendRequest(protocol.TypeHello, protocol.Hello{Token: token(identity.RoleHost, "erased", now()+time.Hour.Milliseconds())})
	if frames, _ := c.expectClose(4401); len(frames) > 0 {
		t.Errorf("%s before the close frame", frames[0].raw)
	}
}

func TestCloseReasonFitsAFrame(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"short", strings.Repeat("x", 123), strings.Repeat("x", 124), strings.Repeat("é", 80), strings.Repeat("禁", 60)} {
		got := closeReason(text)
		if !strings.HasPrefix(text, got) || len(got) > 123 || !utf8.ValidString(got) || len(text) > 123 && len(got) < 120 {
			t.Errorf("%d bytes of %d: %q", len(got), len(text), got)
		}
	}
	if err := (&identity.BannedError{Reason: "x"}); !errors.Is(err, identity.ErrBanned) || errors.Is(err, identity.ErrToken) {
		t.Error("a ban counts as an invalid token")
	}
}

// The sessions of players that the ledger has lost are closed, but not those of others and of hosts.
func TestSessionsOfLostPlayersAreClosed(t *testing.T) {
	n := startParallel(t)
	n.dial() // has sent no hello
	lost, known := n.connectPlayer("eve"), n.connectPlayer("ada")
	failed := errors.New("down")
	if err := n.CloseUnknown(t.Context(), func(context.Context, string, []string) (map[string]string, error) { return nil, failed }); !errors.Is(err, failed) {
		t.Errorf("a failed look-up: %v", err)
	}
	lost.expectPong()
	find := func(_ context.Context, _ string, players []string) (map[string]string, error) {
		if len(players) != 2 {
			t.Errorf("looked up %q", players)
		}
		return map[string]string{"ada": "Ada"}, nil
	}
	if err := n.CloseUnknown(t.Context(), find); err != nil {
		t.Error(err)
	}
	lost.expectClose(4401)
	known.expectPong()
}
