package player

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// A contender answers each question once, holds each reply against its own answer,
// and ends with the match; a refusal is a fault where nobody expects one.
func TestContender(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reply   string
		other   func([]byte) error
		replies int
		fails   bool
	}{
		"answered":         {`{"re":2,"type":"answered","data":{"question":7,"first":true}}`, nil, 1, false},
		"refused":          {`{"re":2,"type":"error","data":{"code":"question_closed"}}`, nil, 0, true},
		"refused in order": {`{"re":2,"type":"error","data":{"code":"question_closed"}}`, func([]byte) error { return nil }, 1, false},
		"of another":       {`{"re":1,"type":"duel.queued","data":{}}`, nil, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var replies []Reply
			c := &Contender{
				Player: matched(t, test.reply), Value: `"wrong"`, Pause: new(atomic.Int64), Other: test.other,
				Took: func(r Reply) { replies = append(replies, r) },
			}
			err := c.Play()
			if (err != nil) != test.fails || len(replies) != test.replies {
				t.Errorf("%v; %+v", err, replies)
			}
			if name == "answered" && len(replies) == 1 && (!replies[0].First || replies[0].Took <= 0 || replies[0].Asked.After(time.Now())) {
				t.Errorf("%+v", replies)
			}
		})
	}
}

// matched is a player who is asked question 7, and whose match is over after the
// reply to what has to be the answer.
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
		say(`{"type":"question","match":"m_1","seq":2,"data":{"question":7,"of":10}}`)
		_, answer, err := conn.ReadMessage()
		if want := `{"id":2,"type":"answer","data":{"match":"m_1","question":7,"value":"wrong"}}`; err != nil || strings.TrimSpace(string(answer)) != want {
			t.Errorf("it answers %s, %v", answer, err)
		}
		say(reply)
		say(`{"type":"match.over","match":"m_1","seq":3,"data":{}}`)
		_, _, _ = conn.ReadMessage() // until it has gone
	}))
	t.Cleanup(func() { <-ended; server.Close() })
	p, err := Door{Lean: true}.Connect(t.Context(), server.URL, Guest{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}
