package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/redis/go-redis/v9"

	"laststand/internal/protocol"
	"laststand/loadtest/client"
)

// AnswersFloorProcess is the name of the subprocess that AnswersFloor runs.
const AnswersFloorProcess = "bench-answers-floor"

// answersFloor is a server without a game. It sends the frames of a node to the same
// clients, and accepts each answer by a minimal script. So it costs only what sockets and
// Redis cost.
type answersFloor struct {
	scripts  redis.Scripter
	upgrader websocket.Upgrader
	players  int // of each arena

	mu     sync.Mutex
	arenas []*floorArena
}

// AnswersFloor serves the floor of Answers in a subprocess.
func AnswersFloor(flags *flag.FlagSet) func(context.Context) error {
	players := flags.Int("players", 100, "players of each arena")
	address := flags.String("redis", "", "`address` of a Redis")
	return func(context.Context) error {
		scripts, err := redis.NewClient(&redis.Options{Addr: *address}).AutoPipeline()
		if err != nil {
			return err
		}
		f := &answersFloor{scripts: scripts, upgrader: leanUpgrader(), players: *players}
		mux := http.NewServeMux()
		mux.HandleFunc("/v1/ws", f.serveSocket)
		mux.HandleFunc("POST /v1/games/demo/arenas", f.serveNewArena)
		return serveFloor(mux)
	}
}

// serveNewArena makes an arena. Its number is its id and its code.
func (f *answersFloor) serveNewArena(w http.ResponseWriter, r *http.Request) {
	var a protocol.NewArena
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	number := strconv.Itoa(len(f.arenas))
	f.arenas = append(f.arenas, newFloorArena(number, f.players, a.Questions.Count))
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(protocol.ArenaMade{ArenaID: number, Code: number})
}

func (f *answersFloor) arena(number string) *floorArena {
	i, _ := strconv.Atoi(number) // ids and codes are numbers
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.arenas[i]
}

func (f *answersFloor) serveSocket(w http.ResponseWriter, r *http.Request) {
	if conn, err := f.upgrader.Upgrade(w, r, nil); err == nil {
		go f.serve(conn) // until its client disconnects
	}
}

func (f *answersFloor) serve(conn *websocket.Conn) {
	defer conn.Close()
	p := &floorPlayer{floor: f, socket: conn.NetConn(), name: conn.RemoteAddr().String()}
	for {
		_, frame, err := conn.ReadMessage()
		if err == nil {
			err = p.handle(frame)
		}
		if err != nil {
			return
		}
	}
}

// floorPlayer is a connected client of the floor.
type floorPlayer struct {
	floor  *answersFloor
	socket net.Conn
	name   string
	arena  *floorArena // nil: it has not joined
}

// handle handles a frame. During the measurement only answers come.
func (p *floorPlayer) handle(frame []byte) error {
	if id, ok := client.ParseNumber(client.TextAfter(frame, `{"id":`)); ok && bytes.HasPrefix(client.TextAfter(frame, `,`), []byte(`"type":"answer"`)) {
		question, _ := client.ParseNumber(client.TextAfter(frame, `"question":`))
		return p.handleAnswer(id, question)
	}
	var request struct {
		ID   int64
		Type string
		Data struct {
			Code    string
			As      string
			ArenaID string `json:"arena_id"`
		}
	}
	if err := json.Unmarshal(frame, &request); err != nil {
		return err
	}
	kind, data := protocol.TypeArenaOK, any(protocol.Empty{})
	switch {
	case request.Type == protocol.TypeHello:
		kind, data = protocol.TypeWelcome, protocol.Welcome{}
	case request.Type == protocol.TypeArenaJoin && request.Data.As == "":
		p.arena = p.floor.arena(request.Data.Code)
		p.arena.join(p.socket)
	case request.Type == protocol.TypeArenaStart:
		defer p.floor.arena(request.Data.ArenaID).broadcast()
	}
	_, err := p.socket.Write(textFrame(protocol.EncodeReply(&request.ID, kind, data)))
	return err
}

var acceptAnswer = redis.NewScript(`
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
redis.call('HSET', KEYS[2], ARGV[3], ARGV[4])
return redis.call('INCR', KEYS[3])`)

// handleAnswer accepts an answer by the script, and replies. The last answer opens the next
// question.
func (p *floorPlayer) handleAnswer(id, question int64) error {
	slot := "{" + p.arena.number + "}"
	keys := []string{fmt.Sprintf("%s:lock:%d:%s", slot, question, p.name), slot + ":answers", slot + ":answered"}
	field := strconv.FormatInt(question, 10) + "|" + p.name
	if err := acceptAnswer.Run(context.Background(), p.floor.scripts, keys, id, 3_600_000, field, answerRecord).Err(); err != nil {
		return err
	}
	reply := fmt.Appendf(nil, `{"re":%d,"type":"answered","data":{"question":%d,"at":%d,"elapsed_ms":%d}}`, id, question, time.Now().UnixMilli(), 10)
	if _, err := p.socket.Write(textFrame(reply)); err != nil {
		return err
	}
	p.arena.countAnswer()
	return nil
}
