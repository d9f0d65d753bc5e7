package ws

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// clocked is a connection whose deadlines, which are timers of the runtime, are
// counted.
type clocked struct {
	*net.TCPConn
	deadlines atomic.Int32
}

func (w *clocked) SetDeadline(t time.Time) error { w.deadlines.Add(1); return w.TCPConn.SetDeadline(t) }
func (w *clocked) SetReadDeadline(t time.Time) error {
	w.deadlines.Add(1)
	return w.TCPConn.SetReadDeadline(t)
}
func (w *clocked) SetWriteDeadline(t time.Time) error {
	w.deadlines.Add(1)
	return w.TCPConn.SetWriteDeadline(t)
}

// linked is a session over TCP that nobody reads yet, its end, and the client's.
func linked(t *testing.T) (se *session, end *clocked, client *net.TCPConn) {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err = net.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := l.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = client.Close(), conn.Close() })
	end = &clocked{TCPConn: conn}
	s := &Server{writeWithin: time.Minute, metrics: newMetrics(prometheus.NewRegistry())}
	return newSession(s, newWire(end, time.Minute), netip.Addr{}), end, client
}

// pinged is a masked ping of the game's, as a client sends it.
var pinged = append([]byte{finalBit | 1, 0x80 | 10, 0, 0, 0, 0}, `{"type":1}`...)

// A connection at rest has no buffer, nor has it a timer of the runtime, however
// much was said before. Only amid a message it has both.
func TestRest(t *testing.T) {
	t.Parallel()
	se, end, client := linked(t)
	w := se.wire
	hear := func(sent []byte, want string) {
		t.Helper()
		if _, err := client.Write(sent); err != nil {
			t.Fatal(err)
		}
		if err := w.fill(); err != nil {
			t.Fatal(err)
		}
		if _, payload, err := w.next(); err != nil || string(payload) != want {
			t.Fatalf("%q, %v", payload, err)
		}
		if _, payload, err := w.next(); payload != nil || err != nil {
			t.Fatalf("%q besides, %v", payload, err)
		}
		w.rest()
	}
	holds := func(when string, buffer bool, deadlines int32) {
		t.Helper()
		if (w.in.buffer != nil) != buffer || end.deadlines.Load() != deadlines {
			t.Errorf("%s: a buffer %v, %d deadlines set", when, w.in.buffer != nil, end.deadlines.Load())
		}
	}
	waits := func() (none bool) {
		err := w.raw.Read(func(fd uintptr) bool { none = !w.readNow(fd); return true })
		return none && err == nil
	}
	hear(pinged, `{"type":1}`)
	if err := se.send([][]byte{[]byte(`{"type":"pong"}`), ping}); err != nil {
		t.Fatal(err)
	}
	holds("after a message and a reply", false, 0)
	if !waits() {
		t.Error("more came")
	}
	holds("while it waits", false, 0)
	hear(pinged[:9], "")
	holds("amid a message", true, 1)
	hear(pinged[9:], `{"type":1}`)
	holds("at its end", false, 2)
}

// What a client does not take at once has a deadline for as long as that takes.
func TestSlowWrite(t *testing.T) {
	t.Parallel()
	se, end, client := linked(t)
	frames, got := bytes.Repeat([]byte("x"), 16<<20), make(chan int, 1)
	go func() {
		total := 0
		for b := make([]byte, 1<<20); total < len(frames); {
			n, err := client.Read(b)
			if total += n; err != nil {
				break
			}
		}
		got <- total
	}()
	if err := se.put(frames); err != nil {
		t.Fatal(err)
	}
	if n := <-got; n != len(frames) || end.deadlines.Load() != 2 {
		t.Errorf("%d bytes came, %d deadlines", n, end.deadlines.Load())
	}
}

// A greeted session is one goroutine until it sleeps, which reads.
func TestOneGoroutineEach(t *testing.T) {
	t.Parallel()
	const sessions = 20
	pprof.SetGoroutineLabels(pprof.WithLabels(t.Context(), pprof.Labels("who", t.Name()))) // all that are started have it
	defer pprof.SetGoroutineLabels(context.Background())
	n := start(t)
	n.beds.quiet = patience // nobody sleeps meanwhile
	for i := range sessions {
		n.enter(fmt.Sprint("player", i)).alive()
	}
	n.eventually("one each", func() bool {
		var all bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
			t.Fatal(err)
		}
		count := 0
		for stack := range strings.SplitSeq(all.String(), "\n\n") {
			if strings.Contains(stack, t.Name()) && strings.Contains(stack, "ws.(*session)") {
				var n int
				_, _ = fmt.Sscan(stack, &n)
				count += n
				if !strings.Contains(stack, "(*wire).fill") {
					return false
				}
			}
		}
		return count == sessions
	})
}

// What is too large is dropped in pieces of a buffer's size also where reading
// waits for a byte, as over TLS: not byte by byte.
func TestDropsInPieces(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	frame := append([]byte{finalBit | 1, 0x80 | 127}, binary.BigEndian.AppendUint64(nil, size)...)
	reads, left := 0, bytes.NewReader(append(frame, make([]byte, 4+size)...))
	w := newWire(stream{Reader: readerFunc(func(b []byte) (int, error) { reads++; return left.Read(b) })}, time.Minute)
	for w.fill() == nil {
		if kind, _, err := w.next(); kind != 0 || err != nil && !errors.Is(err, errTooLarge) {
			t.Fatalf("kind %d, %v", kind, err)
		}
	}
	if left.Len() > 0 || reads > size/1000 {
		t.Errorf("%d reads, %d bytes left", reads, left.Len())
	}
	if w.in.buffer != nil {
		t.Error("it keeps a buffer")
	}
}

type readerFunc func(b []byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }
