package ws

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"laststand/internal/identity"
	"laststand/internal/protocol"
)

// Who is barred is closed at once, with the code of why; everybody else plays on.
func TestBarredSessionsEnd(t *testing.T) {
	t.Parallel()
	n := start(t)
	banned, revoked, erased, other := n.enter("bea"), n.enter("rob"), n.enter("eve"), n.enter("ada")
	n.people.bar("bea", &identity.BannedError{Reason: "two accounts"})
	n.people.bar("rob", identity.ErrTokenRevoked)
	n.people.bar("eve", identity.ErrErased)
	n.people.bar("nobody", identity.ErrTokenRevoked)
	n.Recheck()
	if _, reason := banned.closes(4410); !strings.Contains(reason, "two accounts") {
		t.Errorf("banned without a reason: %q", reason)
	}
	revoked.closes(4401)
	erased.closes(4401)
	other.alive()
	n.eventually("the barred have ended", func() bool { return len(n.all()) == 1 })
}

// A seat outlives a token: with a new one the player goes on. The other plays.
func TestRevokedComesBack(t *testing.T) {
	t.Parallel()
	n := start(t)
	a, b := n.duel("d")
	a.cuts = true
	a.handle(a.expect(protocol.TypeMatchFound))
	together(func() { b.play(nil) }, func() {
		former := a.client
		n.people.bar(a.name, identity.ErrTokenRevoked)
		n.Recheck()
		former.closes(4401)
		n.people.bar(a.name, nil)
		n.reenter(a)
		a.play(nil)
	})
	n.alike(a, b, duel.Questions)
}

// What is barred between the look at a token and the welcome is barred.
func TestBarredAmidHello(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.people.bar("bea", &identity.BannedError{Reason: "late"}) // only Stands knows
	c := n.dial()
	c.hello("bea", nil)
	if before, _ := c.closes(4410); len(before) > 0 {
		t.Errorf("%s came before", before[0].raw)
	}
}

func TestBannedHello(t *testing.T) {
	t.Parallel()
	n := start(t)
	for token, code := range map[string]int{"banned": 4410, "revoked": 4401} {
		c := n.dial()
		c.say(fmt.Sprintf(`{"id":1,"type":"hello","data":{"token":%q}}`, token))
		if _, reason := c.closes(code); reason == "" {
			t.Errorf("%s: closed without a reason", token)
		}
	}
}

// A host's token says nothing of an erasure that sessions have long ended for.
func TestAnErasedHostIsRefused(t *testing.T) {
	t.Parallel()
	n := start(t)
	c := n.dial()
	c.ask(protocol.TypeHello, protocol.Hello{Token: token(identity.RoleHost, "erased", now()+time.Hour.Milliseconds())})
	if before, _ := c.closes(4401); len(before) > 0 {
		t.Errorf("%s came before", before[0].raw)
	}
}

func TestCloseReasonFits(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"short", strings.Repeat("x", 123), strings.Repeat("x", 124), strings.Repeat("é", 80), strings.Repeat("禁", 60)} {
		got := closeReason(text)
		if !strings.HasPrefix(text, got) || len(got) > 123 || !utf8.ValidString(got) || len(text) > 123 && len(got) < 120 {
			t.Errorf("%d bytes of %d: %q", len(got), len(text), got)
		}
	}
	if err := (&identity.BannedError{Reason: "x"}); !errors.Is(err, identity.ErrBanned) || errors.Is(err, identity.ErrToken) {
		t.Error("a ban is no refusal of a token")
	}
}
