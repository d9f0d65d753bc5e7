package player

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

// An answer that is refused for a while is sent again; that it comes too late then is
// in order, and one that is taken was waited for all the while.
func TestContenderIsPatient(t *testing.T) {
	t.Parallel()
	for reply, replies := range map[string]int{
		`{"re":3,"type":"answered","data":{"question":7}}`:          1,
		`{"re":3,"type":"error","data":{"code":"question_closed"}}`: 0,
	} {
		var took []Reply
		began := time.Now()
		c := &Contender{
			Player: matched(t, `{"re":2,"type":"error","data":{"code":"unavailable","retry_after_ms":30}}`, reply),
			Value:  `"wrong"`, Pause: new(atomic.Int64), Took: func(r Reply) { took = append(took, r) },
		}
		if err := c.Play(); err != nil || len(took) != replies || time.Since(began) < 30*time.Millisecond {
			t.Errorf("%s: %v; %+v", reply, err, took)
		}
		if len(took) == 1 && took[0].Took < 30*time.Millisecond {
			t.Errorf("it took %v", took[0].Took)
		}
	}
}

// One that is refused after the next question was answered is not sent again: what is
// sent would be the answer to that.
func TestContenderHasGoneOn(t *testing.T) {
	t.Parallel()
	var took []Reply
	c := &Contender{
		Player: matched(t, `{"type":"question","match":"m_1","seq":3,"data":{"question":8,"of":10}}`,
			`{"re":2,"type":"error","data":{"code":"unavailable","retry_after_ms":1}}`+"\n"+`{"re":3,"type":"answered","data":{"question":8}}`),
		Value: `"wrong"`, Pause: new(atomic.Int64), Took: func(r Reply) { took = append(took, r) },
	}
	if err := c.Play(); err != nil || len(took) != 1 {
		t.Errorf("%v; %+v", err, took)
	}
}

// Who may not join for now does so later; any other refusal is a fault.
func TestJoining(t *testing.T) {
	t.Parallel()
	for frame, want := range map[string]struct{ joins, fails bool }{
		`{"re":1,"type":"duel.queued","data":{}}`:                                      {false, false},
		`{"re":1,"type":"error","data":{"code":"unavailable","retry_after_ms":1}}`:     {true, false},
		`{"re":1,"type":"error","data":{"code":"overloaded","retry_after_ms":1}}`:      {true, false},
		`{"re":1,"type":"error","data":{"code":"already_playing","retry_after_ms":1}}`: {false, true},
	} {
		joins := false
		err := Joining([]byte(frame), func() error { joins = true; return nil })
		if joins != want.joins || (err != nil) != want.fails {
			t.Errorf("%s: joins %v, %v", frame, joins, err)
		}
	}
}

// matched is a player who is asked question 7, or the one that a reply asks, and whose
// match is over after the replies to what has to be the answer, each time. A reply may be
// several frames, in lines.
func matched(t *testing.T, replies ...string) *Player {
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
		question := int64(7)
		for i, reply := range replies {
			_, answer, err := conn.ReadMessage()
			if want := fmt.Sprintf(`{"id":%d,"type":"answer","data":{"match":"m_1","question":%d,"value":"wrong"}}`, 2+i, question); err != nil || strings.TrimSpace(string(answer)) != want {
				t.Errorf("it answers %s, %v", answer, err)
			}
			for frame := range strings.SplitSeq(reply, "\n") {
				say(frame)
			}
			if asked, ok := Number(Behind([]byte(reply), `"seq":3,"data":{"question":`)); ok {
				question = asked
			}
		}
		say(`{"type":"match.over","match":"m_1","seq":3,"data":{}}`)
		if _, more, err := conn.ReadMessage(); err == nil { // until it has gone
			t.Errorf("it sends %s", more)
		}
	}))
	t.Cleanup(func() { <-ended; server.Close() })
	p, err := Dialer{Lean: true}.Connect(t.Context(), server.URL, Guest{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}
