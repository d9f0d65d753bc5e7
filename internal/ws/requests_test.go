package ws

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"laststand/internal/lobby"
	"laststand/internal/protocol"
)

// A fault in a well-formed frame gets an error reply, and the connection stays.
func TestInvalidRequestsGetErrors(t *testing.T) {
	n := startParallel(t)
	c := n.connectPlayer("ada")
	for _, test := range []struct {
		frame    string
		wantRe   string
		wantCode protocol.Code
	}{
		{`{"type":"ping","data":{"at":1}}`, `null`, protocol.CodeBadRequest},
		{`{"id":null,"type":"ping","data":{"at":1}}`, `null`, protocol.CodeBadRequest},
		{`{"id":-1,"type":"ping","data":{"at":1}}`, `null`, protocol.CodeBadRequest},
		{`{"id":1.5,"type":"ping","data":{"at":1}}`, `null`, protocol.CodeBadRequest},
		{`{"id":"7","type":"ping","data":{"at":1}}`, `null`, protocol.CodeBadRequest},
		{`{"id":9007199254740992,"type":"ping","data":{"at":1}}`, `null`, protocol.CodeBadRequest},
		{`{"id":0,"type":"ping","data":{"at":1},"v":1}`, `0`, protocol.CodeBadRequest},
		{`{"id":9007199254740991,"type":"ping","data":{"at":1,"x":2}}`, `9007199254740991`, protocol.CodeBadRequest},
		{`{"id":2,"type":"ping","data":{"At":1}}`, `2`, protocol.CodeBadRequest},
		{`{"id":2,"type":"ping","data":{}}`, `2`, protocol.CodeBadRequest},
		{`{"id":2,"type":"ping","data":{"at":null}}`, `2`, protocol.CodeBadRequest},
		{`{"id":2,"type":"ping","data":{"at":{}}}`, `2`, protocol.CodeBadRequest},
		{`{"id":2,"type":"ping","data":[1]}`, `2`, protocol.CodeBadRequest},
		{`{"id":3,"type":"duel.join","data":{"bot_after_ms":"soon"}}`, `3`, protocol.CodeBadRequest},
		{`{"id":3,"type":"duel.join","data":{"bot_after_ms":-1}}`, `3`, protocol.CodeBadRequest},
		{`{"id":3,"type":"duel.join","data":{"category":"none"}}`, `3`, protocol.CodeBadRequest},
		{`{"id":3,"type":"duel.join","data":{"rating":1}}`, `3`, protocol.CodeBadRequest},
		{`{"id":3,"type":"duel.leave","data":{"x":1}}`, `3`, protocol.CodeBadRequest},
		{`{"id":4,"type":"answer","data":{"match":"m_none","question":0,"choice":0}}`, `4`, protocol.CodeNotInMatch},
		{`{"id":4,"type":"answer","data":{"match":"m_none"}}`, `4`, protocol.CodeNotInMatch},
		{`{"id":4,"type":"answer","data":{"match":7}}`, `4`, protocol.CodeBadRequest},
		{`{"id":5,"type":"match.sync","data":{"match":"m_none","seq":0}}`, `5`, protocol.CodeNotInMatch},
		{`{"id":5,"type":"match.sync","data":{"match":"m_none","seq":-1}}`, `5`, protocol.CodeBadRequest},
		{`{"id":5,"type":"match.sync","data":{"match":"m_none","seq":1,"x":1}}`, `5`, protocol.CodeBadRequest},
		{`{"id":6,"type":"match.leave","data":{"match":"m_none"}}`, `6`, protocol.CodeNotInMatch},
		{`{"id":6,"type":"match.leave","data":{"match":"m_none","seq":0}}`, `6`, protocol.CodeBadRequest},
		{`{"id":7,"type":"arena.join","data":{"team":"x"}}`, `7`, protocol.CodeBadRequest},
		{`{"id":7,"type":"arena.join","data":{"code":123456}}`, `7`, protocol.CodeBadRequest},
		{`{"id":7,"type":"arena.join","data":{"code":"123456","seat":1}}`, `7`, protocol.CodeBadRequest},
		{`{"id":7,"type":"arena.leave"}`, `7`, protocol.CodeBadRequest},
		{`{"id":7,"type":"arena.start","data":{"arena_id":null}}`, `7`, protocol.CodeBadRequest},
		{`{"id":7,"type":"arena.close","data":{"Arena_id":"a_1"}}`, `7`, protocol.CodeBadRequest},
		{`{"id":7,"type":"arena.lock","data":{"arena_id":"a_1","after":0}}`, `7`, protocol.CodeBadRequest},
		{`{"id":7,"type":"arena.next","data":{"arena_id":"a_1"}}`, `7`, protocol.CodeBadRequest},
		{`{"id":7,"type":"arena.next","data":{"arena_id":"a_1","after":0.5}}`, `7`, protocol.CodeBadRequest},
		{`{"id":7,"type":"arena.kick","data":{"arena_id":"a_1"}}`, `7`, protocol.CodeBadRequest},
		{`{"id":7,"type":"arena.kick","data":{"arena_id":"a_1","player":"p","ban":"yes"}}`, `7`, protocol.CodeBadRequest},
		{`{"id":7,"type":"arena.open","data":{}}`, `7`, protocol.CodeUnknownType},
		{`{"id":7,"type":"board.show","data":{"window":"all"}}`, `7`, protocol.CodeUnknownType},
		{`{"id":7,"type":"PING","data":{"at":1}}`, `7`, protocol.CodeUnknownType},
		{`{"id":7,"type":"","data":{}}`, `7`, protocol.CodeUnknownType},
		{`{"id":8,"type":"hello","data":{"token":"x"}}`, `8`, protocol.CodeBadRequest},
	} {
		c.send(test.frame)
		f := c.nextFrame()
		var envelope struct{ Re json.RawMessage }
		if err := json.Unmarshal(f.raw, &envelope); err != nil {
			t.Fatal(err)
		}
		if string(envelope.Re) != test.wantRe {
			t.Errorf("%s: %s, want re %s", test.frame, f.raw, test.wantRe)
		}
		c.checkError(f, test.wantCode)
	}
	c.expectPong()
	if calls := n.arenas.takeCalls(); len(calls) > 0 {
		t.Errorf("forwarded: %q", calls)
	}
	types, codes := n.labelValues("messages_total"), n.labelValues("refusals_total")
	if !slices.Contains(types, "unknown") || slices.Contains(types, "PING") || slices.Contains(types, "arena.open") {
		t.Errorf("labels of messages: %v", types)
	}
	for _, code := range codes {
		if !slices.Contains([]string{"bad_request", "not_in_match", "unknown_type"}, code) {
			t.Errorf("label of a refusal: %s", code)
		}
	}
}

