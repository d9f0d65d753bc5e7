package lobby

import (
	"context"
	"errors"
	"laststand/internal/quiz"
	"testing"
	"time"

	"laststand/internal/protocol"
)

// errorCode is the wire code of an error: "" for nil, "failed" for an error that is
// not a refusal.
func errorCode(err error) string {
	if err == nil {
		return ""
	}
	return protocol.Outcome(err, "queued")
}

func TestJoinStoresTicketAndCountsWaiting(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		n := test.startNode()
		first, pairTicket, err := n.Join(test.Context(), Request{Game: "demo", Player: "ada", Filter: quiz.Filter{Lang: "en"}})
		if err != nil || first.Waiting != 1 || first.Ticket == "" {
			test.Fatalf("%+v, %v", first, err)
		}
		pairTicket()
		second, _, err := n.Join(test.Context(), Request{Game: "demo", Player: "bob", Filter: quiz.Filter{Lang: "zh-CN"}})
		if err != nil || second.Waiting != 2 || second.Ticket == first.Ticket {
			test.Errorf("%+v, %v", second, err)
		}
		stored := test.store.tickets[first.Ticket]
		if stored.Seat.Nickname != "ada" || stored.Filter.Lang != "en" || stored.JoinedAt != now() || stored.BotAt != now()+8000 || stored.Rating() != 1500 {
			test.Errorf("%+v", stored)
		}
	})
}

// The reply comes first. No player is attached before the returned function
// runs.
func TestJoinRepliesBeforePairing(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		n := test.startNode()
		test.mustJoin(n, "ada")
		n.addPlayer("bob")
		_, pairTicket, err := n.Join(test.Context(), Request{Game: "demo", Player: "bob"})
		test.must(err)
		test.checkWaits(n, "bob")
		pairTicket()
		test.attachedPlan(n, "bob")
	})
}

func TestJoinIsRefused(t *testing.T) {
	t.Parallel()
	for name, testCase := range map[string]struct {
		prepare func(test *cluster, n *node)
		changes []func(*Request)
		want    string
	}{
		"filter with too few questions": {nil, []func(*Request){withFilter(quiz.Filter{Category: "chess"})}, "bad_request"},
		"negative wait for a bot":       {nil, []func(*Request){botAfter(-1)}, "bad_request"},
		"wait for a bot too long":       {nil, []func(*Request){botAfter(maxBotAfterMS + 1)}, "bad_request"},
		"longest wait for a bot":        {nil, []func(*Request){botAfter(maxBotAfterMS)}, ""},
		"too many unsettled results":    {func(_ *cluster, n *node) { n.matches.isOverloaded = true }, nil, "overloaded"},
		"queued":                        {func(test *cluster, n *node) { test.mustJoin(n, "ada") }, nil, "already_queued"},
		"playing":                       {func(test *cluster, n *node) { test.mustJoin(n, "ada"); test.mustJoin(n, "bob") }, nil, "already_playing"},
		"the store is down":             {func(_ *cluster, n *node) { n.store.setFault(func(string) storeFault { return faultNotExecuted }) }, nil, "failed"},
	} {
		runNamedInCluster(t, name, func(test *cluster) {
			n := test.startNode()
			if testCase.prepare != nil {
				testCase.prepare(test, n)
			}
			err := n.joinAndPair("ada", testCase.changes...)
			if errorCode(err) != testCase.want {
				test.Fatalf("%v, want %q", err, testCase.want)
			}
			var refused *protocol.Error
			if testCase.want == "already_playing" && (!errors.As(err, &refused) || refused.Match != n.matches.attachedMatch("ada")) {
				test.Errorf("%+v", refused)
			}
			if testCase.want == "overloaded" && (!errors.As(err, &refused) || refused.RetryAfterMS == 0) {
				test.Errorf("%+v", refused)
			}
		})
	}
}

// playLastMatch gives a player a finished match.
func (c *cluster) playLastMatch(n *node, unsettled bool) string {
	c.Helper()
	c.mustJoin(n, "ada")
	c.mustJoin(n, "bob")
	id := c.attachedPlan(n, "ada").ID
	c.records.mu.Lock()
	defer c.records.mu.Unlock()
	c.records.over[id], c.records.unsettled[id] = true, unsettled
	return id
}

func TestPlayerMayJoinAfterSettledMatch(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		n := test.startNode()
		former := test.playLastMatch(n, false)
		test.mustJoin(n, "ada")
		test.mustJoin(n, "bob")
		if id := test.attachedPlan(n, "ada").ID; id == former {
			test.Error("the same match again")
		}
	})
}

// A rating is read only after the last result is committed.
func TestJoinWaitsForTheLastResult(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		n := test.startNode()
		id := test.playLastMatch(n, true)
		start := now()
		time.AfterFunc(time.Second, func() {
			test.records.mu.Lock()
			defer test.records.mu.Unlock()
			test.records.unsettled[id] = false
		})
		test.mustJoin(n, "ada")
		if waited := now() - start; waited < 1000 || waited > 1060 {
			test.Errorf("accepted after %d ms", waited)
		}
	})
}

// A player who joined and left an arena after a duel still waits for the result
// of the duel.
func TestJoinWaitsForTheLastDuel(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		n := test.startNode()
		id := test.playLastMatch(n, true)
		test.must(n.Occupy(test.Context(), "demo", "ada", "m_arena"))
		test.must(n.Free(test.Context(), "demo", "ada", "m_arena"))
		if unsettled, err := n.IsUnsettled(test.Context(), "demo", "ada"); err != nil || !unsettled {
			test.Errorf("unsettled %t, %v", unsettled, err)
		}
		var refused *protocol.Error
		if err := n.joinAndPair("ada"); !errors.As(err, &refused) || refused.Code != protocol.CodeUnavailable {
			test.Errorf("not refused: %v", err)
		}
		test.must(n.Free(test.Context(), "demo", "ada", id)) // as the settlement does
		test.mustJoin(n, "ada")
	})
}

func TestJoinStopsWaitingForTheLastResult(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		n := test.startNode()
		test.playLastMatch(n, true)
		start := now()
		err := n.joinAndPair("ada")
		var refused *protocol.Error
		if !errors.As(err, &refused) || refused.Code != protocol.CodeUnavailable || refused.RetryAfterMS == 0 {
			test.Errorf("%v", err)
		}
		if waited := now() - start; waited < 2000 || waited > 2100 {
			test.Errorf("refused after %d ms", waited)
		}
		ctx, cancel := context.WithTimeout(test.Context(), 500*time.Millisecond)
		defer cancel()
		if _, _, err := n.Join(ctx, Request{Game: "demo", Player: "ada"}); !errors.Is(err, context.DeadlineExceeded) {
			test.Errorf("%v", err)
		}
	})
}
