package lobby

import (
	"context"
	"errors"
	"testing"
	"time"

	"laststand/internal/protocol"
)

// code is the wire code of an error: "" for nil, "failed" for an error that is
// not a refusal.
func code(err error) string {
	if err == nil {
		return ""
	}
	return codeOf(err)
}

func TestJoin(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		first, then, err := n.Join(w.Context(), Request{Game: "demo", Player: "ada", Filter: Filter{Lang: "en"}})
		if err != nil || first.Waiting != 1 || first.Ticket == "" {
			w.Fatalf("%+v, %v", first, err)
		}
		then()
		second, _, err := n.Join(w.Context(), Request{Game: "demo", Player: "bob", Filter: Filter{Lang: "zh-CN"}})
		if err != nil || second.Waiting != 2 || second.Ticket == first.Ticket {
			w.Errorf("%+v, %v", second, err)
		}
		stored := w.store.tickets[first.Ticket]
		if stored.Seat.Nickname != "ada" || stored.Filter.Lang != "en" || stored.JoinedAt != now() || stored.BotAt != now()+8000 || stored.Rating() != 1500 {
			w.Errorf("%+v", stored)
		}
	})
}

// The reply comes first. No player is attached before the returned function
// runs.
func TestTheReplyComesBeforeTheMatch(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		w.mustJoin(n, "ada")
		n.addPlayer("bob")
		_, then, err := n.Join(w.Context(), Request{Game: "demo", Player: "bob"})
		if err != nil {
			w.Fatal(err)
		}
		w.checkWaits(n, "bob")
		then()
		w.plan(n, "bob")
	})
}

func TestJoinRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(w *cluster, n *node)
		tune   []func(*Request)
		want   string
	}{
		"a wish too narrow":   {nil, []func(*Request){withFilter(Filter{Category: "chess"})}, "bad_request"},
		"a negative wait":     {nil, []func(*Request){botAfter(-1)}, "bad_request"},
		"a wait too long":     {nil, []func(*Request){botAfter(maxBotAfterMS + 1)}, "bad_request"},
		"the longest wait":    {nil, []func(*Request){botAfter(maxBotAfterMS)}, ""},
		"too much is waiting": {func(_ *cluster, n *node) { n.matches.full = true }, nil, "overloaded"},
		"queued":              {func(w *cluster, n *node) { w.mustJoin(n, "ada") }, nil, "already_queued"},
		"playing":             {func(w *cluster, n *node) { w.mustJoin(n, "ada"); w.mustJoin(n, "bob") }, nil, "already_playing"},
		"the store is down":   {func(_ *cluster, n *node) { n.link.set(func(string) fault { return fails }) }, nil, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *cluster) {
				n := w.node()
				if c.before != nil {
					c.before(w, n)
				}
				err := n.join("ada", c.tune...)
				if code(err) != c.want {
					w.Fatalf("%v, want %q", err, c.want)
				}
				var refused *protocol.Error
				if c.want == "already_playing" && (!errors.As(err, &refused) || refused.Match != n.matches.match("ada")) {
					w.Errorf("%+v", refused)
				}
				if c.want == "overloaded" && (!errors.As(err, &refused) || refused.RetryAfterMS == 0) {
					w.Errorf("%+v", refused)
				}
			})
		})
	}
}

// lastMatch gives a player a finished match.
func (w *cluster) lastMatch(n *node, unsettled bool) string {
	w.Helper()
	w.mustJoin(n, "ada")
	w.mustJoin(n, "bob")
	id := w.plan(n, "ada").ID
	w.records.mu.Lock()
	defer w.records.mu.Unlock()
	w.records.over[id], w.records.unsettled[id] = true, unsettled
	return id
}

func TestJoinAfterAMatchThatIsSettled(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		former := w.lastMatch(n, false)
		w.mustJoin(n, "ada")
		w.mustJoin(n, "bob")
		if id := w.plan(n, "ada").ID; id == former {
			w.Error("the same match again")
		}
	})
}

// A rating is read only after the last result is committed.
func TestJoinWaitsForTheLastResult(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		id := w.lastMatch(n, true)
		began := now()
		time.AfterFunc(time.Second, func() {
			w.records.mu.Lock()
			defer w.records.mu.Unlock()
			w.records.unsettled[id] = false
		})
		w.mustJoin(n, "ada")
		if waited := now() - began; waited < 1000 || waited > 1030 {
			w.Errorf("let in after %d ms", waited)
		}
	})
}

// A player who joined and left an arena after a duel still waits for the result
// of the duel.
func TestJoinWaitsForTheLastDuel(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		id := w.lastMatch(n, true)
		if with, _, err := n.Occupy(w.Context(), "demo", "ada", "m_arena", id); err != nil || with != "" {
			w.Fatal(with, err)
		}
		if err := n.Free(w.Context(), "demo", "ada", "m_arena"); err != nil {
			w.Fatal(err)
		}
		if unsettled, err := n.IsUnsettled(w.Context(), "demo", "ada"); err != nil || !unsettled {
			w.Errorf("unsettled %t, %v", unsettled, err)
		}
		var refused *protocol.Error
		if err := n.join("ada"); !errors.As(err, &refused) || refused.Code != protocol.CodeUnavailable {
			w.Errorf("let in: %v", err)
		}
		if err := n.Free(w.Context(), "demo", "ada", id); err != nil { // as the settlement does
			w.Fatal(err)
		}
		w.mustJoin(n, "ada")
	})
}

func TestJoinDoesNotWaitForEver(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		w.lastMatch(n, true)
		began := now()
		err := n.join("ada")
		var refused *protocol.Error
		if !errors.As(err, &refused) || refused.Code != protocol.CodeUnavailable || refused.RetryAfterMS == 0 {
			w.Errorf("%v", err)
		}
		if waited := now() - began; waited < 2000 || waited > 2100 {
			w.Errorf("refused after %d ms", waited)
		}
		ctx, cancel := context.WithTimeout(w.Context(), 500*time.Millisecond)
		defer cancel()
		if _, _, err := n.Join(ctx, Request{Game: "demo", Player: "ada"}); !errors.Is(err, context.DeadlineExceeded) {
			w.Errorf("%v", err)
		}
	})
}
