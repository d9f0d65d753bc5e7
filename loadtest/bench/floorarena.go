package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"laststand/internal/protocol"
)

// floorArena is an arena or a duel of the floor. It sends the next frames to all players when
// all of an arena have answered, and after each answer in a duel. With the pace host, it sends the
// next frame when the host asks for it.
type floorArena struct {
	number        string
	pace          string
	match         string
	madeAt        []byte // when the questions open, until the host asks for them
	seq           int64  // of the newest frame
	answersABatch int64  // how many answers lead to the next frames
	answered      atomic.Int64
	batches       [][]byte // the frames to send at the start and then

	mu      sync.Mutex
	next    int // index into batches
	sockets []net.Conn
}

// answerRecord is as long as the record of an answer of a node.
var answerRecord = strings.Repeat("r", 190)

// add adds a frame to the last batch. It is as long as that of a node.
func (a *floorArena) add(kind string, data any) {
	a.seq++
	a.addPush(protocol.EncodeNumberedPush(a.match, kind, data).Frame(a.seq))
}

func (a *floorArena) addPush(push []byte) {
	last := &a.batches[len(a.batches)-1]
	*last = append(*last, textFrame(push)...)
}

func (a *floorArena) startBatch() { a.batches = append(a.batches, nil) }

// duelPace is the pace of a duel.
const duelPace = "duel"

// newFloorArena prepares all frames of an arena or a duel: the first question, then each close with
// the next question or the end. In a duel both players are found first, and each answer is
// announced; the second answer closes the question.
func newFloorArena(number string, players, questions int, pace string) *floorArena {
	a := &floorArena{number: number, pace: pace, match: "01JD" + strings.Repeat("0", 22-len(number)) + number, answersABatch: int64(players), batches: make([][]byte, 1)}
	rating, delta, now, isDuel := 1500, 12, time.Now().UnixMilli(), pace == duelPace
	a.madeAt = strconv.AppendInt(nil, now, 10)
	over := protocol.MatchOver{Reason: "finished", Standings: []protocol.OverStanding{}}
	if isDuel {
		a.answersABatch = 1
		seat := protocol.SeatView{ID: floorPlayerID, Nickname: floorNickname, Rating: &rating}
		a.add(protocol.TypeMatchFound, protocol.MatchFound{Mode: "duel", Questions: questions, Players: 2, Seats: []protocol.SeatView{seat, seat}, StartsAt: now})
		over.Standings = slices.Repeat([]protocol.OverStanding{{
			Rank: 1, Player: floorPlayerID, Nickname: floorNickname, Answered: questions, Asked: questions, TimeMS: 1234, Rating: &rating, RatingDelta: &delta,
		}}, 2)
	}
	for q := range questions {
		a.add(protocol.TypeQuestion, protocol.Question{
			Question: q, Of: questions, Kind: "text", Text: fmt.Sprintf("What is asked in question %d?", q), Category: "load",
			Difficulty: "easy", Lang: "en", OpensAt: now, ClosesAt: now, MaxPoints: 1000,
		})
		a.startBatch()
		if isDuel {
			a.add(protocol.TypeAnswerSeen, protocol.AnswerSeen{Question: q, Player: floorPlayerID})
			a.startBatch()
			a.add(protocol.TypeAnswerSeen, protocol.AnswerSeen{Question: q, Player: floorPlayerID})
		}
		a.add(protocol.TypeQuestionClosed, floorClose(q, players))
		if pace == "host" {
			a.startBatch()
		}
	}
	a.add(protocol.TypeMatchOver, over)
	if isDuel {
		value := protocol.SettledStanding{Rank: 1, Value: 100}
		a.addPush(protocol.EncodePush(protocol.TypeSettled, protocol.Settled{
			Match: a.match, Standings: map[string]protocol.SettledStanding{"all": value, "day": value, "7d": value, "30d": value}, Rating: &rating,
		}))
	}
	return a
}

// floorPlayerID and floorNickname are as long as those of a player.
const (
	floorPlayerID = "01JD0000000000000000000000"
	floorNickname = "Brave Otter 1234"
)

// floorClose returns the close of a question to which every answer was wrong.
func floorClose(question, players int) protocol.QuestionClosed {
	c := protocol.QuestionClosed{Question: question, Reason: "all_answered", Answer: "right", Void: true, Answered: int64(players)}
	elapsed := int64(10)
	c.Results = slices.Repeat([]protocol.QuestionResult{{
		Player: floorPlayerID, Nickname: floorNickname, Given: json.RawMessage(`{"value":"wrong"}`), ElapsedMS: &elapsed,
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
	if a.answered.Add(1)%a.answersABatch == 0 {
		a.broadcast()
	}
}

// start sends the first question, unless the host opens it.
func (a *floorArena) start() {
	if a.pace != "host" {
		a.broadcast()
	}
}

// broadcast sends the next frames to all players, with one write each.
func (a *floorArena) broadcast() {
	a.mu.Lock()
	defer a.mu.Unlock()
	batch := a.batches[a.next]
	if a.pace == "host" {
		batch = bytes.ReplaceAll(batch, a.madeAt, strconv.AppendInt(nil, time.Now().UnixMilli(), 10))
	}
	for _, socket := range a.sockets {
		_, _ = socket.Write(batch) // a player that has disconnected misses it
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
