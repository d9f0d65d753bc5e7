package players

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// An answering player answers each question once, compares each reply with its own answer,
// and ends with the match. A refusal is an error unless players race.
func TestAnsweringPlayerReportsReplies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reply   string
		races   bool
		replies int
		fails   bool
	}{
		"answered":                {`{"re":2,"type":"answered","data":{"question":7,"first":true}}`, false, 1, false},
		"refused":                 {`{"re":2,"type":"error","data":{"code":"question_closed"}}`, false, 0, true},
		"refused in a race":       {`{"re":2,"type":"error","data":{"code":"question_closed"}}`, true, 1, false},
		"reply to no answer":      {`{"re":1,"type":"duel.queued","data":{}}`, false, 0, false},
		"join refused for good":   {`{"re":1,"type":"error","data":{"code":"already_playing","retry_after_ms":1}}`, false, 0, true},
		"push without its number": {`{"type":"question.closed","match":"m_1","seq":4,"data":{}}`, false, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, replies := answering(t, test.reply)
			p.IsBuzzer = test.races
			err := p.Play(time.Minute)
			if (err != nil) != test.fails || len(*replies) != test.replies {
				t.Errorf("%v; %+v", err, *replies)
			}
			if r := *replies; name == "answered" && len(r) == 1 && (!r[0].isFirst || r[0].latency <= 0) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A player of duels joins again after a temporary refusal.
func TestAnsweringPlayerJoinsAgain(t *testing.T) {
	t.Parallel()
	requests := make(chan string, 3)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := new(websocket.Upgrader).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		for _, reply := range []string{`{"re":1,"type":"welcome","data":{}}`, `{"re":2,"type":"error","data":{"code":"overloaded","retry_after_ms":1}}`, ""} {
			_, request, _ := conn.ReadMessage()
			requests <- string(request)
			_ = conn.WriteMessage(websocket.TextMessage, []byte(reply))
		}
	}))
	t.Cleanup(server.Close)
	player, err := Connect(t.Context(), server.URL, Guest{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = player.Close() })
	p := &AnsweringPlayer{Player: player, MaxDelay: new(atomic.Int64), PlaysDuels: true}
	if err := p.Play(time.Minute); err == nil {
		t.Error("Play returned no error after the connection ended")
	}
	<-requests // hello
	for id := 2; id <= 3; id++ {
		if got, want := <-requests, fmt.Sprintf(`{"id":%d,"type":"duel.join","data":{}}`, id); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

type reply struct {
	latency time.Duration
	isFirst bool
}

// answering returns an answering player of matched, and its replies so far.
func answering(t *testing.T, text string) (*AnsweringPlayer, *[]reply) {
	t.Helper()
	var received []reply
	return &AnsweringPlayer{
		Player: matched(t, text), AnswerJSON: `"wrong"`, MaxDelay: new(atomic.Int64),
		OnReply: func(latency time.Duration, isFirst bool) { received = append(received, reply{latency, isFirst}) },
	}, &received
}

// matched is a player who is asked question 7. The server checks the answer and sends the
// reply. Then the match is over.
func matched(t *testing.T, reply string) *Player {
	t.Helper()
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		conn, err := new(websocket.Upgrader).Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _, _ = conn.ReadMessage() // hello
		say := func(frame string) { _ = conn.WriteMessage(websocket.TextMessage, []byte(frame)) }
		say(`{"re":1,"type":"welcome","data":{}}`)
		say(`{"type":"question","match":"m_1","seq":1,"data":{"question":7,"of":10}}`)
		_, answer, err := conn.ReadMessage()
		if want := `{"id":2,"type":"answer","data":{"match":"m_1","question":7,"value":"wrong"}}`; err != nil || strings.TrimSpace(string(answer)) != want {
			t.Errorf("it answers %s, %v", answer, err)
		}
		say(reply)
		say(`{"type":"match.over","match":"m_1","seq":2,"data":{}}`)
		if _, more, err := conn.ReadMessage(); err == nil { // until the client disconnects
			t.Errorf("it sends %s", more)
		}
	}))
	t.Cleanup(func() { <-ended; server.Close() })
	p, err := Connect(t.Context(), server.URL, Guest{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}
