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
			if r := *replies; name == "answered" && len(r) == 1 && (!r[0].IsFirst || r[0].Latency <= 0 || r[0].SentAt.After(time.Now())) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// An answering player sends an answer again after a temporary refusal. The second one may
// then be too late. If it is accepted, its latency includes the whole wait.
func TestAnsweringPlayerRetries(t *testing.T) {
	t.Parallel()
	for reply, count := range map[string]int{
		`{"re":3,"type":"answered","data":{"question":7}}`:          1,
		`{"re":3,"type":"error","data":{"code":"question_closed"}}`: 0,
	} {
		start := time.Now()
		p, replies := answering(t, `{"re":2,"type":"error","data":{"code":"unavailable","retry_after_ms":30}}`, reply)
		if err := p.Play(time.Minute); err != nil || len(*replies) != count || time.Since(start) < 30*time.Millisecond {
			t.Errorf("%s: %v; %+v", reply, err, *replies)
		}
		if r := *replies; len(r) == 1 && r[0].Latency < 30*time.Millisecond {
			t.Errorf("the latency is %v", r[0].Latency)
		}
	}
}

// After the next question was answered, an answering player does not send a refused answer
// again. It would send the answer to the wrong question.
func TestAnsweringPlayerDropsARefusedAnswerAfterTheNextQuestion(t *testing.T) {
	t.Parallel()
	p, replies := answering(t, `{"type":"question","match":"m_1","seq":2,"data":{"question":8,"of":10}}`,
		`{"re":2,"type":"error","data":{"code":"unavailable","retry_after_ms":1}}`+"\n"+`{"re":3,"type":"answered","data":{"question":8}}`)
	if err := p.Play(time.Minute); err != nil || len(*replies) != 1 {
		t.Errorf("%v; %+v", err, *replies)
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

// answering returns an answering player of matched, and its replies so far.
func answering(t *testing.T, replies ...string) (*AnsweringPlayer, *[]Reply) {
	t.Helper()
	var received []Reply
	return &AnsweringPlayer{
		Player: matched(t, replies...), AnswerJSON: `"wrong"`, MaxDelay: new(atomic.Int64),
		OnReply: func(r Reply) { received = append(received, r) },
	}, &received
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
		say(`{"type":"question","match":"m_1","seq":1,"data":{"question":7,"of":10}}`)
		question := int64(7)
		for i, reply := range replies {
			_, answer, err := conn.ReadMessage()
			if want := fmt.Sprintf(`{"id":%d,"type":"answer","data":{"match":"m_1","question":%d,"value":"wrong"}}`, 2+i, question); err != nil || strings.TrimSpace(string(answer)) != want {
				t.Errorf("it answers %s, %v", answer, err)
			}
			for frame := range strings.SplitSeq(reply, "\n") {
				say(frame)
			}
			if asked, ok := ParseNumber(TextAfter([]byte(reply), `"seq":2,"data":{"question":`)); ok {
				question = asked
			}
		}
		say(fmt.Sprintf(`{"type":"match.over","match":"m_1","seq":%d,"data":{}}`, question-5)) // 7 is asked with number 1, and 8 with 2
		if _, more, err := conn.ReadMessage(); err == nil {                                    // until the client disconnects
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
