package client

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

// An answering player answers each question once, compares each reply with its own answer, and
// ends with the match. A refusal is an error unless the test expects one.
func TestAnsweringPlayer(t *testing.T) {
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
			c := &AnsweringPlayer{
				Player: matched(t, test.reply), AnswerJSON: `"wrong"`, MaxDelay: new(atomic.Int64), OnOtherFrame: test.other,
				OnReply: func(r Reply) { replies = append(replies, r) },
			}
			err := c.Play()
			if (err != nil) != test.fails || len(replies) != test.replies {
				t.Errorf("%v; %+v", err, replies)
			}
			if name == "answered" && len(replies) == 1 && (!replies[0].IsFirst || replies[0].Latency <= 0 || replies[0].SentAt.After(time.Now())) {
				t.Errorf("%+v", replies)
			}
		})
	}
}

// An answering player sends an answer again after a temporary refusal. The second one may then
// be too late. If it is accepted, its latency includes the whole wait.
func TestAnsweringPlayerIsPatient(t *testing.T) {
	t.Parallel()
	for reply, replies := range map[string]int{
		`{"re":3,"type":"answered","data":{"question":7}}`:          1,
		`{"re":3,"type":"error","data":{"code":"question_closed"}}`: 0,
	} {
		var took []Reply
		began := time.Now()
		c := &AnsweringPlayer{
			Player:     matched(t, `{"re":2,"type":"error","data":{"code":"unavailable","retry_after_ms":30}}`, reply),
			AnswerJSON: `"wrong"`, MaxDelay: new(atomic.Int64), OnReply: func(r Reply) { took = append(took, r) },
		}
		if err := c.Play(); err != nil || len(took) != replies || time.Since(began) < 30*time.Millisecond {
			t.Errorf("%s: %v; %+v", reply, err, took)
		}
		if len(took) == 1 && took[0].Latency < 30*time.Millisecond {
			t.Errorf("it took %v", took[0].Latency)
		}
	}
}

// After the next question was answered, an answering player does not send a refused answer
// again. It would send the answer to the wrong question.
func TestAnsweringPlayerHasGoneOn(t *testing.T) {
	t.Parallel()
	var took []Reply
	c := &AnsweringPlayer{
		Player: matched(t, `{"type":"question","match":"m_1","seq":3,"data":{"question":8,"of":10}}`,
			`{"re":2,"type":"error","data":{"code":"unavailable","retry_after_ms":1}}`+"\n"+`{"re":3,"type":"answered","data":{"question":8}}`),
		AnswerJSON: `"wrong"`, MaxDelay: new(atomic.Int64), OnReply: func(r Reply) { took = append(took, r) },
	}
	if err := c.Play(); err != nil || len(took) != 1 {
		t.Errorf("%v; %+v", err, took)
	}
}

// An answering player joins again after a temporary refusal; any other refusal is an error.
func TestJoining(t *testing.T) {
	t.Parallel()
	for frame, want := range map[string]struct{ joins, fails bool }{
		`{"re":1,"type":"duel.queued","data":{}}`:                                      {false, false},
		`{"re":1,"type":"error","data":{"code":"unavailable","retry_after_ms":1}}`:     {true, false},
		`{"re":1,"type":"error","data":{"code":"overloaded","retry_after_ms":1}}`:      {true, false},
		`{"re":1,"type":"error","data":{"code":"already_playing","retry_after_ms":1}}`: {false, true},
	} {
		joins := false
		err := RetryJoin([]byte(frame), func() error { joins = true; return nil })
		if joins != want.joins || (err != nil) != want.fails {
			t.Errorf("%s: joins %v, %v", frame, joins, err)
		}
	}
}

// matched is a player who is asked question 7, or the question in a reply. The server
// checks each answer and sends the next reply. After the last reply the match is over. A
// reply may be several frames, one a line.
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
			if asked, ok := ParseNumber(TextAfter([]byte(reply), `"seq":3,"data":{"question":`)); ok {
				question = asked
			}
		}
		say(`{"type":"match.over","match":"m_1","seq":3,"data":{}}`)
		if _, more, err := conn.ReadMessage(); err == nil { // until the client disconnects
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
