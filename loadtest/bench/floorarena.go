package bench

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"laststand/internal/protocol"
)

// floorArena is an arena of the floor. When all players have answered, it sends the next
// frames to all of them.
type floorArena struct {
	number   string
	players  int64
	answered atomic.Int64
	next     int      // index into batches; only the player who answers last changes it
	batches  [][]byte // the frames to send at the start and after each question

	mu      sync.Mutex
	sockets []net.Conn
}

// answerRecord is as long as the record of an answer of a node.
var answerRecord = strings.Repeat("r", 190)

// newFloorArena prepares all frames of the arena: the first question, then each close with
// the next question or the end. They are as long as those of a node.
func newFloorArena(number string, players, questions int) *floorArena {
	a := &floorArena{number: number, players: int64(players)}
	match := "01JD" + strings.Repeat("0", 22-len(number)) + number
	var batch []byte
	var seq int64
	addFrame := func(kind string, data any) {
		seq++
		batch = append(batch, textFrame(protocol.EncodeNumberedPush(match, kind, data).Frame(seq))...)
	}
	for q := range questions {
		addFrame(protocol.TypeQuestion, protocol.Question{
			Question: q, Of: questions, Kind: "text", Text: fmt.Sprintf("What is asked in question %d?", q), Category: "load",
			Difficulty: "easy", Lang: "en", OpensAt: time.Now().UnixMilli(), ClosesAt: time.Now().UnixMilli(), MaxPoints: 1000,
		})
		a.batches, batch = append(a.batches, batch), nil
		addFrame(protocol.TypeQuestionClosed, floorClose(q, players))
	}
	addFrame(protocol.TypeMatchOver, protocol.MatchOver{Reason: "finished", Standings: []protocol.OverStanding{}})
	a.batches = append(a.batches, batch)
	return a
}

// floorClose returns the close of a question to which every answer was wrong.
func floorClose(question, players int) protocol.QuestionClosed {
	c := protocol.QuestionClosed{Question: question, Reason: "all_answered", Answer: "right", Void: true, Answered: int64(players)}
	elapsed := int64(10)
	c.Results = slices.Repeat([]protocol.QuestionResult{{
		Player: "01JD0000000000000000000000", Nickname: "Brave Otter 1234", Given: json.RawMessage(`{"value":"wrong"}`), ElapsedMS: &elapsed,
	}}, players)
	if players > 50 { // a node lists only the first players of a large arena
		c.Results = c.Results[:10]
	}
	return c
}

func (a *floorArena) join(socket net.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sockets = append(a.sockets, socket)
}

func (a *floorArena) countAnswer() {
	if a.answered.Add(1)%a.players == 0 {
		a.broadcast()
	}
}

// broadcast sends the next frames to all players, with one write each.
func (a *floorArena) broadcast() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, socket := range a.sockets {
		_, _ = socket.Write(a.batches[a.next]) // a player that has disconnected misses it
	}
	a.next++
}

// textFrame encodes a text frame of a server (RFC 6455, 5.2) of up to 64 KiB.
func textFrame(text []byte) []byte {
	head := []byte{0x81, byte(len(text))}
	if len(text) >= 126 {
		head = []byte{0x81, 126, byte(len(text) >> 8), byte(len(text))}
	}
	return append(head, text...)
}
