package clients

import (
	"context"
	"errors"
	"testing"
	"time"

	"laststand/internal/protocol"
	player "laststand/loadtest/client"
	"laststand/loadtest/swarm/rules"
)

// A refused client waits longer after each refusal, up to eight times the wait that the
// node asks for.
func TestTurnedAwayAgain(t *testing.T) {
	t.Parallel()
	p := &participation{client: &client{ReconnectingPlayer: new(player.ReconnectingPlayer), c: &Clients{}}, entry: duel(), group: t.Context()}
	h := player.Received{Request: &player.Request{Kind: protocol.TypeDuelJoin}}
	h.Data = []byte(`{"code":"overloaded","message":"later","retry_after_ms":100000}`)
	for _, seconds := range []int{100, 200, 300, 400, 500, 600, 700, 800, 800} {
		if err := p.handleRefusal(h); err != nil || p.retry != h.Request {
			t.Fatalf("%v: %+v", err, p.retry)
		}
		want := time.Duration(seconds) * time.Second
		if wait := time.Until(p.retryAt).Round(10 * time.Second); wait != want {
			t.Errorf("it comes back after %v, not %v", wait, want)
		}
	}
}

// A client that may have a seat in an arena keeps asking, even at the end. A seat cannot be
// given back, and the match would count without its player.
func TestTurnedAwayFromAnArena(t *testing.T) {
	t.Parallel()
	over, end := context.WithCancel(t.Context())
	end()
	p := &participation{client: &client{ReconnectingPlayer: new(player.ReconnectingPlayer), c: &Clients{ctx: t.Context()}}, entry: entry{kind: protocol.TypeArenaJoin, round: new(arenaRun)}, group: over}
	h := player.Received{Request: &player.Request{Kind: protocol.TypeArenaJoin}}
	h.Data = []byte(`{"code":"unavailable","message":"later","retry_after_ms":100000}`)
	if err := p.handleRefusal(h); err != nil || p.retry != h.Request || p.isRefused || p.isDone() {
		t.Errorf("%v; again %v, gone %v", err, p.retry, p.isRefused)
	}
}

// A client that is refused while the clients are closing does not retry. But it waits for
// the match that its request may have led to. The refusal counts as a received message.
func TestTurnedAwayAtTheEnd(t *testing.T) {
	t.Parallel()
	over, end := context.WithCancel(t.Context())
	end()
	p := &participation{client: &client{ReconnectingPlayer: new(player.ReconnectingPlayer), c: &Clients{Plan: Plan{LateMatchWait: time.Hour}, ctx: t.Context()}}, entry: duel(), group: over}
	h := player.Received{Request: &player.Request{Kind: protocol.TypeDuelJoin}}
	h.Data = []byte(`{"code":"unavailable","message":"later"}`)
	if err := p.handleRefusal(h); err != nil || p.retry != nil || !p.isRefused || time.Until(p.retryAt) < time.Minute {
		t.Errorf("%v; again %v, gone %v in %v", err, p.retry, p.isRefused, time.Until(p.retryAt))
	}
	if p.readContext().Err() != nil {
		t.Error("it leaves at once")
	}
	if time.Since(p.since) > time.Minute {
		t.Errorf("nothing heard since %v", p.since)
	}
}

// An answer that the server refused for now may count. The exception is an answer that was
// sent too fast: the server has not looked at it, unless the client had sent it before.
func TestAnswerTurnedAway(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		code   protocol.Code
		sent   int
		untrue bool
	}{{protocol.CodeUnavailable, 1, false}, {protocol.CodeRateLimited, 1, true}, {protocol.CodeRateLimited, 2, false}} {
		m := rules.NewMatch("m", "ada", nil, protocol.MatchFound{Mode: "duel"})
		push := func(kind, data string) {
			if err := m.Push(kind, []byte(data), nil); err != nil {
				t.Error(err)
			}
		}
		push(protocol.TypeQuestion, `{"question":0,"of":1,"kind":"single","opens_at":1000,"closes_at":11000}`)
		var question, choice int
		a := attempt{Answer: protocol.Answer{Match: "m", Question: &question, Given: protocol.Given{Choice: &choice}}}
		m.RecordAnswer(a.Answer)
		p := &participation{client: &client{ReconnectingPlayer: new(player.ReconnectingPlayer), c: &Clients{}}, match: m}
		h := player.Received{Request: &player.Request{Kind: protocol.TypeAnswer, Data: a, Attempts: test.sent}}
		h.Data = []byte(`{"code":"` + string(test.code) + `","message":"later"}`)
		if err := p.handleRefusal(h); err != nil || p.answer == nil {
			t.Errorf("%v: it is not sent again", err)
		}
		push(protocol.TypeQuestionClosed, `{"question":0,"reason":"timeout","answer":{"choice":0},
			"results":[{"player":"ada","given":{"choice":0},"correct":true,"elapsed_ms":5000,"points":150,"score":150}]}`)
		push(protocol.TypeMatchOver, `{"reason":"finished","standings":[{"rank":1,"player":"ada","score":150,"correct":1,"answered":1,"asked":1,"time_ms":5000}]}`)
		if _, err := m.Finish(); errors.Is(err, player.ErrContract) != test.untrue || err != nil != test.untrue {
			t.Errorf("%s, sent %d times: %v", test.code, test.sent, err)
		}
	}
}

// The client sends an answer of a locked-out team again after the lockout. The answer does
// not count before that. In any other mode the refusal is a violation.
func TestAnAnswerOfALockedOutTeamIsSentAgain(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"buzzer", "duel"} {
		m := rules.NewMatch("m", "ada", nil, protocol.MatchFound{Mode: mode})
		if err := m.Push(protocol.TypeQuestion, []byte(`{"question":0,"of":1,"kind":"single","opens_at":1000,"closes_at":11000}`), nil); err != nil {
			t.Fatal(err)
		}
		var question, choice int
		a := attempt{Answer: protocol.Answer{Match: "m", Question: &question, Given: protocol.Given{Choice: &choice}}}
		m.RecordAnswer(a.Answer)
		p := &participation{client: &client{ReconnectingPlayer: new(player.ReconnectingPlayer), c: &Clients{}}, match: m}
		h := player.Received{Request: &player.Request{Kind: protocol.TypeAnswer, Data: a, Attempts: 1}}
		h.Data = []byte(`{"code":"question_not_open","message":"wait","retry_after_ms":60000}`)
		err := p.handleRefusal(h)
		if again := p.answer != nil && time.Until(p.answerAt) > 50*time.Second; again != (mode == "buzzer") || errors.Is(err, player.ErrContract) == again {
			t.Errorf("%s: sent again: %v, %v", mode, again, err)
		}
	}
}
