package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/redis/go-redis/v9"

	"laststand/internal/protocol"
	"laststand/loadtest/player"
)

// floor is a server without a game. It sends the frames of a real server to the same
// clients. A minimal script accepts each answer. So it costs only what sockets and Redis
// cost.
type floor struct {
	scripts  redis.Scripter
	halls    []*venueHall
	upgrader websocket.Upgrader
}

var accept = redis.NewScript(`
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
redis.call('HSET', KEYS[2], ARGV[3], ARGV[4])
return redis.call('INCR', KEYS[3])`)

// serveFloor serves halls on loopback until the process is killed.
func serveFloor(o options) error {
	client := redis.NewClient(&redis.Options{Addr: o.redis})
	scripts, err := client.AutoPipeline()
	if err != nil {
		return err
	}
	f := &floor{scripts: scripts, upgrader: websocket.Upgrader{
		Subprotocols: []string{protocol.Subprotocol}, ReadBufferSize: 1024, WriteBufferSize: 1024, WriteBufferPool: new(sync.Pool),
	}}
	for i := range o.arenas {
		f.halls = append(f.halls, newHall(strconv.Itoa(i), o))
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", l.Addr())
	return (&http.Server{ReadHeaderTimeout: time.Minute, Handler: f}).Serve(l)
}

// hall returns the hall with a name.
func (f *floor) hall(name string) *venueHall {
	nth, _ := strconv.Atoi(name) // the name is a number
	return f.halls[nth]
}

// ServeHTTP implements http.Handler.
func (f *floor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if conn, err := f.upgrader.Upgrade(w, r, nil); err == nil {
		go f.serve(conn) // until its client disconnects
	}
}

func (f *floor) serve(conn *websocket.Conn) {
	defer conn.Close()
	g := &guest{floor: f, socket: conn.NetConn(), name: conn.RemoteAddr().String()}
	for {
		_, frame, err := conn.ReadMessage()
		if err == nil {
			err = g.take(frame)
		}
		if err != nil {
			return
		}
	}
}

// guest is a connected client of the floor.
type guest struct {
	floor  *floor
	socket net.Conn
	name   string
	in     *venueHall
}

// take handles a frame. Only answers come while the program measures.
func (g *guest) take(frame []byte) error {
	if id, ok := player.Number(player.Behind(frame, `{"id":`)); ok && bytes.HasPrefix(player.Behind(frame, `,`), []byte(`"type":"answer"`)) {
		question, _ := player.Number(player.Behind(frame, `"question":`))
		return g.answer(id, question)
	}
	var r struct {
		ID   int64
		Type string
		Data struct {
			Code    string
			ArenaID string `json:"arena_id"`
		}
	}
	if err := json.Unmarshal(frame, &r); err != nil {
		return err
	}
	kind, data := protocol.TypeArenaOK, any(protocol.Empty{})
	switch r.Type {
	case protocol.TypeHello:
		kind, data = protocol.TypeWelcome, protocol.Welcome{}
	case protocol.TypeArenaJoin:
		g.in = g.floor.hall(r.Data.Code)
		g.in.join(g.socket)
	case protocol.TypeArenaStart:
		g.floor.hall(r.Data.ArenaID).broadcast()
	}
	_, err := g.socket.Write(framed(protocol.EncodeReply(&r.ID, kind, data)))
	return err
}

// answer runs the script that accepts an answer, and replies. The last answer starts the
// next question.
func (g *guest) answer(id, question int64) error {
	lock := fmt.Sprintf("{%s}:lock:%d:%s", g.in.name, question, g.name)
	answers, counter := "{"+g.in.name+"}:answers", "{"+g.in.name+"}:answered"
	field := strconv.FormatInt(question, 10) + "|" + g.name
	err := accept.Run(context.Background(), g.floor.scripts, []string{lock, answers, counter}, id, 3_600_000, field, record).Err()
	if err != nil {
		return err
	}
	at := time.Now().UnixMilli()
	reply := fmt.Appendf(nil, `{"re":%d,"type":"answered","data":{"question":%d,"at":%d,"elapsed_ms":%d}}`, id, question, at, 10)
	if _, err := g.socket.Write(framed(reply)); err != nil {
		return err
	}
	g.in.count()
	return nil
}
