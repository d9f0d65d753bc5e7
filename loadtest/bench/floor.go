package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"github.com/redis/go-redis/v9"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

// FloorProcess is the name of the subprocess that Floor runs.
const FloorProcess = "bench-floor"

// Floor is a server without a game, in a subprocess: the floor of Answers, Duels and Broadcast, and
// the peer of Connections. It sends the frames of a node to the same clients, and accepts each answer
// by a minimal script. It uses as little memory as the library permits. So it costs only what sockets
// and Redis cost.
type Floor struct {
	Players   int    `default:"100" help:"Players of each arena."`
	Questions int    `default:"10" help:"Questions of each duel."`
	Redis     string `placeholder:"URL" help:"URL of a Redis, for answers."`

	scripts  redis.Scripter
	upgrader websocket.Upgrader

	mu      sync.Mutex
	arenas  []*floorArena
	waiting *floorPlayer // waits for an opponent; nil: nobody does
	duels   int          // so far
}

// Run runs the program. It fails by testenv.Must.
func (f *Floor) Run(ctx context.Context) {
	f.upgrader = websocket.Upgrader{Subprotocols: []string{protocol.Subprotocol}, ReadBufferSize: 1024, WriteBufferSize: 1024, WriteBufferPool: new(sync.Pool)}
	if f.Redis != "" {
		f.scripts = testenv.Must(redis.NewClient(testenv.Must(redis.ParseURL(f.Redis))).AutoPipeline())
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/ws", f.serveSocket)
	mux.HandleFunc("POST /v1/games/demo/arenas", f.serveNewArena)
	testenv.MustDo(testenv.ServeFloor(ctx, mux))
}

// serveNewArena makes an arena. Its number is its id and its code.
func (f *Floor) serveNewArena(w http.ResponseWriter, r *http.Request) {
	var a protocol.NewArena
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	number := strconv.Itoa(len(f.arenas))
	f.arenas = append(f.arenas, newFloorArena(number, f.Players, a.Questions.Count, a.Pace))
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(protocol.ArenaMade{ArenaID: number, Code: number})
}

func (f *Floor) arena(number string) *floorArena {
	i, _ := strconv.Atoi(number) // ids and codes are numbers
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.arenas[i]
}

// joinDuel pairs a player with the one who waits, if there is one.
func (f *Floor) joinDuel(p *floorPlayer) {
	f.mu.Lock()
	opponent := f.waiting
	if f.waiting = p; opponent == nil {
		f.mu.Unlock()
		return
	}
	f.waiting = nil
	f.duels++
	duel := newFloorArena(strconv.Itoa(f.duels), 2, f.Questions, duelPace)
	f.mu.Unlock()
	for _, player := range []*floorPlayer{opponent, p} {
		player.arena.Store(duel)
		duel.join(player.conn.NetConn())
	}
	duel.broadcast()
}

func (f *Floor) serveSocket(w http.ResponseWriter, r *http.Request) {
	conn, err := f.upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	go f.serve(conn) // until its client disconnects; the handler returns, so that its memory is freed
}

func (f *Floor) serve(conn *websocket.Conn) {
	defer conn.Close()
	p := &floorPlayer{floor: f, conn: conn}
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

type floorPlayer struct {
	floor *Floor
	conn  *websocket.Conn
	arena atomic.Pointer[floorArena] // or the duel that it plays; nil: it has not joined
}

// handle handles a frame. During the measurement of answers only answers come.
func (p *floorPlayer) handle(frame []byte) error {
	if id, ok := players.ParseNumber(players.TextAfter(frame, `{"id":`)); ok && bytes.HasPrefix(players.TextAfter(frame, `,`), []byte(`"type":"answer"`)) {
		question, _ := players.ParseNumber(players.TextAfter(frame, `"question":`))
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
	case request.Type == protocol.TypeArenaJoin && request.Data.As != "host":
		p.arena.Store(p.floor.arena(request.Data.Code))
		p.arena.Load().join(p.conn.NetConn())
	case request.Type == protocol.TypeDuelJoin:
		kind, data = protocol.TypeDuelQueued, protocol.DuelQueued{Ticket: floorPlayerID}
		if err := p.write(protocol.EncodeReply(&request.ID, kind, data)); err != nil {
			return err
		}
		p.floor.joinDuel(p)
		return nil
	case request.Type == protocol.TypeArenaStart:
		defer p.floor.arena(request.Data.ArenaID).start()
	case request.Type == protocol.TypeArenaNext:
		defer p.floor.arena(request.Data.ArenaID).broadcast()
	}
	return p.write(protocol.EncodeReply(&request.ID, kind, data))
}

func (p *floorPlayer) write(text []byte) error {
	_, err := p.conn.NetConn().Write(textFrame(text))
	return err
}

var acceptAnswer = redis.NewScript(`
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
redis.call('HSET', KEYS[2], ARGV[3], ARGV[4])
return redis.call('INCR', KEYS[3])`)

// handleAnswer accepts an answer by the script, and replies. The last answer opens the next
// question.
func (p *floorPlayer) handleAnswer(id, question int64) error {
	arena := p.arena.Load()
	slot, name := "{"+arena.number+"}", p.conn.RemoteAddr().String()
	keys := []string{fmt.Sprintf("%s:lock:%d:%s", slot, question, name), slot + ":answers", slot + ":answered"}
	field := strconv.FormatInt(question, 10) + "|" + name
	if err := acceptAnswer.Run(context.Background(), p.floor.scripts, keys, id, 3_600_000, field, answerRecord).Err(); err != nil {
		return err
	}
	if err := p.write(fmt.Appendf(nil, `{"re":%d,"type":"answered","data":{"question":%d,"at":%d,"elapsed_ms":%d}}`, id, question, time.Now().UnixMilli(), 10)); err != nil {
		return err
	}
	arena.countAnswer()
	return nil
}
