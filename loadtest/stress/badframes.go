package stress

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"laststand/loadtest/players"
)

// malformed is a frame or a request that the server must refuse. It may always cut the connection.
type malformed struct {
	name string
	raw  []byte
	want string // the allowed refusals, separated by commas
}

// allows reports whether a refusal is allowed, or one of those that always are.
func (m malformed) allows(refusal string, always ...string) bool {
	return slices.Contains(append(always, strings.Split(m.want, ",")...), refusal)
}

// broken are frames that the contract does not allow from a player who has said hello.
// "error pong" stands for a reply that is no refusal.
var broken = []malformed{
	{"no JSON", textFrame(`hello?`), "close 4400"},
	{"a list", textFrame(`[1,2,3]`), "close 4400"},
	{"null", textFrame(`null`), "close 4400"},
	{"nothing", textFrame(``), "close 4400"},
	{"JSON twice", textFrame(`{"id":1,"type":"ping","data":{"at":1}}{}`), "close 4400"},
	{"half of it", textFrame(`{"id":1,"type":"ping","data":{"at`), "close 4400"},
	{"no type", textFrame(`{"id":1,"data":{}}`), "close 4400"},
	{"a type that is a number", textFrame(`{"id":1,"type":7}`), "close 4400"},
	{"a depth of 2,000", textFrame(`{"id":1,"type":"ping","data":{"at":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}}`), "error bad_request,close 4400"},
	{"a depth without an end", textFrame(`{"id":1,"type":"ping","data":` + strings.Repeat(`{"a":`, 800)), "close 4400"},
	{"broken UTF-8", textFrame("{\"id\":1,\"type\":\"ping\",\"data\":{\"at\":\"\xff\xfe\"}}"), "close 4400"},
	{"a lone surrogate", textFrame(`{"id":1,"type":"match.sync","data":{"match":"\ud800","seq":0}}`), "error bad_request,error not_in_match"},
	{"NUL", textFrame(`{"id":1,"type":"match.sync","data":{"match":"m_\u0000","seq":0}}`), "error bad_request,error not_in_match"},
	{"binary", encode(bitFinal|websocket.BinaryMessage, []byte(`{"id":1,"type":"ping","data":{"at":1}}`), -1), "close 4400"},
	{"5 KiB", textFrame(`{"id":1,"type":"ping","data":{"at":"` + pad(5000) + `"}}`), "close 1009"},
	{"64 KiB", textFrame(pad(65_536)), "close 1009"},
	{"a claim of 4 GiB", append(encode(bitFinal|websocket.TextMessage, nil, 1<<32), pad(5000)...), "close 1009"},
	{"a claim of 2^63", append([]byte{bitFinal | websocket.TextMessage, bitMasked | 127, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, pad(5000)...), "close 1009,close 1002,cut"},
	{"fragments beyond 4 KiB", fragments(700, 8), "close 1009"},
	{"empty fragments without an end", fragments(3000, 0), "close 1009,close 4400,none"},
	{"a compressed bit", encode(bitFinal|bitCompressed|websocket.TextMessage, []byte(`{"id":1,"type":"ping","data":{"at":1}}`), -1), "close 1002"},
	{"no mask", append([]byte{bitFinal | websocket.TextMessage, 2}, `{}`...), "close 1002"},
	{"an opcode that is nobody's", encode(bitFinal|0x3, []byte("x"), -1), "close 1002"},
	{"a continuation of nothing", encode(bitFinal|continuation, []byte("x"), -1), "close 1002"},
	{"a text within a text", append(encode(websocket.TextMessage, []byte(`{"id"`), -1), textFrame(`{}`)...), "close 1002"},
	{"a ping of 200 bytes", encode(bitFinal|websocket.PingMessage, []byte(pad(200)), -1), "close 1002"},
	{"a ping in fragments", encode(websocket.PingMessage, []byte("x"), -1), "close 1002"},
	{"a closing of one byte", encode(bitFinal|websocket.CloseMessage, []byte{3}, -1), "close 1002"},
	{"a closing with no code of its own", encode(bitFinal|websocket.CloseMessage, []byte{0, 1}, -1), "close 1002"},
	{"no id", textFrame(`{"type":"ping","data":{"at":1}}`), "error bad_request"},
	{"a huge id", textFrame(`{"id":9007199254740993,"type":"ping","data":{"at":1}}`), "error bad_request"},
	{"an id of 1e308", textFrame(`{"id":1e308,"type":"ping","data":{"at":1}}`), "error bad_request"},
	{"an id of 1,000 digits", textFrame(`{"id":1` + strings.Repeat("0", 1000) + `,"type":"ping","data":{"at":1}}`), "error bad_request"},
	{"an id below 0", textFrame(`{"id":-1,"type":"ping","data":{"at":1}}`), "error bad_request"},
	{"an id that is a text", textFrame(`{"id":"1","type":"ping","data":{"at":1}}`), "error bad_request"},
	{"a second hello", textFrame(`{"id":1,"type":"hello","data":{"token":"x"}}`), "error bad_request"},
	{"a type of nobody's", textFrame(`{"id":1,"type":"admin.ban","data":{}}`), "error unknown_type"},
	{"a type of 3,000 characters", textFrame(`{"id":1,"type":"` + pad(3000) + `","data":{}}`), "error unknown_type"},
	{"an unknown field", textFrame(`{"id":1,"type":"ping","data":{"at":1},"admin":true}`), "error bad_request"},
	{"a field of another case", textFrame(`{"id":1,"type":"ping","data":{"At":1}}`), "error bad_request"},
	{"__proto__", textFrame(`{"id":1,"type":"ping","data":{"at":1,"__proto__":{}}}`), "error bad_request"},
	{"data that is a list", textFrame(`{"id":1,"type":"ping","data":[]}`), "error bad_request"},
	{"an answer of a million", textFrame(`{"id":1,"type":"answer","data":{"match":"m_none","question":1000000,"choice":99999999}}`), "error not_in_match"},
	{"an answer beyond integers", textFrame(`{"id":1,"type":"answer","data":{"match":"m_none","question":1e99,"choice":0}}`), "error bad_request,error not_in_match"},
	{"a window of a path", textFrame(`{"id":1,"type":"board.watch","data":{"window":"../../etc"}}`), "error not_found,error bad_request"},
	{"a limit below 0", textFrame(`{"id":1,"type":"board.watch","data":{"window":"all","limit":-5}}`), "error bad_request"},
}

// fragments encodes a text as many fragments without a final one.
func fragments(n, size int) []byte {
	out := encode(websocket.TextMessage, []byte(pad(size)), -1)
	for range n - 1 {
		out = append(out, encode(continuation, []byte(pad(size)), -1)...)
	}
	return out
}

// sendMalformedFrames sends all broken frames in turn. It also sends each as the first frame
// of a connection; then the server may answer only with a close.
func sendMalformedFrames(ctx context.Context, a *attacker) {
	a.repeat(ctx, 32, 2*len(broken), func(w *worker, n int) {
		m := broken[n%len(broken)]
		if n/len(broken)%2 == 0 {
			w.breakFrame(m, w.greet(a.token("bad_frame_"+rand.Text()[:8])))
			return
		}
		m.name, m.want = m.name+", at first", "close 4400,close 1009,close 1002,close 4401,none"
		w.breakFrame(m, w.open(""))
	})
}

func (w *worker) breakFrame(m malformed, s *players.Player) {
	if s == nil {
		return
	}
	defer s.Close()
	_ = send(s.NetConn(), m.raw) // the server may close before the write ends
	timeout := callTimeout
	if strings.HasSuffix(m.want, "none") {
		timeout = time.Second
	}
	f, err := s.Read(timeout)
	how := describe(f, err)
	w.noteFrame(f, err)
	w.violationIf(w.ctx.Err() == nil && !m.allows(how, "cut", "close 1013", "close 4429"), "the frame %q was met with %q, and %s was due", m.name, how, m.want)
}
