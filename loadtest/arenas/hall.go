package main

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"laststand/internal/protocol"
)

// venueHall is an arena of the floor. When all players have answered, it sends the next
// frames to all of them.
type venueHall struct {
	name     string
	players  int64
	answered atomic.Int64
	next     int      // of asks; owned by the last player to answer
	asks     [][]byte // the websocket frames to send for each question and for the end

	mu      sync.Mutex
	sockets []net.Conn
}

// record is as long as a record of the real server.
var record = strings.Repeat("r", 190)

// newHall prepares all frames of the hall: the first question, then each close with the
// next question or the end. They are as long as those of the real server.
func newHall(name string, o options) *venueHall {
	h := &venueHall{name: name, players: int64(o.players)}
	id := "01JD" + strings.Repeat("0", 22-len(name)) + name
	frame := []byte(nil)
	say := func(kind string, data any) {
		frame = append(frame, framed(protocol.EncodeNumbered(id, kind, data).Frame(int64(len(h.asks)+1)))...)
	}
	for q := range o.questions {
		say(protocol.TypeQuestion, protocol.Question{
			Question: q, Of: o.questions, Kind: "text", Text: fmt.Sprintf("What is asked in question %d?", q), Category: "load",
			Difficulty: "easy", Lang: "en", OpensAt: time.Now().UnixMilli(), ClosesAt: time.Now().UnixMilli(), MaxPoints: 1000,
		})
		h.asks, frame = append(h.asks, frame), nil
		say(protocol.TypeQuestionClosed, closing(q, o.players))
	}
	say(protocol.TypeMatchOver, protocol.MatchOver{Reason: "finished", Standings: []protocol.OverStanding{}})
	h.asks = append(h.asks, frame)
	return h
}

// closing returns the close of a question that no player answered right.
func closing(question, players int) protocol.QuestionClosed {
	c := protocol.QuestionClosed{Question: question, Reason: "all_answered", Answer: "right", Void: true, Answered: int64(players)}
	elapsed, shown := int64(10), players
	if players > 50 {
		shown = 10
	}
	for range shown {
		c.Results = append(c.Results, protocol.QuestionResult{
			Player: "01JD0000000000000000000000", Nickname: "Brave Otter 1234", Given: json.RawMessage(`{"value":"wrong"}`), ElapsedMS: &elapsed,
		})
	}
	return c
}

func (h *venueHall) join(socket net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sockets = append(h.sockets, socket)
}

// count counts an answer with a reply.
func (h *venueHall) count() {
	if h.answered.Add(1)%h.players == 0 {
		h.broadcast()
	}
}

// broadcast sends the next frames to all players, with one write each.
func (h *venueHall) broadcast() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, socket := range h.sockets {
		_, _ = socket.Write(h.asks[h.next]) // a player that has disconnected misses it
	}
	h.next++
}

// framed encodes a text frame of a server (RFC 6455, 5.2) of up to 64 KiB.
func framed(text []byte) []byte {
	head := []byte{0x81, byte(len(text))}
	if len(text) >= 126 {
		head = []byte{0x81, 126, byte(len(text) >> 8), byte(len(text))}
	}
	return append(head, text...)
}