// Malformed frames close the connection also after the hello.
func TestMalformedFrameClosesSession(t *testing.T) {
	n := startParallel(t)
	for i, text := range []string{`{`, `7`, `null`, `{"id":1}`, "{\"id\":1,\"type\":\"\xc3\"}"} {
		c := n.connectPlayer(fmt.Sprint("eve", i))
		c.send(text)
		c.expectClose(4400)
	}
}

func TestPingGetsPong(t *testing.T) {
	n := startParallel(t)
	c := n.connectPlayer("ada")
	for _, at := range []string{`12`, `-0.5e3`, `"abc"`, `""`, `9007199254740993`} {
		before := now()
		c.sendRequest(protocol.TypePing, map[string]any{"at": json.RawMessage(at)})
		var pong protocol.Pong
		c.expectReply(protocol.TypePong).decodeInto(t, &pong)
		if string(pong.At) != at || pong.ServerAt < before || pong.ServerAt > now() {
			t.Errorf("ping at %s: pong %s, %d", at, pong.At, pong.ServerAt)
		}
	}
}

func TestTicketIsAddedAndRemoved(t *testing.T) {
	n := startParallel(t)
	c := n.connectPlayer("ada")
	c.sendRequest(protocol.TypeDuelLeave, protocol.Empty{}) // without a ticket
	c.expectReply(protocol.TypeDuelLeft)
	var queued protocol.DuelQueued
	c.request(protocol.TypeDuelJoin, protocol.Empty{}, protocol.TypeDuelQueued).decodeInto(t, &queued)
	if queued.Ticket == "" || queued.Waiting != 1 {
		t.Errorf("queued %+v", queued)
	}
	c.requestRefused(protocol.TypeDuelJoin, protocol.Empty{}, protocol.CodeAlreadyQueued)
	c.request(protocol.TypeDuelLeave, protocol.Empty{}, protocol.TypeDuelLeft)
	c.request(protocol.TypeDuelJoin, protocol.Empty{}, protocol.TypeDuelQueued)
}

// A client that disconnects loses its ticket.
func TestDisconnectRemovesTicket(t *testing.T) {
	n := startParallel(t)
	c := n.connectPlayer("ada")
	c.request(protocol.TypeDuelJoin, protocol.Empty{}, protocol.TypeDuelQueued)
	c.disconnect()
	n.eventually("the ticket is withdrawn", func() bool { return n.activity("ada") == lobby.Activity{} })
	if n.closedCount("gone") != 1 {
		t.Errorf("closed: %v", n.labelValues("closes_total"))
	}
}

// activity returns what the lobby has stored for a player.
func (n *node) activity(player string) lobby.Activity {
	n.Helper()
	activity, err := n.tickets.ReadActivity(n.Context(), "demo", player)
	if err != nil {
		n.Fatal(err)
	}
	return activity
}

// Held pushes that will be sent again are dropped.
func TestDiscardUnsentDropsHeldPushesOfMatch(t *testing.T) {
	n := startParallel(t)
	c := n.connectPlayer("ada")
	se := n.session("ada")
	se.outbox.hold()
	se.Push("m", protocol.EncodePush("old", 1))
	se.Push("n", protocol.EncodePush("other", 2))
	se.DiscardUnsent("m")
	se.Push("m", protocol.EncodePush("new", 3))
	if se.outbox.release() {
		se.writeQueued()
	}
	c.expectFrame("other")
	c.expectFrame("new")
}

// While the stores are unreachable, requests are refused and hellos get a retry time.
func TestUnreachableStoresAreReported(t *testing.T) {
	n := startParallel(t)
	c := n.connectPlayer("ada")
	if err := n.redis.Close(); err != nil {
		t.Fatal(err)
	}
	for kind, data := range map[string]any{
		protocol.TypeDuelJoin:   protocol.Empty{},
		protocol.TypeDuelLeave:  protocol.Empty{},
		protocol.TypeMatchSync:  protocol.Resume{Match: "m_1"},
		protocol.TypeMatchLeave: protocol.MatchLeave{Match: "m_1"},
		protocol.TypeAnswer:     map[string]any{"match": "m_1", "question": 0, "choice": 0},
	} {
		if e := c.requestRefused(kind, data, protocol.CodeUnavailable); e.RetryAfterMS == 0 || strings.Contains(e.Message, "redis") {
			t.Errorf("%s: %+v", kind, e)
		}
	}
	c.expectPong()
	late := n.dialAndGreet("bob", nil)
	if _, reason := late.expectClose(1013); reason != retryReason {
		t.Errorf("reason %q", reason)
	}
}
